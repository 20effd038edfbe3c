"""The small physics of the table: a gripper of finite speed, cubes that are carried, pushed, dropped and stacked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from quickdraw.sim.arm import HOME_WORLD_FROM_FLANGE
from quickdraw.sim.control import clamp_axis
from quickdraw.sim.spec import CubePlace

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
# A taken cube leaves along x and stays beyond the table, out of sight of scene_right and the gripper.
_TAKEN_MM_S: Final = 400.0
_TAKEN_TO_X_MM: Final = 2000.0

APPROACH_HOME: Final = tuple(float(value) for value in HOME_WORLD_FROM_FLANGE[:, 2])


def fingertip_offset_mm(yaw_deg: float) -> tuple[float, float, float]:
    """World offset [mm] from the flange to the point between the fingertips, for a turn about the vertical."""
    cos, sin = math.cos(math.radians(yaw_deg)), math.sin(math.radians(yaw_deg))
    x, y, z = (FINGERTIP_MM * value for value in APPROACH_HOME)
    return cos * x - sin * y, sin * x + cos * y, z


@dataclass(slots=True)
class Cube:
    """A cube that stands flat: centre [mm, world], turn about the vertical [deg], falling speed [mm/s].

    `taken_s` after A somebody slides it off the table.
    """

    x_mm: float
    y_mm: float
    z_mm: float
    yaw_deg: float
    fall_mm_s: float = 0.0
    taken_s: float = math.inf


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
        self._age_s = 0.0

    def step(self, *, tip_mm: tuple[float, float, float], yaw_deg: float, goal_counts: float, elapsed_s: float) -> None:
        """Advance by `elapsed_s` with the fingertips at `tip_mm` and the gripper told to go to `goal_counts`."""
        self._age_s += elapsed_s
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
            if not self._held(index):
                self._push(cube, tip_mm)
                if self._age_s > cube.taken_s:
                    cube.x_mm = max(cube.x_mm, min(cube.x_mm + _TAKEN_MM_S * elapsed_s, _TAKEN_TO_X_MM))
                self._fall(index, elapsed_s)
        self._part()

    def _held(self, index: int) -> bool:
        return self.grasp is not None and self.grasp.cube == index

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
        cube.z_mm = max(tip_mm[2] + z, self._support_mm(grasp.cube))
        cube.yaw_deg = grasp.cube_yaw_deg + turn_deg
        cube.fall_mm_s = 0.0

    def _push(self, cube: Cube, tip_mm: tuple[float, float, float]) -> None:
        """Closed fingers, low enough, move a cube out of their way; open fingers pass on both sides of it."""
        if self.gripper_counts >= _GRIP_COUNTS or tip_mm[2] > cube.z_mm + CUBE_MM / 2:
            return
        dx, dy = cube.x_mm - tip_mm[0], cube.y_mm - tip_mm[1]
        distance = math.hypot(dx, dy)
        if 0.0 < distance < _PUSH_REACH_MM:
            cube.x_mm = clamp_axis(tip_mm[0] + dx / distance * _PUSH_REACH_MM, cube.x_mm, _PEN_X_MM)
            cube.y_mm = clamp_axis(tip_mm[1] + dy / distance * _PUSH_REACH_MM, cube.y_mm, _PEN_Y_MM)

    def _support_mm(self, index: int) -> float:
        """Height [mm] of the middle of cube `index` when it rests on what is below it: the table or another cube."""
        cube = self.cubes[index]
        support_mm = TABLE_Z_MM + CUBE_MM / 2
        for other_index, other in enumerate(self.cubes):
            near = abs(other.x_mm - cube.x_mm) < CUBE_MM * 0.7 and abs(other.y_mm - cube.y_mm) < CUBE_MM * 0.7
            if other_index != index and near and other.z_mm + CUBE_MM * 0.6 < cube.z_mm:
                support_mm = max(support_mm, other.z_mm + CUBE_MM)
        return support_mm

    def _fall(self, index: int, elapsed_s: float) -> None:
        cube = self.cubes[index]
        support_mm = self._support_mm(index)
        if cube.z_mm <= support_mm:
            cube.z_mm, cube.fall_mm_s = support_mm, 0.0
            return
        cube.fall_mm_s += _GRAVITY_MM_S2 * elapsed_s
        cube.z_mm = max(support_mm, cube.z_mm - cube.fall_mm_s * elapsed_s)

    def _part(self) -> None:
        """Cubes at about one height that overlap give way, both alike or the one that is not held."""
        for a, b in combinations(range(len(self.cubes)), 2):
            dx, dy = _overlap_mm(self.cubes[a], self.cubes[b])
            share = 1.0 if self._held(a) else 0.0 if self._held(b) else 0.5
            self.cubes[a].x_mm -= (1.0 - share) * dx
            self.cubes[a].y_mm -= (1.0 - share) * dy
            self.cubes[b].x_mm += share * dx
            self.cubes[b].y_mm += share * dy


def _overlap_mm(a: Cube, b: Cube) -> tuple[float, float]:
    """The shortest way (x, y) [mm] for `b` out of `a`; nothing for cubes that are clear of each other or stacked.

    Two squares are apart exactly if they are so along a side of one of them (separating axes).
    """
    dx, dy = b.x_mm - a.x_mm, b.y_mm - a.y_mm
    if abs(b.z_mm - a.z_mm) > 0.9 * CUBE_MM or math.hypot(dx, dy) > math.sqrt(2.0) * CUBE_MM:
        return 0.0, 0.0
    turn = math.radians(b.yaw_deg - a.yaw_deg)
    reach_mm = CUBE_MM / 2 * (1.0 + abs(math.cos(turn)) + abs(math.sin(turn)))
    ways = []
    for side_deg in (a.yaw_deg, a.yaw_deg + 90.0, b.yaw_deg, b.yaw_deg + 90.0):
        x, y = math.cos(math.radians(side_deg)), math.sin(math.radians(side_deg))
        along = dx * x + dy * y
        way = math.copysign(1.0, along)
        ways.append((reach_mm - abs(along), way * x, way * y))
    depth_mm, x, y = min(ways)
    return (depth_mm * x, depth_mm * y) if depth_mm > 0.0 else (0.0, 0.0)


def placed_cubes(places: Sequence[CubePlace]) -> list[Cube]:
    """The cubes where a spec puts them."""
    return [
        Cube(
            place.x_mm,
            place.y_mm,
            TABLE_Z_MM + CUBE_MM * (place.level + 0.5),
            place.turn_deg,
            taken_s=math.inf if place.taken_s is None else place.taken_s,
        )
        for place in places
    ]


def scattered_cubes(rng: np.random.Generator, count: int) -> list[Cube]:
    """`count` cubes on the table, apart from each other and within reach."""
    cubes: list[Cube] = []
    while len(cubes) < count:
        x_mm, y_mm = float(rng.uniform(450.0, 610.0)), float(rng.uniform(-60.0, 150.0))
        if all(math.hypot(cube.x_mm - x_mm, cube.y_mm - y_mm) > 75.0 for cube in cubes):
            cubes.append(Cube(x_mm, y_mm, TABLE_Z_MM + CUBE_MM / 2, float(rng.uniform(-40.0, 40.0))))
    return cubes
