"""What a picture is made of: boxes and strokes of the scene as marks in the picture's own coordinates.

A picture and the truth about it are made from one list of marks, later ones over earlier ones: painting fills them with
colour (`paint`), `quickdraw.sim.visibility` cuts them out of each other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from quickdraw.sim.arm import Floats
from quickdraw.sim.barcode import Rgb
from quickdraw.sim.projection import Pinhole
from quickdraw.sim.world import CUBE_MM, TABLE_Z_MM

type Colour = tuple[int, int, int]

CUBE_RGB: Final[dict[str, Colour]] = {
    "red": (196, 32, 36),
    "green": (28, 150, 58),
    "blue": (30, 66, 190),
    "purple": (128, 44, 164),
}
_ARM_RGB: Final = (44, 44, 48)
_SHINE_RGB: Final = (92, 92, 98)
_SHADOW_RGB: Final = (96, 70, 48)
_LINK_RADIUS_MM: Final = 42.0
# Nothing nearer to the lens than this is drawn.
NEAREST_MM: Final = 15.0
# Fixed-point digits of OpenCV's drawing: sixteenths of a pixel, so that motion below a pixel shows.
_SHIFT: Final = 4
# The six faces of a box as (axis, side) and their corners, counted as bits x=1, y=2, z=4.
_FACES: Final = (
    (0, -1.0, (0, 2, 6, 4)),
    (0, 1.0, (1, 3, 7, 5)),
    (1, -1.0, (0, 1, 5, 4)),
    (1, 1.0, (2, 3, 7, 6)),
    (2, -1.0, (0, 1, 3, 2)),
    (2, 1.0, (4, 5, 7, 6)),
)
_CORNERS: Final[Floats] = (
    np.array([[(i & 1) * 2 - 1, (i >> 1 & 1) * 2 - 1, (i >> 2 & 1) * 2 - 1] for i in range(8)]) * 1.0
)
_LIGHT: Final[Floats] = np.array([-0.25, 0.35, 0.9])
# A stroke's round end as so many chords: 0.2 % less area than a half disc.
_END_CHORDS: Final = 16
# OpenCV paints a soft edge around what it fills, worth two thirds of a pixel.
_SOFT_EDGE_PX: Final = 0.66
# A box whose half sizes are less by this much is smaller by a soft edge, seen from wherever (0.66 at worst).
_SMALLER_PX: Final = 0.52


@dataclass(frozen=True, slots=True)
class Solid:
    """A box as the picture shows it: its corners (8, 2) [px], its faces and their shades.

    The faces (F, 4, 2) [px] end where OpenCV's soft edges, painted around them, reach the silhouette. `cube` is the
    number of the cube it is, if it is one.
    """

    corners_px: Floats
    faces_px: Floats
    shades: tuple[Colour, ...]
    cube: int | None = None

    @property
    def outline_px(self) -> Floats:
        """Its silhouette, a convex polygon (M, 2) [px]."""
        return hull_px(self.corners_px)


@dataclass(frozen=True, slots=True)
class Stroke:
    """A thick line with round ends between two points (2, 2) [px]."""

    ends_px: Floats
    width_px: int
    rgb: Colour
    cube: ClassVar[None] = None

    @property
    def outline_px(self) -> Floats:
        """The polygon (M, 2) [px] the stroke covers with its soft edge, its round ends in chords."""
        along = self.ends_px[1] - self.ends_px[0]
        towards = np.arctan2(along[1], along[0])
        half_turn = np.linspace(-np.pi / 2, np.pi / 2, _END_CHORDS + 1)
        angles = towards + np.concatenate([half_turn + np.pi, half_turn])
        rim = (self.width_px / 2 + _SOFT_EDGE_PX) * np.column_stack([np.cos(angles), np.sin(angles)])
        return np.asarray(np.repeat(self.ends_px, _END_CHORDS + 1, axis=0) + rim, dtype=np.float64)


type Mark = Solid | Stroke


@dataclass(frozen=True, slots=True)
class Box:
    """A cuboid: centre (3,) [mm, world], axes as columns (3, 3), half sizes (3,) [mm]; `cube` as in `Solid`."""

    centre_mm: Floats
    axes: Floats
    half_mm: Floats
    rgb: Colour
    cube: int | None = None

    def corners_mm(self) -> Floats:
        """The eight corners (8, 3) [mm, world]."""
        return np.asarray(self.centre_mm + (_CORNERS * self.half_mm) @ self.axes.T, dtype=np.float64)


def cube_box(state: Floats, colour: str, *, cube: int | None = None) -> Box:
    """The box of a cube whose state is (x, y, z [mm], turn [deg])."""
    angle = np.deg2rad(state[3])
    cos, sin = np.cos(angle), np.sin(angle)
    axes = np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]])
    return Box(state[:3], axes, np.full(3, CUBE_MM / 2), CUBE_RGB[colour], cube)


def solids(camera: Pinhole, boxes: Iterable[Box]) -> list[Solid]:
    """The boxes as `camera` sees them, in their order, without those too near to the lens or behind it."""
    seen = []
    for box in boxes:
        corners = box.corners_mm()
        if camera.to_camera(corners)[:, 2].min() >= NEAREST_MM:
            seen.append(_solid(camera, box, corners))
    return seen


def _solid(camera: Pinhole, box: Box, corners_mm: Floats) -> Solid:
    pixel_mm = float(camera.to_camera(box.centre_mm)[2]) / camera.focal_px
    smaller = replace(box, half_mm=box.half_mm - _SMALLER_PX * pixel_mm)
    corners_px, painted_px = camera.project(np.stack([corners_mm, smaller.corners_mm()]))
    faces, shades = [], []
    for axis, side, face in _FACES:
        normal = side * box.axes[:, axis]
        outward = camera.position_mm - (box.centre_mm + box.half_mm[axis] * normal)
        if normal @ outward > 0:
            faces.append(painted_px[list(face)])
            shades.append(_shaded(box.rgb, 0.72 + 0.36 * float(normal @ _LIGHT)))
    return Solid(corners_px, np.array(faces), tuple(shades), box.cube)


def hull_px(points_px: Floats) -> Floats:
    """The convex polygon (M, 2) around points (N, 2) [px]."""
    return np.asarray(cv2.convexHull(points_px.astype(np.float32))[:, 0], dtype=np.float64)


def _shaded(rgb: Colour, light: float) -> Colour:
    red, green, blue = (min(255, int(value * light)) for value in rgb)
    return red, green, blue


def paint_shadow(rgb: Rgb, camera: Pinhole, box: Box) -> None:
    """Paint the dark patch under a box, on the table, unless the table is too near to the lens there."""
    height = max(0.0, float(box.centre_mm[2]) - CUBE_MM / 2 - TABLE_Z_MM)
    half = box.half_mm * (1.12 + 0.002 * height)
    flat = box.centre_mm + (_CORNERS[[0, 1, 3, 2]] * half) @ box.axes.T + np.array([0.12, -0.16, 0.0]) * (height + 12.0)
    flat[:, 2] = TABLE_Z_MM
    if camera.to_camera(flat)[:, 2].min() > NEAREST_MM:
        _fill(rgb, camera.project(flat), _SHADOW_RGB)


def arm_strokes(camera: Pinhole, links_mm: Floats) -> list[Stroke]:
    """Thick strokes between the joints (J, 3) [mm], base to flange, each with a lighter one for its round surface."""
    depth = camera.to_camera(links_mm)[:, 2]
    points = camera.project(links_mm)
    strokes = []
    for rgb, part in ((_ARM_RGB, 2.0), (_SHINE_RGB, 0.45)):
        for a in range(len(points) - 1):
            if min(depth[a], depth[a + 1]) < 60.0:
                continue
            width = max(1, round(part * _LINK_RADIUS_MM * camera.focal_px * 2.0 / float(depth[a] + depth[a + 1])))
            strokes.append(Stroke(points[a : a + 2], width, rgb))
    return strokes


def far_to_near(camera: Pinhole, boxes: Iterable[Box]) -> list[Box]:
    """The boxes by the distance of their centres: of two that overlap in the picture, the nearer one comes last."""
    return sorted(boxes, key=lambda box: -distance_mm(camera, box.centre_mm))


def distance_mm(camera: Pinhole, point_mm: Floats) -> float:
    """Distance [mm] of a world point (3,) [mm] from the lens."""
    return float(np.linalg.norm(point_mm - camera.position_mm))


def paint(rgb: Rgb, marks: Iterable[Mark]) -> None:
    """Paint `marks` into `rgb` (H, W, 3) uint8, in place, later ones over earlier ones."""
    for mark in marks:
        if isinstance(mark, Stroke):
            start, end = _fixed_point(mark.ends_px).tolist()
            cv2.line(rgb, start, end, mark.rgb, mark.width_px, cv2.LINE_AA, _SHIFT)
        else:
            for face_px, shade in zip(mark.faces_px, mark.shades, strict=True):
                _fill(rgb, face_px, shade)


def _fill(rgb: Rgb, corners_px: Floats, colour: Colour) -> None:
    cv2.fillConvexPoly(rgb, _fixed_point(corners_px), colour, cv2.LINE_AA, _SHIFT)


def _fixed_point(points_px: Floats) -> NDArray[np.int32]:
    return np.round(points_px * (1 << _SHIFT)).astype(np.int32)
