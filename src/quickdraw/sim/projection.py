"""Pinhole cameras and the four viewpoints: two look over the table, two ride on the gripper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from quickdraw.sim.arm import Floats
from quickdraw.sim.world import TABLE_Z_MM

# Focal lengths as parts of the picture's width: a moderate lens over the table, a wide one at the wrist.
_SCENE_FOCAL: Final = 0.98
_GRIPPER_FOCAL: Final = 0.78


@dataclass(frozen=True, slots=True)
class Pinhole:
    """A camera at `position_mm` (3,) with `world_from_camera` (3, 3): x right, y down, z into the picture."""

    position_mm: Floats
    world_from_camera: Floats
    focal_px: float
    width_px: int
    height_px: int

    def to_camera(self, world_mm: Floats) -> Floats:
        """World points (..., 3) [mm] in the camera's own frame [mm]."""
        return np.asarray((world_mm - self.position_mm) @ self.world_from_camera, dtype=np.float64)

    def project(self, world_mm: Floats) -> Floats:
        """Picture coordinates (..., 2) [px] of world points (..., 3) [mm] in front of the camera.

        Pixel (0, 0) is the middle of the first pixel.
        """
        points = self.to_camera(world_mm)
        centre = np.array([(self.width_px - 1) / 2, (self.height_px - 1) / 2])
        return np.asarray(self.focal_px * points[..., :2] / points[..., 2:] + centre, dtype=np.float64)

    def rays(self) -> Floats:
        """World directions (H, W, 3) through every pixel's middle; not of unit length."""
        columns = (np.arange(self.width_px) - (self.width_px - 1) / 2) / self.focal_px
        rows = (np.arange(self.height_px) - (self.height_px - 1) / 2) / self.focal_px
        x, y = np.meshgrid(columns, rows)
        return np.asarray(np.stack([x, y, np.ones_like(x)], axis=2) @ self.world_from_camera.T, dtype=np.float64)

    def table_homography(self) -> Floats:
        """(3, 3): table point (x, y, 1) [mm, world] to homogeneous picture coordinates [px]."""
        camera_from_world = self.world_from_camera.T
        offset = camera_from_world @ (np.array([0.0, 0.0, TABLE_Z_MM]) - self.position_mm)
        plane = np.column_stack([camera_from_world[:, 0], camera_from_world[:, 1], offset])
        lens = np.array(
            [
                [self.focal_px, 0.0, (self.width_px - 1) / 2],
                [0.0, self.focal_px, (self.height_px - 1) / 2],
                [0.0, 0.0, 1.0],
            ]
        )
        return np.asarray(lens @ plane, dtype=np.float64)


def looking(eye_mm: Floats, forward: Floats, up: Floats, focal_px: float, size_px: tuple[int, int]) -> Pinhole:
    """A camera at `eye_mm` looking along `forward`, its picture's top towards `up`; `size_px` is (width, height)."""
    z = forward / np.linalg.norm(forward)
    x = np.cross(z, up)
    x /= np.linalg.norm(x)
    return Pinhole(eye_mm, np.column_stack([x, np.cross(z, x), z]), focal_px, *size_px)


_SCENE_EYES_MM: Final = {
    "scene_left": ((20.0, 560.0, 560.0), (535.0, 0.0, -75.0)),
    "scene_right": ((1010.0, -190.0, 520.0), (500.0, 25.0, -60.0)),
}
# Mounting on the gripper: shift along the tool's upward normal [mm] and tilt [deg] towards the fingertips.
_GRIPPER_MOUNTS: Final = {"gripper_right_bottom": (-65.0, -7.0), "gripper_right_top": (75.0, 14.0)}


def rides_on_gripper(label: str) -> bool:
    """Whether the camera moves with the arm. Raises ValueError for a label that has no viewpoint."""
    if label in _GRIPPER_MOUNTS:
        return True
    if label in _SCENE_EYES_MM:
        return False
    raise ValueError(f"no viewpoint for camera {label!r}; known: {sorted([*_SCENE_EYES_MM, *_GRIPPER_MOUNTS])}")


def scene_camera(label: str, size_px: tuple[int, int]) -> Pinhole:
    """A fixed camera over the table; `size_px` is (width, height)."""
    eye, aim = (np.array(point) for point in _SCENE_EYES_MM[label])
    return looking(eye, aim - eye, np.array([0.0, 0.0, 1.0]), _SCENE_FOCAL * size_px[0], size_px)


def gripper_camera(label: str, flange_mm: Floats, tool: Floats, size_px: tuple[int, int]) -> Pinhole:
    """A camera on the gripper, whose flange is at `flange_mm` (3,).

    The columns of `tool` (3, 3) are the lateral, upward and approach axes in the world.
    """
    shift_mm, tilt_deg = _GRIPPER_MOUNTS[label]
    upward, approach = tool[:, 1], tool[:, 2]
    tilt = np.deg2rad(tilt_deg)
    forward = np.cos(tilt) * approach - np.sin(tilt) * upward
    eye = flange_mm + shift_mm * upward + 10.0 * approach
    return looking(eye, forward, upward, _GRIPPER_FOCAL * size_px[0], size_px)


def tool_axes(world_from_flange: Floats) -> Floats:
    """Lateral, upward and approach axes of the tool as columns (N, 3, 3), for flange rotations (N, 3, 3)."""
    approach = world_from_flange[:, :, 2]
    lateral = np.cross(approach, np.array([0.0, 0.0, 1.0]))
    lateral /= np.linalg.norm(lateral, axis=1, keepdims=True)
    upward = np.cross(lateral, approach)
    return np.stack([lateral, upward, approach], axis=2)
