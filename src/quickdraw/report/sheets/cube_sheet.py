"""A contact sheet of one split's cubes: sampled frames of its episodes in both views, with what was measured."""

from __future__ import annotations

from collections.abc import Iterator

import cv2
import numpy as np
import numpy.typing as npt

from quickdraw.core.cubes import CUBE, MEASURES, TYPICAL_AREA_PX, VIEWS
from quickdraw.core.hues import COLOURS, REFERENCE_PX
from quickdraw.formats.lerobot.reader import SplitReader

Rgb = npt.NDArray[np.uint8]

COLUMNS = 6
ENLARGED = 2
LABEL_PX = 22
MARK_RGB = {"red": (255, 120, 120), "green": (120, 255, 120), "blue": (130, 190, 255), "purple": (240, 150, 255)}


def cube_sheet(split: SplitReader, cameras: tuple[str, ...], episodes: int = 4) -> Rgb:
    """`(H, W, 3)` uint8 RGB: a row of frames per view of each of the first `episodes` episodes, evenly spread in time.

    A cross marks the centre of a cube that is seen, in a circle of its measured area; a hollow square one that is held
    where it was last seen. `cameras` are those of the views, in order. Raises Refused where the split has no cubes.
    """
    rows = [
        _strip(split, episode, view, camera)
        for episode in range(min(episodes, len(split.episodes)))
        for view, camera in zip(VIEWS, cameras, strict=True)
    ]
    return np.concatenate(rows)


def _strip(split: SplitReader, episode: int, view: str, camera: str) -> Rgb:
    """One row of the sheet, under its label."""
    length = int(split.episodes[episode]["length"])
    measured = split.array(CUBE.name, episode).reshape(length, len(COLOURS), len(VIEWS), len(MEASURES))
    chosen = np.linspace(0, length - 1, COLUMNS).round().astype(int).tolist()
    frames = dict(_frames(split, episode, camera, set(chosen)))
    tiles = [_marked(frames[row], measured[row, :, VIEWS.index(view)]) for row in chosen]
    strip = np.concatenate(tiles, axis=1)
    label = np.zeros((LABEL_PX, strip.shape[1], 3), np.uint8)
    text = f"{split.root.name}, episode {episode}, {view} ({camera}), rows {', '.join(map(str, chosen))}"
    cv2.putText(label, text, (4, LABEL_PX - 7), cv2.FONT_HERSHEY_SIMPLEX, 0.45, (230, 230, 230), 1, cv2.LINE_AA)
    return np.concatenate([label, strip])


def _frames(split: SplitReader, episode: int, camera: str, rows: set[int]) -> Iterator[tuple[int, Rgb]]:
    for row, rgb in enumerate(split.pictures(episode, camera)):
        if row in rows:
            yield row, rgb.copy()


def _marked(rgb: Rgb, measured: npt.NDArray[np.float32]) -> Rgb:
    """A frame, enlarged, with `(4, 4)` measures of the four colours drawn on it."""
    height, width = rgb.shape[0] * ENLARGED, rgb.shape[1] * ENLARGED
    picture = cv2.resize(rgb, (width, height), interpolation=cv2.INTER_CUBIC)
    typical_px = TYPICAL_AREA_PX * rgb.shape[0] * rgb.shape[1] / REFERENCE_PX
    for colour, (x, y, size, visible) in zip(COLOURS, measured.tolist(), strict=True):
        at, mark = (round(x * width), round(y * height)), MARK_RGB[colour]
        if visible > 0:
            radius = round(ENLARGED * size * float(np.sqrt(typical_px / np.pi)))
            cv2.circle(picture, at, radius, mark, 1, cv2.LINE_AA)
            cv2.drawMarker(picture, at, (0, 0, 0), cv2.MARKER_CROSS, 11, 3)
            cv2.drawMarker(picture, at, mark, cv2.MARKER_CROSS, 9, 1)
        elif x > 0 or y > 0:
            cv2.drawMarker(picture, at, mark, cv2.MARKER_SQUARE, 9, 1)
    return np.asarray(picture, np.uint8)
