"""The truth about what a picture shows of each cube, cut out of the very marks the picture is painted from.

No pixels here: a cube's silhouette is a convex polygon, what is drawn over it later is cut away, and the areas and
centres of the pieces that are left are sums over their corners.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from quickdraw.sim.arm import Floats
from quickdraw.sim.shapes import Mark

# A convex polygon, its corners in the order in which `_inside_and_outside` finds its inner side.
type _Polygon = list[tuple[float, float]]

# Pieces below are the crumbs of rounding.
_CRUMB_PX2: Final = 1e-6


@dataclass(frozen=True, slots=True)
class VisibleCube:
    """How much of one cube a picture shows, in units that hold at every resolution.

    `area` is the visible part as a share of the picture's area: times H * W, it is in pixels. `whole_area` is what it
    would be with nothing in front of the cube and no edge of the picture; 0 for a cube too near to the lens or behind
    it, which is not drawn. `centre` is the centroid (x, y) of the visible part, in [0, 1] from the left and the upper
    edge: pixel i of W covers [i / W, (i + 1) / W). Both are NaN where nothing is visible.
    """

    colour: str
    area: float
    whole_area: float
    centre: tuple[float, float]


def visible_cubes(
    marks: Sequence[Mark], colours: Sequence[str], *, size_px: tuple[int, int], hidden_top_px: int = 0
) -> tuple[VisibleCube, ...]:
    """What is left to see of every cube, in the order of `colours`, once all `marks` are drawn one over the other.

    `size_px` is the picture's (width, height); its top `hidden_top_px` rows are painted over.
    """
    return tuple(_visible_cube(marks, cube, colour, size_px, hidden_top_px) for cube, colour in enumerate(colours))


def _visible_cube(
    marks: Sequence[Mark], cube: int, colour: str, size_px: tuple[int, int], hidden_top_px: int
) -> VisibleCube:
    width, height = size_px
    # The middle of the first pixel is (0, 0): the picture begins half a pixel before it.
    window = ((-0.5, hidden_top_px - 0.5), (width - 0.5, height - 0.5))
    whole = 0.0
    pieces: list[_Polygon] = []
    for mark in marks:
        if mark.cube == cube:
            outline = _polygon(mark.outline_px)
            whole = _area(outline)
            pieces = _within(outline, *window)
        elif pieces:
            pieces = _without(pieces, _polygon(mark.outline_px))
    area = sum(_area(piece) for piece in pieces)
    x, y = _centroid(pieces, area) if pieces else (math.nan, math.nan)
    share = 1.0 / (width * height)
    return VisibleCube(colour, area * share, whole * share, ((x + 0.5) / width, (y + 0.5) / height))


def _polygon(corners_px: Floats) -> _Polygon:
    polygon = [(float(x), float(y)) for x, y in corners_px.tolist()]
    return polygon if _area(polygon) >= 0.0 else polygon[::-1]


def _area(polygon: _Polygon) -> float:
    """Area [px²]; negative for corners in the other order."""
    edges = zip(polygon, [*polygon[1:], *polygon[:1]], strict=True)
    return 0.5 * sum(ax * by - bx * ay for (ax, ay), (bx, by) in edges)


def _centroid(pieces: list[_Polygon], area: float) -> tuple[float, float]:
    """Centroid (x, y) [px] of `pieces` that have `area` [px²] together: theirs, weighted."""
    x = y = 0.0
    for piece in pieces:
        for (ax, ay), (bx, by) in zip(piece, [*piece[1:], *piece[:1]], strict=True):
            weight = (ax * by - bx * ay) / (6.0 * area)
            x += (ax + bx) * weight
            y += (ay + by) * weight
    return x, y


def _within(polygon: _Polygon, low: tuple[float, float], high: tuple[float, float]) -> list[_Polygon]:
    """The part of `polygon` inside the rectangle from `low` to `high`, as one piece or none."""
    corners = [low, (high[0], low[1]), high, (low[0], high[1])]
    for start, end in zip(corners, [*corners[1:], corners[0]], strict=True):
        polygon, _ = _inside_and_outside(polygon, start, end)
    return [polygon] if _area(polygon) > _CRUMB_PX2 else []


def _without(pieces: list[_Polygon], hole: _Polygon) -> list[_Polygon]:
    """`pieces` less what `hole` covers. Each edge of the hole in turn splits off what lies beyond it."""
    left: list[_Polygon] = []
    for piece in pieces:
        if _apart(piece, hole):
            left.append(piece)
            continue
        rest, split = piece, []
        for start, end in zip(hole, [*hole[1:], hole[0]], strict=True):
            rest, beyond = _inside_and_outside(rest, start, end)
            if _area(beyond) > _CRUMB_PX2:
                split.append(beyond)
        left += split if _area(rest) > _CRUMB_PX2 else [piece]
    return left


def _apart(a: _Polygon, b: _Polygon) -> bool:
    """Whether the upright rectangles around `a` and `b` do not meet: cheap, and true of most pairs."""
    for axis in (0, 1):
        a_side, b_side = [point[axis] for point in a], [point[axis] for point in b]
        if max(a_side) <= min(b_side) or max(b_side) <= min(a_side):
            return True
    return False


def _inside_and_outside(
    polygon: _Polygon, start: tuple[float, float], end: tuple[float, float]
) -> tuple[_Polygon, _Polygon]:
    """The two parts of a convex polygon on either side of the line from `start` to `end`; a part may be empty."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    sides = [dx * (y - start[1]) - dy * (x - start[0]) for x, y in polygon]
    inside: _Polygon = []
    outside: _Polygon = []
    for index, (point, side) in enumerate(zip(polygon, sides, strict=True)):
        before, side_before = polygon[index - 1], sides[index - 1]
        if (side_before < 0.0 < side) or (side < 0.0 < side_before):
            part = side_before / (side_before - side)
            crossing = (before[0] + part * (point[0] - before[0]), before[1] + part * (point[1] - before[1]))
            inside.append(crossing)
            outside.append(crossing)
        if side >= 0.0:
            inside.append(point)
        if side <= 0.0:
            outside.append(point)
    return inside, outside
