"""What a preview is drawn with: colours, text and where the pictures lie; all on `(H, W, 3)` uint8 RGB arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np

from quickdraw.report.drawing import Colour, Rgb, readable

PAPER: Final[Colour] = (18, 18, 20)
FIELD: Final[Colour] = (44, 44, 48)
FAINT: Final[Colour] = (120, 120, 126)
INK: Final[Colour] = (232, 232, 232)
ASKED: Final[Colour] = (255, 176, 64)
MEASURED: Final[Colour] = (110, 190, 255)

MOST_CAMERAS: Final = 9
HEAD_PX, GAP_PX = 24, 4
# What a picture is fitted into, by how many stand beside one another: width, height.
BOXES: Final = {1: (960, 720), 2: (640, 480), 3: (480, 360)}
FONT: Final = cv2.FONT_HERSHEY_SIMPLEX


@dataclass(frozen=True, slots=True)
class Place:
    """Where a picture lies in a frame: its upper left corner and its size, all in pixels."""

    x: int
    y: int
    width: int
    height: int

    def of(self, canvas: Rgb) -> Rgb:
        """That part of a canvas, as a view."""
        return canvas[self.y : self.y + self.height, self.x : self.x + self.width]


@dataclass(frozen=True, slots=True)
class Grid:
    """Where each camera's picture lies, under its name, and how large all of it is."""

    places: Mapping[str, Place]
    width: int
    height: int


def grid_of(sizes: Mapping[str, tuple[int, int]], least_width: int) -> Grid:
    """Cameras row by row, four in two rows of two; `sizes` are (width, height) of their pictures.

    A picture is enlarged by a whole number, or shrunk where it is too large; the grid is at least `least_width` wide.
    """
    columns = next(count for count in (1, 2, 3) if count * count >= min(len(sizes), MOST_CAMERAS))
    fitted = {camera: _fitted(size, BOXES[columns]) for camera, size in list(sizes.items())[:MOST_CAMERAS]}
    wide, high = (max(size[axis] for size in fitted.values()) for axis in (0, 1))
    width = max(columns * (wide + GAP_PX) - GAP_PX, least_width)
    left, places = (width - columns * (wide + GAP_PX) + GAP_PX) // 2, dict[str, Place]()
    for number, (camera, (w, h)) in enumerate(fitted.items()):
        x = left + number % columns * (wide + GAP_PX) + (wide - w) // 2
        y = number // columns * (HEAD_PX + high + GAP_PX) + HEAD_PX + (high - h) // 2
        places[camera] = Place(x, y, w, h)
    return Grid(places, width, math.ceil(len(fitted) / columns) * (HEAD_PX + high + GAP_PX))


def paper(width: int, height: int) -> Rgb:
    """An empty sheet."""
    return np.full((height, width, 3), PAPER, np.uint8)


def text_width(text: str, size: float) -> int:
    """How many pixels wide a line of text is, at `size`."""
    return int(cv2.getTextSize(readable(text), FONT, size, 1)[0][0])


def write(
    canvas: Rgb, text: str, at: tuple[int, int], *, size: float = 0.5, colour: Colour = INK, most_px: int = 4096
) -> None:
    """Text whose baseline begins at `at`; smaller, then cut, where it would be wider than `most_px`."""
    text = readable(text)
    size = max(min(size, size * most_px / max(1, text_width(text, size))), 0.36)
    while len(text) > 1 and text_width(text, size) > most_px:
        text = text[: -max(2, len(text) // 8)] + "~"
    cv2.putText(canvas, text, at, FONT, size, colour, 1, cv2.LINE_AA)


def scaled(picture: Rgb, width: int, height: int) -> Rgb:
    """A picture in another size."""
    if picture.shape[:2] == (height, width):
        return picture
    how = cv2.INTER_AREA if width < picture.shape[1] else cv2.INTER_CUBIC
    return np.asarray(cv2.resize(picture, (width, height), interpolation=how), np.uint8)


def _fitted(size: tuple[int, int], box: tuple[int, int]) -> tuple[int, int]:
    """A picture's size as it is shown: a whole number of times as large, or as large as the box allows."""
    factor = min(box[0] / size[0], box[1] / size[1])
    factor = math.floor(factor) if factor >= 1 else factor
    return max(1, round(size[0] * factor)), max(1, round(size[1] * factor))
