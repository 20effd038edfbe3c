"""The table's small physics: a gripper of finite speed, cubes that are gripped, carried, pushed and dropped."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from quickdraw.sim.arm import HOME_WORLD_FROM_FLANGE

TABLE_Z_MM: Final = -120.0
CUBE_MM: Final = 45.0
# The fingers meet this far beyond the flange, along its z axis.
FINGERTIP_MM: Final = 170.0
GRIPPER_OPEN: Final = 850.0
GRIPPER_STROKE_MM: Final = 85.0
_GRIPPER_COUNTS_PER_S: Final = 1700.0
_GRIP_COUNTS: Final = GRIPPER_OPEN * CUBE_MM / GRIPPER_STROKE_MM
_LETS_GO_COUNTS: Final = _GRIP_COUNTS + 20.0
_GRAVITY_MM_S2: Final = 9810.0
_GRASP_REACH_MM: Final = 22.0
_PUSH_REACH_MM: Final = CUBE_MM / 2 + 8.0
# Cubes stay on the part of the table that the arm reaches and the cameras see.
_PEN_X_MM: Final = (390.0, 690.0)
_PEN_Y_MM: Final = (-190.0, 230.0)

APPROACH_HOME: Final = tuple(float(value) for value in HOME_WORLD_FROM_FLANGE[:, 2])


def fingertip_offset_mm(yaw_deg: float) -> tuple[float, float, float]:
    """World offset [mm] from the flange to the point between the fingertips, for a turn about the vertical."""
    cos, sin = math.cos(math.radians(yaw_deg)), math.sin(math.radians(yaw_deg))
    x, y, z = (FINGERTIP_MM * value for value in APPROACH_HOME)
    return cos * x - sin * y, sin * x + cos * y, z


@dataclass(slots=True)
class Cube:
    """A cube that stands flat: centre [mm, world], turn about the vertical [deg], falling speed [mm/s]."""

    x_mm: float
    y_mm: float
    z_mm: float
    yaw_deg: float
    fall_mm_s: float = 0.0


@dataclass(slots=True)
class _Grasp:
    cube: int
    yaw_deg: float
    offset_mm: tuple[float, float, float]
    cube_yaw_deg: float


class World:
    """Gripper and cubes, stepped once a tick with the arm's real (lagged) pose."""

    def __init__(self, cubes: list[Cube]) -> None:
        self.cubes = cubes
        self.gripper_counts = GRIPPER_OPEN
        self.grasp: _Grasp | None = None

    def step(self, *, tip_mm: tuple[float, float, float], yaw_deg: float, goal_counts: float, elapsed_s: float) -> None:
        """Advance by `elapsed_s` with the fingertips at `tip_mm` and the gripper told to go to `goal_counts`."""
        reach = _GRIPPER_COUNTS_PER_S * elapsed_s
        counts = self.gripper_counts + min(max(goal_counts - self.gripper_counts, -reach), reach)
        if self.grasp is None and self.gripper_counts >= _GRIP_COUNTS > counts:
            self.grasp = self._try_grasp(tip_mm, yaw_deg)
        if self.grasp is not None and counts > _LETS_GO_COUNTS:
            self.grasp = None
        if self.grasp is not None:
            counts = max(counts, _GRIP_COUNTS)
            self._carry(self.grasp, tip_mm, yaw_deg)
        self.gripper_counts = counts
        for index, cube in enumerate(self.cubes):
            if self.grasp is None or self.grasp.cube != index:
                self._push(cube, tip_mm)
                self._fall(index, elapsed_s)

    def _try_grasp(self, tip_mm: tuple[float, float, float], yaw_deg: float) -> _Grasp | None:
        for index, cube in enumerate(self.cubes):
            offset = (cube.x_mm - tip_mm[0], cube.y_mm - tip_mm[1], cube.z_mm - tip_mm[2])
            if max(abs(value) for value in offset) < _GRASP_REACH_MM:
                return _Grasp(index, yaw_deg, offset, cube.yaw_deg)
        return None

    def _carry(self, grasp: _Grasp, tip_mm: tuple[float, float, float], yaw_deg: float) -> None:
        turn_deg = yaw_deg - grasp.yaw_deg
        cos, sin = math.cos(math.radians(turn_deg)), math.sin(math.radians(turn_deg))
        x, y, z = grasp.offset_mm
        cube = self.cubes[grasp.cube]
        cube.x_mm = tip_mm[0] + cos * x - sin * y
        cube.y_mm = tip_mm[1] + sin * x + cos * y
        cube.z_mm = max(tip_mm[2] + z, TABLE_Z_MM + CUBE_MM / 2)
        cube.yaw_deg = grasp.cube_yaw_deg + turn_deg
        cube.fall_mm_s = 0.0

    def _push(self, cube: Cube, tip_mm: tuple[float, float, float]) -> None:
        """Closed fingers, low enough, move a cube out of their way; open fingers pass on both sides of it."""
        if self.gripper_counts >= _GRIP_COUNTS or tip_mm[2] > cube.z_mm + CUBE_MM / 2:
            return
        dx, dy = cube.x_mm - tip_mm[0], cube.y_mm - tip_mm[1]
        distance = math.hypot(dx, dy)
        if 0.0 < distance < _PUSH_REACH_MM:
            cube.x_mm = min(max(tip_mm[0] + dx / distance * _PUSH_REACH_MM, _PEN_X_MM[0]), _PEN_X_MM[1])
            cube.y_mm = min(max(tip_mm[1] + dy / distance * _PUSH_REACH_MM, _PEN_Y_MM[0]), _PEN_Y_MM[1])

    def _fall(self, index: int, elapsed_s: float) -> None:
        cube = self.cubes[index]
        support_mm = TABLE_Z_MM + CUBE_MM / 2
        for other_index, other in enumerate(self.cubes):
            near = abs(other.x_mm - cube.x_mm) < CUBE_MM * 0.7 and abs(other.y_mm - cube.y_mm) < CUBE_MM * 0.7
            if other_index != index and near and other.z_mm + CUBE_MM * 0.6 < cube.z_mm:
                support_mm = max(support_mm, other.z_mm + CUBE_MM)
        if cube.z_mm <= support_mm:
            cube.z_mm, cube.fall_mm_s = support_mm, 0.0
            return
        cube.fall_mm_s += _GRAVITY_MM_S2 * elapsed_s
        cube.z_mm = max(support_mm, cube.z_mm - cube.fall_mm_s * elapsed_s)


def scattered_cubes(rng: np.random.Generator, count: int) -> list[Cube]:
    """`count` cubes on the table, apart from each other and within reach."""
    cubes: list[Cube] = []
    while len(cubes) < count:
        x_mm, y_mm = float(rng.uniform(450.0, 610.0)), float(rng.uniform(-60.0, 150.0))
        if all(math.hypot(cube.x_mm - x_mm, cube.y_mm - y_mm) > 75.0 for cube in cubes):
            cubes.append(Cube(x_mm, y_mm, TABLE_Z_MM + CUBE_MM / 2, float(rng.uniform(-40.0, 40.0))))
    return cubes
