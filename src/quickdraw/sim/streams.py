"""The five JSONL streams of a run, row by row, with every field of the collector's newest schema."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from quickdraw.sim.arm import FlangePath, Floats, joints_for
from quickdraw.sim.rollout import SEND_DELAY_S, Rollout
from quickdraw.sim.spec import RunSpec
from quickdraw.sim.world import GRIPPER_OPEN

STREAMS: Final = ("controller", "commanded", "xarm_command", "arm_state", "tick")
# The pad axis behind each action, and whether the collector inverts it.
_PAD_AXES: Final = (("ABS_Y", -1.0), ("ABS_X", -1.0), ("ABS_RY", -1.0), ("ABS_RX", -1.0), ("ABS_RZ", 1.0))
_POLL_S: Final = 0.05
_JOINT_NOISE_DEG: Final = 0.01
# The gripper was opened this long before A, when the session began.
_OPENED_BEFORE_A_S: Final = 14.4

type Row = dict[str, Any]


def write_streams(raw_dir: Path, spec: RunSpec, rollout: Rollout) -> dict[str, int]:
    """Write `<raw_dir>/<stream>.jsonl` for all five streams; return the rows of each."""
    writers = {
        "controller": _controller(spec, rollout),
        "commanded": _commanded(rollout),
        "xarm_command": _xarm_command(rollout),
        "arm_state": _arm_state(spec, rollout),
        "tick": _tick(rollout),
    }
    rows = {}
    for stream in STREAMS:
        lines = [json.dumps(row, separators=(",", ":")) + "\n" for row in writers[stream]]
        (raw_dir / f"{stream}.jsonl").write_text("".join(lines), encoding="utf-8")
        rows[stream] = len(lines)
    return rows


def _controller(spec: RunSpec, rollout: Rollout) -> Iterator[Row]:
    rng = np.random.default_rng([spec.seed, 5])
    age_s = rng.uniform(0.001, 0.03, size=(len(rollout.t_s), 5))
    for t, action, raw, ages in zip(
        rollout.t_s.tolist(), rollout.action.tolist(), rollout.raw.tolist(), age_s.tolist(), strict=True
    ):
        row: Row = {"t": t}
        row.update(zip(("move_x", "move_y", "height", "yaw", "gripper"), action, strict=True))
        row["connected"] = True
        if spec.simulated_marks:
            yield {**row, "raw": {}, "raw_age_s": {}, "input_age_s": math.nan}
            continue
        row["raw"] = {axis: sign * value for (axis, sign), value in zip(_PAD_AXES, raw, strict=True)}
        rounded = {axis: round(age, 6) for (axis, _), age in zip(_PAD_AXES, ages, strict=True)}
        yield {**row, "raw_age_s": rounded, "input_age_s": min(rounded.values())}


def _commanded(rollout: Rollout) -> Iterator[Row]:
    columns = (
        rollout.t_s.tolist(),
        rollout.target.world_xyz_mm.tolist(),
        rollout.target.base_rpy_deg().tolist(),
        rollout.target.yaw_deg.tolist(),
        rollout.action[:, 4].tolist(),
        rollout.clamped.tolist(),
        rollout.reanchored.tolist(),
    )
    for t, xyz, rpy, yaw, closure, clamped, reanchored in zip(*columns, strict=True):
        yield {
            "t": t,
            "target_world_xyz_mm": xyz,
            "target_rpy_deg": rpy,
            "target_yaw_world_deg": yaw,
            "gripper_closure": closure,
            "clamped_by_workspace": clamped,
            "reanchored": reanchored,
        }


def _xarm_command(rollout: Rollout) -> Iterator[Row]:
    command = FlangePath(rollout.commanded_mm, rollout.target.yaw_deg)
    poses = np.concatenate([command.base_xyz_mm(), command.base_rpy_deg()], axis=1).tolist()
    sent_t, sent_counts = _sent(rollout)
    for row, (t, pose, queued) in enumerate(
        zip(rollout.t_s.tolist(), poses, rollout.queued_counts.tolist(), strict=True)
    ):
        yield {
            "t": t,
            "set_servo_cartesian_pose_base": pose,
            "servo_code": 0,
            "set_gripper_position_queued": None if math.isnan(queued) else queued,
            "gripper_sent_position": float(sent_counts[row]),
            "gripper_sent_t": float(sent_t[row]),
            "gripper_sent_age_s": t - float(sent_t[row]),
            "gripper_sent_code": 0,
        }


def _sent(rollout: Rollout) -> tuple[Floats, Floats]:
    """When (N,) [s] and what (N,) [counts] the gripper worker last sent, as known at each tick."""
    queued = np.flatnonzero(~np.isnan(rollout.queued_counts))
    times = np.concatenate([[rollout.t_s[0] - _OPENED_BEFORE_A_S], rollout.t_s[queued] + SEND_DELAY_S])
    counts = np.concatenate([[GRIPPER_OPEN], rollout.queued_counts[queued]])
    last = np.searchsorted(times, rollout.t_s, side="right") - 1
    return times[last], counts[last]


def _arm_state(spec: RunSpec, rollout: Rollout) -> Iterator[Row]:
    ticks = np.flatnonzero(rollout.is_state_tick)
    t_s = rollout.t_s[ticks]
    plan = FlangePath(rollout.plan.world_xyz_mm[ticks], rollout.plan.yaw_deg[ticks])
    poses = np.concatenate([plan.base_xyz_mm(), plan.base_rpy_deg()], axis=1)
    noise = np.random.default_rng([spec.seed, 6]).normal(0.0, _JOINT_NOISE_DEG, size=(len(ticks), 7))
    measured = joints_for(rollout.real_path(t_s)) + noise
    poll_s, counts = _gripper_polls(spec, rollout, t_s)
    columns = (t_s, joints_for(plan), measured, poses, plan.world_xyz_mm, counts, poll_s)
    for t, joints, real, pose, xyz, count, polled in zip(*(column.tolist() for column in columns), strict=True):
        yield {
            "t": t,
            "joints_deg": joints,
            "joints_real_deg": [] if spec.simulated_marks else real,
            "report_alive": True,
            "pose_base_mm_deg": pose,
            "pose_world_xyz_mm": xyz,
            "gripper_pos": count,
            "gripper_pos_t": math.nan if spec.simulated_marks else polled,
            "gripper_pos_age_s": math.nan if spec.simulated_marks else t - polled,
            "state": 1,
            "mode": 1,
            "error_code": 0,
            "warn_code": 0,
        }


def _gripper_polls(spec: RunSpec, rollout: Rollout, t_s: Floats) -> tuple[Floats, Floats]:
    """The newest poll before each of `t_s` (M,): its time (M,) [s] and whole counts (M,). Polls come at about 20 Hz."""
    rng = np.random.default_rng([spec.seed, 7])
    count = int((t_s[-1] - t_s[0]) / _POLL_S) + 4
    poll_s = t_s[0] - 0.07 + np.arange(count) * _POLL_S + rng.uniform(0.0, 0.02, size=count)
    newest = np.searchsorted(poll_s, t_s, side="right") - 1
    return poll_s[newest], np.round(rollout.gripper_at(poll_s))[newest]


def _tick(rollout: Rollout) -> Iterator[Row]:
    for t, dt, number in zip(rollout.t_s.tolist(), rollout.dt_s.tolist(), rollout.number.tolist(), strict=True):
        yield {"t": t, "dt": dt, "n": int(number), "servo_code": 0, "pad_connected": True}
