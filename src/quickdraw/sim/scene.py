"""Pictures of the run: arm, gripper and cubes in closed form over the backdrop, nearer things drawn last."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np

from quickdraw.sim import backdrop, barcode
from quickdraw.sim.arm import R_WORLD_FROM_BASE, Floats, joints_for, link_poses
from quickdraw.sim.barcode import Rgb
from quickdraw.sim.projection import Pinhole, gripper_camera, rides_on_gripper, scene_camera, tool_axes
from quickdraw.sim.rollout import Rollout
from quickdraw.sim.spec import RunSpec
from quickdraw.sim.world import CUBE_MM, FINGERTIP_MM, GRIPPER_OPEN, GRIPPER_STROKE_MM, TABLE_Z_MM

CUBE_RGB: Final = {"red": (196, 32, 36), "green": (28, 150, 58), "blue": (30, 66, 190), "purple": (128, 44, 164)}
_ARM_RGB: Final = (44, 44, 48)
_SHINE_RGB: Final = (92, 92, 98)
_GRIPPER_RGB: Final = (36, 36, 40)
_FINGER_RGB: Final = (58, 58, 62)
_SHADOW_RGB: Final = (96, 70, 48)
_LINK_RADIUS_MM: Final = 42.0
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


@dataclass(frozen=True, slots=True)
class Box:
    """A cuboid: centre (3,) [mm, world], axes as columns (3, 3), half sizes (3,) [mm]."""

    centre_mm: Floats
    axes: Floats
    half_mm: Floats
    rgb: tuple[int, int, int]

    def corners_mm(self) -> Floats:
        """The eight corners (8, 3) [mm, world]."""
        return np.asarray(self.centre_mm + (_CORNERS * self.half_mm) @ self.axes.T, dtype=np.float64)


def cube_box(state: Floats, colour: str) -> Box:
    """The box of a cube whose state is (x, y, z [mm], turn [deg])."""
    angle = np.deg2rad(state[3])
    cos, sin = np.cos(angle), np.sin(angle)
    axes = np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]])
    return Box(state[:3], axes, np.full(3, CUBE_MM / 2), CUBE_RGB[colour])


def outline_px(camera: Pinhole, box: Box) -> Floats:
    """The box's silhouette in the picture, as a convex polygon (M, 2) [px]: the hull of its projected corners."""
    hull = cv2.convexHull(camera.project(box.corners_mm()).astype(np.float32))
    return np.asarray(hull[:, 0], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class _Moments:
    """What one camera's pictures show, picture by picture (K): interpolated from the rollout once for all."""

    flange_mm: Floats
    tools: Floats
    links_mm: Floats
    opening_mm: Floats
    cubes: Floats


def _moments(rollout: Rollout, stamps: Floats) -> _Moments:
    path = rollout.real_path(stamps)
    links = link_poses(joints_for(path))[:, :, :3, 3] @ R_WORLD_FROM_BASE.T
    base = np.zeros((len(stamps), 1, 3))
    return _Moments(
        flange_mm=path.world_xyz_mm,
        tools=tool_axes(path.world_from_flange()),
        links_mm=np.concatenate([base, links], axis=1),
        opening_mm=rollout.gripper_at(stamps) * GRIPPER_STROKE_MM / GRIPPER_OPEN,
        cubes=rollout.cubes_at(stamps),
    )


class Renderer:
    """The pictures of one camera of one run."""

    def __init__(self, spec: RunSpec, rollout: Rollout, label: str, stamps: Floats) -> None:
        self._spec, self._label = spec, label
        self._size = (spec.width_px, spec.height_px)
        self._moments = _moments(rollout, stamps)
        self._texture = backdrop.table_texture()
        self._rides = rides_on_gripper(label)
        if not self._rides:
            self._background = backdrop.fixed_background(self.camera(0), self._texture)

    def camera(self, k: int) -> Pinhole:
        """The camera as it stands at picture `k`."""
        if not self._rides:
            return scene_camera(self._label, self._size)
        return gripper_camera(self._label, self._moments.flange_mm[k], self._moments.tools[k], self._size)

    def cube_boxes(self, k: int) -> list[Box]:
        """The cubes at picture `k`, in the order of the run's colours."""
        states = self._moments.cubes[k]
        return [cube_box(state, colour) for state, colour in zip(states, self._spec.cube_colours, strict=True)]

    def picture(self, k: int) -> Rgb:
        """Picture `k` (H, W, 3) uint8 RGB: the scene at stamp `k`."""
        camera = self.camera(k)
        rgb = backdrop.moving_background(camera, self._texture) if self._rides else self._background.copy()
        cubes = self.cube_boxes(k)
        for box in cubes:
            _draw_shadow(rgb, camera, box)
        boxes = [*cubes, *_gripper_boxes(self._moments, k, with_palm=not self._rides)]
        boxes.sort(key=lambda box: -float(np.linalg.norm(box.centre_mm - camera.position_mm)))
        if not self._rides:
            _draw_arm(rgb, camera, self._moments.links_mm[k])
        for box in boxes:
            _draw_box(rgb, camera, box)
        if self._spec.paint_numbers:
            barcode.paint_frame_number(rgb, k)
        return rgb

    def pictures(self, count: int) -> Iterator[Rgb]:
        """The first `count` pictures."""
        return (self.picture(k) for k in range(count))


def _gripper_boxes(moments: _Moments, k: int, *, with_palm: bool) -> list[Box]:
    tool, flange = moments.tools[k], moments.flange_mm[k]
    lateral, approach = tool[:, 0], tool[:, 2]
    finger_half = np.array([7.0, 11.0, 38.0])
    boxes = []
    for side in (-1.0, 1.0):
        aside = side * (moments.opening_mm[k] / 2 + finger_half[0])
        centre = flange + aside * lateral + (FINGERTIP_MM + 8.0 - finger_half[2]) * approach
        boxes.append(Box(centre, tool, finger_half, _FINGER_RGB))
    if with_palm:
        boxes.append(Box(flange + 52.0 * approach, tool, np.array([62.0, 34.0, 50.0]), _GRIPPER_RGB))
    return boxes


def _fixed_point(points_px: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
    return np.round(points_px * (1 << _SHIFT)).astype(np.int32)


def _shaded(rgb: tuple[int, int, int], light: float) -> tuple[int, int, int]:
    red, green, blue = (min(255, int(value * light)) for value in rgb)
    return red, green, blue


def _draw_box(rgb: Rgb, camera: Pinhole, box: Box) -> None:
    corners = box.corners_mm()
    if camera.to_camera(corners)[:, 2].min() < 15.0:
        return
    corners_px = _fixed_point(camera.project(corners))
    for axis, side, face in _FACES:
        normal = side * box.axes[:, axis]
        outward = camera.position_mm - (box.centre_mm + box.half_mm[axis] * normal)
        if normal @ outward > 0:
            shade = _shaded(box.rgb, 0.72 + 0.36 * float(normal @ _LIGHT))
            cv2.fillConvexPoly(rgb, corners_px[list(face)], shade, cv2.LINE_AA, _SHIFT)


def _draw_shadow(rgb: Rgb, camera: Pinhole, box: Box) -> None:
    height = max(0.0, float(box.centre_mm[2]) - CUBE_MM / 2 - TABLE_Z_MM)
    half = box.half_mm * (1.12 + 0.002 * height)
    flat = box.centre_mm + (_CORNERS[[0, 1, 3, 2]] * half) @ box.axes.T + np.array([0.12, -0.16, 0.0]) * (height + 12.0)
    flat[:, 2] = TABLE_Z_MM
    if camera.to_camera(flat)[:, 2].min() > 15.0:
        cv2.fillConvexPoly(rgb, _fixed_point(camera.project(flat)), _SHADOW_RGB, cv2.LINE_AA, _SHIFT)


def _draw_arm(rgb: Rgb, camera: Pinhole, links_mm: Floats) -> None:
    """Thick strokes between the joints, base to flange, each with a lighter one on top for its round surface."""
    depth = camera.to_camera(links_mm)[:, 2]
    points = _fixed_point(camera.project(links_mm))
    for stroke_rgb, part in ((_ARM_RGB, 2.0), (_SHINE_RGB, 0.45)):
        for a in range(len(points) - 1):
            if min(depth[a], depth[a + 1]) < 60.0:
                continue
            width = max(1, round(part * _LINK_RADIUS_MM * camera.focal_px * 2.0 / float(depth[a] + depth[a + 1])))
            ends = (points[a].tolist(), points[a + 1].tolist())
            cv2.line(rgb, ends[0], ends[1], stroke_rgb, width, cv2.LINE_AA, _SHIFT)
