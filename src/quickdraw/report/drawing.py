"""The pieces a sheet is put together from: lines of text, bands of pictures with a colour bar, and curves over time.

All are `(H, WIDTH, 3)` uint8 RGB of one width, to be stacked; pictures and curves have the same left and right edge.
OpenCV's fonts hold ASCII only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

Rgb = npt.NDArray[np.uint8]
type Colour = tuple[int, int, int]

COLUMNS: Final = 6
TILE_PX, GAP_PX = 200, 4
LEFT_PX, RIGHT_PX = 84, 96
PLOT_PX: Final = COLUMNS * (TILE_PX + GAP_PX) - GAP_PX
WIDTH: Final = LEFT_PX + PLOT_PX + RIGHT_PX
LINE_PX, CAPTION_PX, CHART_PX, BAR_PX = 28, 18, 150, 14
PAPER: Final[Colour] = (18, 18, 18)
FIELD: Final[Colour] = (38, 38, 38)
FAINT: Final[Colour] = (95, 95, 95)
INK: Final[Colour] = (225, 225, 225)
CURVES: Final[tuple[Colour, ...]] = ((255, 125, 110), (120, 225, 120), (125, 180, 255))


@dataclass(frozen=True, slots=True)
class Tile:
    """A picture `(h, w, 3)` and what stands below it; None is drawn as an empty field. `blocky` pixels stay sharp."""

    picture: Rgb | None
    caption: str
    blocky: bool = False


@dataclass(frozen=True, slots=True)
class Scale:
    """The colour bar of a band: `colours` `(n, 3)` from bottom to top, `ticks` (share of the height, text)."""

    colours: Rgb
    ticks: tuple[tuple[float, str], ...]


@dataclass(frozen=True, slots=True)
class Curve:
    """`name`, and `values` `(n,)` at `times_s` `(n,)`."""

    name: str
    times_s: npt.NDArray[np.float64]
    values: npt.NDArray[np.floating]


def readable(name: str) -> str:
    """A name in ASCII, for a font that has no other letters: other ones by their code points."""
    return name.encode("ascii", "backslashreplace").decode()


def line(text: str, *, size: float = 0.5, height_px: int = LINE_PX) -> Rgb:
    """One line of text, smaller where it would not fit."""
    paper = _paper(height_px)
    _write(paper, readable(text), (8, height_px - 8), size, most_px=WIDTH - 16)
    return paper


def times(instants_s: Sequence[float]) -> Rgb:
    """The times of the columns of tiles below it."""
    paper = _paper(LINE_PX)
    for column, instant_s in enumerate(instants_s):
        _write(paper, f"{instant_s:.2f} s", (_left(column), LINE_PX - 9), 0.5)
    return paper


def band(label: str, tiles: Sequence[Tile], scale: Scale | None = None) -> Rgb:
    """At most `COLUMNS` tiles beside one another, a label above them and a colour bar to their right."""
    shown = [_fitted(tile) for tile in tiles[:COLUMNS]]
    height = max((picture.shape[0] for picture in shown if picture is not None), default=60)
    paper = _paper(height + CAPTION_PX + 6)
    for column, (tile, picture) in enumerate(zip(tiles, shown, strict=False)):
        x = _left(column)
        if picture is None:
            paper[:height, x : x + TILE_PX] = FIELD
        else:
            paper[: picture.shape[0], x : x + picture.shape[1]] = picture
        _write(paper, tile.caption, (x, height + CAPTION_PX - 4), 0.42, most_px=TILE_PX)
    if scale is not None:
        _draw_scale(paper, height, scale)
    return np.concatenate([line(label), paper])


def chart(label: str, curves: Sequence[Curve], *, end_s: float, marks_s: Sequence[float]) -> Rgb:
    """Curves over 0 to `end_s`, zero included, with their names in their colours and the times `marks_s` marked."""
    head, paper = line(label), _paper(CHART_PX + LINE_PX)
    paper[:CHART_PX, LEFT_PX : LEFT_PX + PLOT_PX] = FIELD
    low, high = _range([curve.values for curve in curves])
    span_s = end_s if end_s > 0 else 1.0

    def across(times_s: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return LEFT_PX + np.clip(times_s / span_s, 0, 1) * (PLOT_PX - 1)

    def down(values: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
        return (CHART_PX - 8) - (np.asarray(values, np.float64) - low) / (high - low) * (CHART_PX - 16)

    for tick in _round_numbers(low, high):
        y = round(float(down(np.array([tick]))[0]))
        cv2.line(paper, (LEFT_PX, y), (LEFT_PX + PLOT_PX - 1, y), FAINT, 1)
        _write(paper, f"{tick:g}", (LEFT_PX - 8, y + 5), 0.42, right=True)
    for at, mark in zip(across(np.asarray(marks_s, np.float64)).round().astype(int).tolist(), marks_s, strict=True):
        cv2.line(paper, (at, 0), (at, CHART_PX - 1), FAINT, 1)
        _write(paper, f"{mark:.2f} s", (at, CHART_PX + 16), 0.42, centre=True)
    x = 8 + _width(label, 0.5) + 24
    for curve, colour in zip(curves, CURVES, strict=False):
        _write(head, curve.name, (x, LINE_PX - 8), 0.5, colour=colour)
        x += _width(curve.name, 0.5) + 18
        sound = np.isfinite(curve.values)
        points = np.stack([across(curve.times_s[sound]), down(curve.values[sound])], axis=-1).round().astype(np.int32)
        cv2.polylines(paper, [points.reshape(-1, 1, 2)], False, colour, 1, cv2.LINE_AA)
        if len(points) <= PLOT_PX // 12:  # few: the samples themselves are to be seen
            for point in points.tolist():
                cv2.circle(paper, tuple(point), 2, colour, -1, cv2.LINE_AA)
    return np.concatenate([head, paper])


def _left(column: int) -> int:
    return LEFT_PX + column * (TILE_PX + GAP_PX)


def _paper(height_px: int) -> Rgb:
    return np.full((height_px, WIDTH, 3), PAPER, np.uint8)


def _fitted(tile: Tile) -> Rgb | None:
    """A tile's picture as large as it fits into a square of `TILE_PX`."""
    if tile.picture is None:
        return None
    height, width = tile.picture.shape[:2]
    factor = TILE_PX / max(height, width)
    how = cv2.INTER_NEAREST if tile.blocky else cv2.INTER_AREA if factor < 1 else cv2.INTER_CUBIC
    size = (max(1, round(width * factor)), max(1, round(height * factor)))
    return np.asarray(cv2.resize(tile.picture, size, interpolation=how), np.uint8)


def _draw_scale(paper: Rgb, height: int, scale: Scale) -> None:
    x = LEFT_PX + PLOT_PX + 10
    rows = np.linspace(len(scale.colours) - 1, 0, height).round().astype(int)
    paper[:height, x : x + BAR_PX] = scale.colours[rows][:, None]
    for share, text in scale.ticks:
        y = round((1 - share) * (height - 1))
        cv2.line(paper, (x + BAR_PX, y), (x + BAR_PX + 3, y), INK, 1)
        _write(paper, text, (x + BAR_PX + 6, min(max(y + 4, 10), height)), 0.4)


def _range(values: Sequence[npt.NDArray[np.floating]]) -> tuple[float, float]:
    """Least and most of all finite values and 0, never the same."""
    sound = [each[np.isfinite(each)] for each in values]
    low = min((float(each.min()) for each in sound if each.size), default=0.0)
    high = max((float(each.max()) for each in sound if each.size), default=0.0)
    low, high = min(low, 0.0), max(high, 0.0)
    return (low, high) if high > low else (-1.0, 1.0)


def _round_numbers(low: float, high: float) -> list[float]:
    """Three to six multiples of 1, 2 or 5 times a power of ten."""
    rough = (high - low) / 4
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    return [float(step * number) for number in range(int(np.ceil(low / step)), int(np.floor(high / step)) + 1)]


def _width(text: str, size: float) -> int:
    return int(cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, size, 1)[0][0])


def _write(
    paper: Rgb,
    text: str,
    at: tuple[int, int],
    size: float,
    *,
    colour: Colour = INK,
    most_px: int = WIDTH,
    right: bool = False,
    centre: bool = False,
) -> None:
    """Text whose baseline begins at `at`, or ends there, or has its middle there."""
    size = min(size, size * most_px / max(1, _width(text, size)))
    wide = _width(text, size)
    x = at[0] - (wide if right else wide // 2 if centre else 0)
    cv2.putText(paper, text, (min(x, WIDTH - wide), at[1]), cv2.FONT_HERSHEY_SIMPLEX, size, colour, 1, cv2.LINE_AA)
