"""One run's truth, tick by tick: operator, control, arm and table advanced together over the loop's tick times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from quickdraw.sim import clock
from quickdraw.sim.arm import HOME_WORLD_XYZ_MM, FlangePath, Floats
from quickdraw.sim.control import ServoTarget, shape_stick, shape_trigger
from quickdraw.sim.spec import RunSpec
from quickdraw.sim.teleoperator import Operator
from quickdraw.sim.world import GRIPPER_OPEN, Cube, World, fingertip_offset_mm, placed_cubes, scattered_cubes

MIN_COMMAND_COUNTS: Final = 15.0
# From queueing a gripper position to the worker having sent it.
SEND_DELAY_S: Final = 0.012
_GRIPPER_DELAY_S: Final = 0.06


@dataclass(frozen=True, slots=True)
class Rollout:
    """Everything that happened, at the N ticks of the loop. Times in session seconds, lengths in world mm.

    `raw` (N, 5): sticks for x, y, height, yaw in [-1, 1] and the trigger in [0, 1]. `action` (N, 5): the same, shaped.
    `target`: after clamp and re-anchor; `commanded_mm` (N, 3): the literal command, before a re-anchor.
    `plan`: the controller's pose; the real arm is there `servo_lag_s` later. `queued_counts` (N,): gripper command
    queued at the tick, NaN for none. `cubes` (N, C, 4): centre x, y, z [mm] and turn [deg].
    """

    t_s: Floats
    dt_s: Floats
    number: Floats
    is_state_tick: NDArray[np.bool_]
    raw: Floats
    action: Floats
    target: FlangePath
    commanded_mm: Floats
    plan: FlangePath
    clamped: NDArray[np.bool_]
    reanchored: NDArray[np.bool_]
    queued_counts: Floats
    gripper_counts: Floats
    cubes: Floats
    servo_lag_s: float

    def real_path(self, at_s: Floats) -> FlangePath:
        """Where the real flange is at the times `at_s` (K,): the plan, one servo lag later."""
        then = at_s - self.servo_lag_s
        xyz = [np.interp(then, self.t_s, self.plan.world_xyz_mm[:, axis]) for axis in range(3)]
        return FlangePath(np.stack(xyz, axis=1), np.interp(then, self.t_s, self.plan.yaw_deg))

    def gripper_at(self, at_s: Floats) -> Floats:
        """Gripper opening (K,) [counts, 850 = open] at the times `at_s`."""
        return np.interp(at_s, self.t_s, self.gripper_counts)

    def cubes_at(self, at_s: Floats) -> Floats:
        """Cube centres and turns (K, C, 4) [mm, deg] at the times `at_s`."""
        count = self.cubes.shape[1]
        flat = self.cubes.reshape(len(self.t_s), -1)
        columns = [np.interp(at_s, self.t_s, flat[:, column]) for column in range(count * 4)]
        return np.stack(columns, axis=1).reshape(len(at_s), count, 4)


class _Loop:
    """The mutable side of a rollout: one call a tick, one record a tick."""

    def __init__(self, spec: RunSpec) -> None:
        x, y, z = HOME_WORLD_XYZ_MM.tolist()
        self.servo = ServoTarget((x, y, z))
        self.operator = Operator(np.random.default_rng([spec.seed, 3]))
        self.world = World(_first_cubes(spec))
        self.lag_s = spec.servo_lag_s
        self.plans: list[tuple[float, float, float, float, float]] = []
        self.queued: list[tuple[float, float]] = []
        self.last_queued_counts = GRIPPER_OPEN

    def tick(self, now_s: float, dt_s: float, elapsed_s: float, is_state_tick: bool) -> dict[str, object]:
        servo = self.servo
        sticks = self.operator.sticks(
            now_s=now_s, dt_s=dt_s, flange_mm=servo.target_mm, yaw_deg=servo.yaw_deg, world=self.world
        )
        move = (shape_stick(sticks[0]), shape_stick(sticks[1]), shape_stick(sticks[2]), shape_stick(sticks[3]))
        closure = shape_trigger(self.operator.trigger)
        commanded = servo.integrate(move, dt_s)
        servo.follow(elapsed_s)
        servo.reanchored = False
        if is_state_tick:
            servo.reanchor(now_s)
        self.plans.append((now_s, *servo.plan_mm, servo.yaw_deg))
        queued = self._queue(now_s, closure)
        x, y, z, yaw = self._real_pose(now_s)
        offset = fingertip_offset_mm(yaw)
        tip = (x + offset[0], y + offset[1], z + offset[2])
        self.world.step(tip_mm=tip, yaw_deg=yaw, goal_counts=self._gripper_goal(now_s), elapsed_s=elapsed_s)
        return {
            "raw": (*sticks, self.operator.trigger),
            "action": (*move, closure),
            "target": (*servo.target_mm, servo.yaw_deg),
            "commanded_mm": commanded,
            "plan": (*servo.plan_mm, servo.yaw_deg),
            "clamped": servo.clamped,
            "reanchored": servo.reanchored,
            "queued_counts": queued,
            "gripper_counts": self.world.gripper_counts,
            "cubes": [(cube.x_mm, cube.y_mm, cube.z_mm, cube.yaw_deg) for cube in self.world.cubes],
        }

    def _queue(self, now_s: float, closure: float) -> float:
        counts = GRIPPER_OPEN + (0.0 - GRIPPER_OPEN) * closure
        if abs(counts - self.last_queued_counts) < MIN_COMMAND_COUNTS:
            return float("nan")
        self.last_queued_counts = counts
        self.queued.append((now_s, counts))
        return counts

    def _gripper_goal(self, now_s: float) -> float:
        for queued_s, counts in reversed(self.queued):
            if queued_s <= now_s - _GRIPPER_DELAY_S:
                return counts
        return GRIPPER_OPEN

    def _real_pose(self, now_s: float) -> tuple[float, float, float, float]:
        then_s = now_s - self.lag_s
        later = self.plans[-1]
        for plan in reversed(self.plans):
            if plan[0] <= then_s:
                part = (then_s - plan[0]) / (later[0] - plan[0]) if later is not plan else 0.0
                x, y, z, yaw = (a + part * (b - a) for a, b in zip(plan[1:], later[1:], strict=True))
                return x, y, z, yaw
            later = plan
        return later[1:]


def _first_cubes(spec: RunSpec) -> list[Cube]:
    if spec.cube_places is not None:
        return placed_cubes(spec.cube_places)
    return scattered_cubes(np.random.default_rng([spec.seed, 4]), len(spec.cube_colours))


def roll_out(spec: RunSpec, *, end_s: float) -> Rollout:
    """Play one run from A (`spec.uptime_s`) to `end_s`. The same spec plays the same run."""
    t_s = clock.tick_times_s(spec, end_s=end_s)
    dt_s = clock.dt_s(t_s)
    number = clock.tick_numbers(spec, len(t_s))
    is_state_tick = number % 2 == 0
    loop = _Loop(spec)
    elapsed_s = np.diff(t_s, prepend=t_s[0] - clock.PERIOD_S)
    records = [
        loop.tick(*moment)
        for moment in zip(t_s.tolist(), dt_s.tolist(), elapsed_s.tolist(), is_state_tick.tolist(), strict=True)
    ]
    columns = {name: np.array([record[name] for record in records]) for name in records[0]}
    return Rollout(
        t_s=t_s,
        dt_s=dt_s,
        number=number,
        is_state_tick=is_state_tick,
        raw=columns["raw"],
        action=columns["action"],
        target=FlangePath(columns["target"][:, :3], columns["target"][:, 3]),
        commanded_mm=columns["commanded_mm"],
        plan=FlangePath(columns["plan"][:, :3], columns["plan"][:, 3]),
        clamped=columns["clamped"],
        reanchored=columns["reanchored"],
        queued_counts=columns["queued_counts"],
        gripper_counts=columns["gripper_counts"],
        cubes=columns["cubes"],
        servo_lag_s=spec.servo_lag_s,
    )
