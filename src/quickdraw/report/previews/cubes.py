"""Marks of cubes on a preview's pictures: a ring with a dot where one is seen, a hollow square where one is held."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np

from quickdraw.core.cubes import CUBE, MEASURES, TYPICAL_AREA_PX, VIEWS
from quickdraw.core.episode import Float32
from quickdraw.core.hues import COLOURS, REFERENCE_PX
from quickdraw.formats.lerobot.reader import SplitReader
from quickdraw.report.drawing import Colour, Rgb
from quickdraw.report.previews.canvas import FAINT, INK, write
from quickdraw.report.sheets.cube_sheet import MARK_RGB
from quickdraw.report.vectors import width_of

BLACK: Final[Colour] = (0, 0, 0)
DOT_PX, SQUARE_PX = 3, 6
# Centres are drawn to a sixteenth of a pixel, so that marks do not tremble.
BITS: Final = 4


@dataclass(frozen=True, slots=True)
class Cubes:
    """What was measured of cubes in one episode: camera -> `(T, 4, 4)` float32, by colour and measure."""

    by_camera: Mapping[str, Float32]

    @property
    def palette(self) -> tuple[str, ...]:
        """The colours that are anywhere in the episode."""
        there = [any(bool(measured[:, i].any()) for measured in self.by_camera.values()) for i in range(len(COLOURS))]
        return tuple(colour for colour, is_there in zip(COLOURS, there, strict=True) if is_there)

    def states(self, camera: str, row: int) -> list[tuple[str, float, float, float, bool]]:
        """Colour, centre x / W and y / H, size, and whether it is seen, of each cube that is seen or held."""
        measured = zip(COLOURS, self.by_camera[camera][row].tolist(), strict=True)
        return [(colour, x, y, size, seen > 0) for colour, (x, y, size, seen) in measured if seen > 0 or x > 0 or y > 0]


def has_cubes(split: SplitReader) -> bool:
    """Whether a split has cubes as we measure them, and not somebody's own feature of that name."""
    return width_of(split, CUBE.name) == CUBE.width and split.dimensions(CUBE.name) == CUBE.names


def cubes_of(split: SplitReader, episode: int, cameras: Mapping[str, str]) -> Cubes | None:
    """The cubes of an episode; `cameras` are those of `VIEWS`. None where the split has no cubes, or no such camera."""
    if not has_cubes(split):
        return None
    measured = split.array(CUBE.name, episode).reshape(-1, len(COLOURS), len(VIEWS), len(MEASURES))
    shown = {cameras[view]: measured[:, :, i] for i, view in enumerate(VIEWS) if cameras.get(view) in split.cameras}
    return Cubes(shown) if shown else None


def draw_cubes(picture: Rgb, cubes: Cubes, camera: str, row: int) -> None:
    """Mark the cubes of one row on a camera's picture, of whatever size it is shown in."""
    height, width = picture.shape[:2]
    typical_px = TYPICAL_AREA_PX * height * width / REFERENCE_PX
    for colour, x, y, size, seen in cubes.states(camera, row):
        at = (x * width, y * height)
        if seen:
            _ring(picture, at, size * float(np.sqrt(typical_px / np.pi)), MARK_RGB[colour])
        else:
            _square(picture, at, MARK_RGB[colour])


def draw_legend(strip: Rgb, x: int, cubes: Cubes) -> None:
    """What the marks mean, and which colours there are."""
    write(strip, "cubes", (x, 24), colour=FAINT)
    _ring(strip, (x + 12, 48), 9, INK)
    write(strip, "seen, ring of its area", (x + 30, 53), size=0.45)
    _square(strip, (x + 12, 76), INK)
    write(strip, "held where last seen", (x + 30, 81), size=0.45)
    for number, colour in enumerate(cubes.palette):
        at = x + number % 2 * 92, 106 + number // 2 * 24
        cv2.circle(strip, (at[0] + 12, at[1] - 5), 6, MARK_RGB[colour], -1, cv2.LINE_AA)
        write(strip, colour, (at[0] + 30, at[1]), size=0.45)


def _ring(picture: Rgb, at: tuple[float, float], radius: float, colour: Colour) -> None:
    centre = (round(at[0] * (1 << BITS)), round(at[1] * (1 << BITS)))
    for line, thickness in ((BLACK, 4), (colour, 2)):
        cv2.circle(picture, centre, round(max(radius, DOT_PX + 3) * (1 << BITS)), line, thickness, cv2.LINE_AA, BITS)
    cv2.circle(picture, centre, (DOT_PX + 1) << BITS, BLACK, -1, cv2.LINE_AA, BITS)
    cv2.circle(picture, centre, DOT_PX << BITS, colour, -1, cv2.LINE_AA, BITS)


def _square(picture: Rgb, at: tuple[float, float], colour: Colour) -> None:
    x, y = round(at[0]), round(at[1])
    corners = (x - SQUARE_PX, y - SQUARE_PX), (x + SQUARE_PX, y + SQUARE_PX)
    for line, thickness in ((BLACK, 4), (colour, 2)):
        cv2.rectangle(picture, *corners, line, thickness, cv2.LINE_AA)
