"""One short run on disk, read with json and ffmpeg only."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from quickdraw.sim.arm import R_WORLD_FROM_BASE, flange_pose_base, rpy_deg
from quickdraw.sim.barcode import read_frame_number
from quickdraw.sim.cameras import run_end_s
from quickdraw.sim.control import shape_stick
from quickdraw.sim.rollout import roll_out
from quickdraw.sim.run import WrittenRun, write_run
from quickdraw.sim.spec import DEFAULT_CAMERAS, RunSpec

STREAMS = ("controller", "commanded", "xarm_command", "arm_state", "tick")
type Decode = Callable[..., list[NDArray[np.uint8]]]
SPEC = RunSpec(seconds=1.2, seed=3, paint_numbers=True, uptime_s=2304.512873)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> WrittenRun:
    dropped = replace(DEFAULT_CAMERAS[1], dropped=(7, 20))
    spec = replace(SPEC, cameras=(DEFAULT_CAMERAS[0], dropped, *DEFAULT_CAMERAS[2:]))
    return write_run(tmp_path_factory.mktemp("sim") / "recording_2026_09_10_05_32_02", spec)


def rows(run_dir: Path, stream: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run_dir / "raw" / f"{stream}.jsonl").read_text().splitlines()]


def sidecar(run_dir: Path, label: str) -> dict[str, Any]:
    text = (run_dir / "video" / f"{label}_frame_times.json").read_text()
    return dict(json.loads(text))


def test_the_four_fast_streams_share_every_stamp_to_the_bit(run: WrittenRun) -> None:
    times = {stream: [row["t"] for row in rows(run.path, stream)] for stream in STREAMS}
    assert times["controller"] == times["commanded"] == times["xarm_command"] == times["tick"]
    even = [row["t"] for row in rows(run.path, "tick") if row["n"] % 2 == 0]
    assert times["arm_state"] == even
    assert times["controller"][0] == 2304.512873


def test_run_json_counts_the_rows_of_every_stream(run: WrittenRun) -> None:
    meta = json.loads((run.path / "run.json").read_text())
    assert meta["stream_rows"] == {stream: len(rows(run.path, stream)) for stream in STREAMS}


def test_rows_have_the_fields_of_the_newest_schema(run: WrittenRun) -> None:
    fields = {stream: list(rows(run.path, stream)[5]) for stream in STREAMS}
    axes = ["move_x", "move_y", "height", "yaw", "gripper"]
    assert fields["controller"] == ["t", *axes, "connected", "raw", "raw_age_s", "input_age_s"]
    assert fields["tick"] == ["t", "dt", "n", "servo_code", "pad_connected"]
    assert len(fields["commanded"]) == 7
    assert len(fields["xarm_command"]) == 8
    assert fields["arm_state"][-7:] == [
        "gripper_pos",
        "gripper_pos_t",
        "gripper_pos_age_s",
        "state",
        "mode",
        "error_code",
        "warn_code",
    ]


def test_every_camera_has_one_decoded_picture_per_stamp(run: WrittenRun, pictures: Decode) -> None:
    for camera in run.spec.cameras:
        meta = sidecar(run.path, camera.label)
        decoded = len(pictures(run.path / "video" / f"{camera.label}.mp4"))
        assert decoded == len(meta["t"]) == meta["frames"] == meta["frames_in_mp4"]


def test_pictures_are_numbered_in_file_order_whatever_was_dropped(run: WrittenRun, pictures: Decode) -> None:
    for camera in run.spec.cameras:
        numbers = [read_frame_number(rgb) for rgb in pictures(run.path / "video" / f"{camera.label}.mp4")]
        assert numbers == list(range(len(run.stamps[camera.label])))


def test_a_film_shows_the_scene_at_its_stamps(run: WrittenRun, pictures: Decode) -> None:
    for camera in run.spec.cameras:
        decoded = pictures(run.path / "video" / f"{camera.label}.mp4")
        for k in (0, len(decoded) - 1):
            error = np.abs(decoded[k].astype(float) - run.renderer(camera.label).picture(k)).mean()
            assert error < 3.0, camera.label


def test_actions_are_the_shaped_raw_axes(run: WrittenRun) -> None:
    for row in rows(run.path, "controller"):
        assert row["move_x"] == pytest.approx(shape_stick(-row["raw"]["ABS_Y"]))
        assert row["yaw"] == pytest.approx(shape_stick(-row["raw"]["ABS_RX"]))


def test_planned_joints_reach_the_planned_pose_and_world_is_turned_base(run: WrittenRun) -> None:
    states = rows(run.path, "arm_state")
    pose = np.array([row["pose_base_mm_deg"] for row in states])
    world = np.array([row["pose_world_xyz_mm"] for row in states])
    reached = flange_pose_base(np.array([row["joints_deg"] for row in states]))
    np.testing.assert_allclose(world, pose[:, :3] @ R_WORLD_FROM_BASE.T, atol=1e-9)
    np.testing.assert_allclose(reached[:, :3, 3], pose[:, :3], atol=0.01)
    turn = (rpy_deg(reached[:, :3, :3]) - pose[:, 3:] + 180.0) % 360.0 - 180.0
    np.testing.assert_allclose(turn, 0.0, atol=0.01)


def test_all_thirty_two_checks_are_there_in_order_and_green(run: WrittenRun) -> None:
    meta = json.loads((run.path / "run.json").read_text())
    names = [check["check"] for check in meta["validation"]["checks"]]
    assert len(names) == meta["checks_total"] == meta["checks_pass"] == 32
    assert names[:3] == ["clock origin", "state freshness", "held fraction [error_code]"]
    assert names[13:21] == [
        "joints: planned vs measured",
        "action staleness (moving)",
        "arm report stream alive",
        "timestamp fields share one clock",
        "controller rate",
        "arm_state rate",
        "loop timing",
        "commanded->measured lag",
    ]
    assert names[21] == "frames reconcile [gripper_right_bottom]"
    assert names[-3:] == ["all cameras present", "camera vs arm-state alignment", "workspace clamping"]
    assert {check["level"] for check in meta["validation"]["checks"]} == {"pass"}
    assert meta["provenance"]["matrix_hash"] == "3ad430d28d0e"


def test_a_run_of_two_minutes_looks_like_a_person_at_the_pad() -> None:
    spec = RunSpec(seconds=120.0, seed=2)
    rollout = roll_out(spec, end_s=run_end_s(spec))
    at_rest = (rollout.action[:, :4] == 0.0).mean(axis=0)
    assert np.all((at_rest > 0.25) & (at_rest < 0.65))
    assert rollout.clamped.mean() < 0.2
    assert np.ptp(rollout.cubes[:, :, 2], axis=0).max() > 40.0  # a cube was lifted
    assert rollout.gripper_counts.min() < 600.0 < rollout.gripper_counts.max()


def test_measured_joints_trail_the_plan_by_the_servo_lag() -> None:
    spec = RunSpec(seconds=10.0, seed=2, servo_lag_s=0.1)
    rollout = roll_out(spec, end_s=run_end_s(spec))
    at_s = rollout.t_s[200:]
    then = np.interp(at_s - 0.1, rollout.t_s, rollout.plan.world_xyz_mm[:, 0])
    np.testing.assert_allclose(rollout.real_path(at_s).world_xyz_mm[:, 0], then)


def test_a_repeated_film_decodes_to_exactly_one_picture_per_stamp(tmp_path: Path, pictures: Decode) -> None:
    spec = RunSpec(seconds=6.0, seed=1, cameras=DEFAULT_CAMERAS[:1], loop_seconds=0.5)
    written = write_run(tmp_path / "run", spec)
    shown = pictures(tmp_path / "run" / "video" / "scene_left.mp4")
    assert len(shown) == len(written.stamps["scene_left"])
    assert np.abs(shown[0].astype(float) - shown[15 * 7]).mean() < 1.0


def test_a_run_with_the_marks_of_a_simulation_says_so(tmp_path: Path) -> None:
    spec = RunSpec(seconds=0.5, cameras=DEFAULT_CAMERAS[:1], simulated_marks=True)
    write_run(tmp_path / "run", spec)
    meta = sidecar(tmp_path / "run", "scene_left")
    state = rows(tmp_path / "run", "arm_state")[3]
    assert meta["device"] == "simulated"
    assert "timestamp_source" not in meta
    assert state["joints_real_deg"] == []
    assert math.isnan(state["gripper_pos_t"])
    assert rows(tmp_path / "run", "controller")[3]["raw"] == {}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seconds": 0.0}, "seconds must be positive"),
        ({"stamp_quantum_s": -0.004}, "must not be negative"),
        ({"paint_numbers": True, "loop_seconds": 2.0}, "exclude each other"),
        ({"width_px": 641}, "even picture sizes"),
    ],
)
def test_a_run_that_cannot_be_told_truthfully_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RunSpec(**change)
