"""A person with a gamepad: picks cubes up, puts them down, wanders about, turns the tool, rests.

The hand works one or two axes at a time and lets go in between, so that about half of every axis is exactly zero.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import Final

import numpy as np

from quickdraw.sim.control import DEADZONE, Xyz, stick_for
from quickdraw.sim.world import CUBE_MM, TABLE_Z_MM, Cube, World, fingertip_offset_mm

# Where the hand likes to keep the flange: inside the workspace box and well within the arm's reach.
_COMFORT_MM: Final = ((380.0, 600.0), (-225.0, 90.0), (15.0, 290.0))
_COMFORT_YAW_DEG: Final = (-75.0, 35.0)
_NEAR: Final = (2.0, 2.0, 2.0, 1.5)
_SLOW: Final = (25.0, 25.0, 25.0, 14.0)
# Bounds of an axis' action during one move.
_GENTLE: Final = (0.45, 0.5, 0.55, 0.2)
_BRISK: Final = (1.0, 1.0, 1.0, 0.8)
_SMOOTHING_S: Final = 0.07
_STILL: Final = 4e-3

type Action = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class _Goal:
    """Flange pose to reach [mm, deg] and trigger to hold; `pauses_s` delays each axis, `patience_s` ends it anyhow."""

    pose: tuple[float, float, float, float]
    trigger: float
    speeds: tuple[float, float, float, float]
    pauses_s: tuple[float, float, float, float]
    dwell_s: float
    patience_s: float


class Operator:
    """Turns what it sees (flange, cubes) into stick values, tick by tick."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._goals: deque[_Goal] = deque()
        self._since_s = math.nan
        self._there_s: float | None = None
        self._action = [0.0, 0.0, 0.0, 0.0]
        self._trigger = 0.0

    def sticks(self, *, now_s: float, dt_s: float, flange_mm: Xyz, yaw_deg: float, world: World) -> Action:
        """Raw stick values (x, y, height, yaw) in [-1, 1], positive as the axes of the world are."""
        pose = (*flange_mm, yaw_deg)
        self._choose(now_s, pose, world)
        goal = self._goals[0]
        blend = min(1.0, dt_s / _SMOOTHING_S)
        for axis in range(4):
            wanted = self._wanted(goal, axis, goal.pose[axis] - pose[axis], now_s)
            self._action[axis] += (wanted - self._action[axis]) * blend
        self._trigger += (goal.trigger - self._trigger) * min(1.0, dt_s / 0.12)
        rest = self._rng.uniform(-0.6 * DEADZONE, 0.6 * DEADZONE, size=4).tolist()
        raw = [stick_for(a) if abs(a) > _STILL else r for a, r in zip(self._action, rest, strict=True)]
        return raw[0], raw[1], raw[2], raw[3]

    @property
    def trigger(self) -> float:
        """Raw trigger value in [0, 1] after the last `sticks`."""
        return self._trigger

    def _wanted(self, goal: _Goal, axis: int, error: float, now_s: float) -> float:
        if now_s < self._since_s + goal.pauses_s[axis] or abs(error) < _NEAR[axis]:
            return 0.0
        ramp = min(1.0, max(0.12, abs(error) / _SLOW[axis]))
        return math.copysign(goal.speeds[axis] * ramp, error)

    def _choose(self, now_s: float, pose: Action, world: World) -> None:
        if not self._goals:
            self._plan(world, pose)
            self._since_s, self._there_s = now_s, None
        goal = self._goals[0]
        settled = abs(self._trigger - goal.trigger) < 0.05
        if settled and all(abs(a - b) < near * 1.5 for a, b, near in zip(goal.pose, pose, _NEAR, strict=True)):
            self._there_s = now_s if self._there_s is None else self._there_s
        done = self._there_s is not None and now_s - self._there_s > goal.dwell_s
        if done or now_s - self._since_s > goal.patience_s:
            self._goals.popleft()
            if not self._goals:
                self._plan(world, pose)
            self._since_s, self._there_s = now_s, None

    def _plan(self, world: World, pose: Action) -> None:
        if world.grasp is None and self._rng.random() < 0.5:
            self._plan_pick(world)
        if not self._goals:
            self._plan_wander(pose)

    def _plan_pick(self, world: World) -> None:
        """Over a cube, down, close, up, elsewhere (sometimes onto another cube), down, open, up."""
        order = self._rng.permutation(len(world.cubes)).tolist()
        free = [index for index in order if not _covered(world.cubes, index)]
        for index in free[:1]:
            cube = world.cubes[index]
            x, y, z = cube.x_mm, cube.y_mm, cube.z_mm
            yaw = self._reachable_yaw(x, y)
            bx, by, bz = self._place(world.cubes, index)
            away = self._reachable_yaw(bx, by)
            height = float(self._rng.uniform(55.0, 100.0))
            if yaw is None or away is None:
                continue
            squeeze = float(self._rng.uniform(0.75, 1.0))
            for tip, turn, trigger in (
                ((x, y, z + height), yaw, 0.0),
                ((x, y, z), yaw, 0.0),
                ((x, y, z), yaw, squeeze),
                ((x, y, z + height), yaw, squeeze),
                ((bx, by, bz + height), away, squeeze),
                ((bx, by, bz + 2.0), away, squeeze),
                ((bx, by, bz + 2.0), away, 0.0),
                ((bx, by, bz + height), away, 0.0),
            ):
                self._add_tip(tip, turn, trigger, exact=tip[2] < min(z, bz) + 3.0 or tip[2] == bz + 2.0)

    def _add_tip(self, tip_mm: Xyz, yaw_deg: float, trigger: float, *, exact: bool) -> None:
        """Aim the fingertips; away from a cube nobody aims exactly, and the hand works all axes at once."""
        offset = fingertip_offset_mm(yaw_deg)
        x, y, z = (tip - part for tip, part in zip(tip_mm, offset, strict=True))
        if not exact:
            x, y = x + float(self._rng.normal(0.0, 22.0)), y + float(self._rng.normal(0.0, 22.0))
            yaw_deg += float(self._rng.normal(0.0, 7.0))
        self._add((x, y, z), yaw_deg, trigger)

    def _plan_wander(self, pose: Action) -> None:
        """Sweeps across the table at about one height, the tool turning as it goes."""
        z = float(self._rng.uniform(*_COMFORT_MM[2]))
        trigger = float(self._rng.choice([0.0, self._rng.uniform(0.1, 1.0), 1.0]))
        for _ in range(int(self._rng.integers(1, 4))):
            x, y = (float(self._rng.uniform(low, high)) for low, high in _COMFORT_MM[:2])
            if self._rng.random() < 0.04:
                x = 335.0  # beyond the box: the wall stops the target for as long as the hand's patience lasts
            near = z if self._rng.random() < 0.6 else z + float(self._rng.uniform(-15.0, 15.0))
            yaw = pose[3] if self._rng.random() < 0.25 else float(self._rng.uniform(*_COMFORT_YAW_DEG))
            self._add((x, y, near), yaw, trigger)

    def _add(self, flange: Xyz, yaw_deg: float, trigger: float) -> None:
        rng = self._rng
        pauses = (rng.permutation(4) * rng.uniform(0.02, 0.2)).tolist()
        speeds = rng.uniform(_GENTLE, _BRISK).tolist()
        self._goals.append(
            _Goal(
                pose=(*flange, yaw_deg),
                trigger=trigger,
                speeds=(speeds[0], speeds[1], speeds[2], speeds[3]),
                pauses_s=(pauses[0], pauses[1], pauses[2], pauses[3]),
                dwell_s=float(rng.exponential(0.06)),
                patience_s=float(rng.uniform(2.5, 4.0)),
            )
        )

    def _reachable_yaw(self, tip_x_mm: float, tip_y_mm: float) -> float | None:
        """A turn of the tool that keeps the flange in the comfortable region with its tip over the point."""
        for _ in range(20):
            yaw = float(self._rng.uniform(*_COMFORT_YAW_DEG))
            offset = fingertip_offset_mm(yaw)
            flange = (tip_x_mm - offset[0], tip_y_mm - offset[1])
            if all(low < value < high for value, (low, high) in zip(flange, _COMFORT_MM[:2], strict=True)):
                return yaw
        return None

    def _place(self, cubes: list[Cube], held: int) -> Xyz:
        others = [cube for index, cube in enumerate(cubes) if index != held]
        if others and self._rng.random() < 0.3:
            below = others[int(self._rng.integers(len(others)))]
            return below.x_mm, below.y_mm, below.z_mm + CUBE_MM
        for _ in range(50):
            x, y = float(self._rng.uniform(450.0, 620.0)), float(self._rng.uniform(-70.0, 160.0))
            if all(math.hypot(cube.x_mm - x, cube.y_mm - y) > 70.0 for cube in others):
                break
        return x, y, TABLE_Z_MM + CUBE_MM / 2


def _covered(cubes: list[Cube], index: int) -> bool:
    cube = cubes[index]
    return any(
        other.z_mm > cube.z_mm + CUBE_MM / 2 and math.hypot(other.x_mm - cube.x_mm, other.y_mm - cube.y_mm) < CUBE_MM
        for other in cubes
    )
