"""One tiny run to an episode: the window, which rows are taken, what each of the 17 + 5 values is, what is refused."""

from __future__ import annotations

import json
from fractions import Fraction
from math import cos, radians, sin
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from quickdraw.core.episode import Episode, EpisodeKey, EpisodePlan, Rejected
from quickdraw.data.block_stack import BlockStack
from quickdraw.errors import Fault, Refused
from quickdraw.formats.campaign.acceptance import STRICT, Acceptance
from quickdraw.formats.campaign.layout import CAMERAS

type TinyRun = Any
Matrix = npt.NDArray[np.float64]
STATE_NAMES = ["ee_x_mm", "ee_y_mm", "ee_z_mm", *(f"ee_rot6_{i}" for i in range(6)), "gripper",
               *(f"joint{i}_rad" for i in range(1, 8))]  # fmt: skip


def source(
    tiny: TinyRun, rate_hz: int = 30, cameras: tuple[str, ...] = CAMERAS, acceptance: Acceptance = STRICT
) -> BlockStack:
    tiny.write()
    return BlockStack(tiny.tree, rate_hz, cameras, acceptance)


def key_of(tiny: TinyRun) -> EpisodeKey:
    return EpisodeKey(tiny.campaign, tiny.name)


def episode(tiny: TinyRun, **options: Any) -> Episode:
    return source(tiny, **options).read(key_of(tiny))


def plan(tiny: TinyRun) -> EpisodePlan:
    planned = source(tiny).plan(key_of(tiny))
    assert isinstance(planned, EpisodePlan), planned
    return planned


def faults(tiny: TinyRun) -> tuple[Fault, ...]:
    rejected = source(tiny).plan(key_of(tiny))
    assert isinstance(rejected, Rejected), rejected
    assert rejected.key == key_of(tiny)
    with pytest.raises(Refused) as refused:
        source(tiny).read(key_of(tiny))
    assert refused.value.faults == rejected.faults
    return rejected.faults


def rows_by_hand(tiny: TinyRun, rate_hz: int) -> tuple[list[int], list[int], dict[str, list[int]]]:
    """Controller row, arm row and camera pictures of every tick, from the written files by exact fractions."""

    def exact(stamps: list[float]) -> list[Fraction]:
        return [Fraction(round(t * 1e9), 10**9) for t in stamps]

    def lines(name: str) -> list[Fraction]:
        text = (tiny.folder / f"raw/{name}.jsonl").read_text()
        return exact([json.loads(line)["t"] for line in text.splitlines()])

    def camera(name: str) -> list[Fraction]:
        return exact(json.loads((tiny.folder / f"video/{name}_frame_times.json").read_text())["t"])

    streams = {"controller": lines("controller"), "arm": lines("arm_state"), **{name: camera(name) for name in CAMERAS}}
    t_lo, t_hi = max(t[0] for t in streams.values()), min(t[-1] for t in streams.values())
    ticks = []
    while Fraction(len(ticks), rate_hz) < t_hi - t_lo:
        ticks.append(t_lo + Fraction(len(ticks), rate_hz))
    index = {
        name: [min(range(len(t)), key=lambda i, t=t, tick=tick: (abs(t[i] - tick), i)) for tick in ticks]
        for name, t in streams.items()
    }
    return index.pop("controller"), index.pop("arm"), index


@pytest.mark.parametrize("rate_hz", [30, 7, 100])
def test_rows_and_pictures_are_those_nearest_to_each_tick_of_the_common_window(rate_hz: int, tiny: TinyRun) -> None:
    found = episode(tiny, rate_hz=rate_hz)
    controller, arm, pictures = rows_by_hand(tiny, rate_hz)
    assert found.plan.frames == len(controller) > 10
    action, state = found.arrays["action"], found.arrays["observation.state"]
    assert (action.dtype, state.dtype) == (np.float32, np.float32)
    axes = [[tiny.controller[k][axis] for axis in ("move_x", "move_y", "height", "yaw", "gripper")] for k in controller]
    np.testing.assert_array_equal(action, np.array(axes, np.float32))
    np.testing.assert_array_equal(state[:, 0], np.array([100.0 + k for k in arm], np.float32))
    assert {camera: p.frame_index.tolist() for camera, p in found.frame_plan.items()} == pictures
    for camera, shown in found.frame_plan.items():
        assert (shown.pictures, shown.path) == (75, tiny.folder / f"video/{camera}.mp4")


def test_all_seventeen_values_of_a_row_come_from_one_arm_row(tiny: TinyRun) -> None:
    """Every field of arm row k spells k; wherever a row is dropped, all of it is."""
    tiny.arm[60]["joints_real_deg"] = []
    tiny.arm[90]["gripper_pos"] = float("nan")
    state = episode(tiny).arrays["observation.state"].astype(np.float64)
    k = np.round(state[:, 0] - 100)
    assert not {60.0, 90.0} & set(k)
    assert len(set(k)) > 60
    np.testing.assert_allclose(state[:, 1:3], np.stack([200 + k, 300 + k], axis=1))
    np.testing.assert_allclose(state[:, 9], 1 - k / 850, atol=1e-6)
    np.testing.assert_allclose(state[:, 10:17], np.deg2rad(10 * k[:, None] + np.arange(7)), atol=1e-5)
    rotations = np.stack([expected_six(179.9, 0.15, -90.0 + row) for row in k])
    np.testing.assert_allclose(state[:, 3:9], rotations, atol=1e-6)


def expected_six(roll_deg: float, pitch_deg: float, yaw_deg: float) -> Matrix:
    """First two columns of mount @ Rz @ Ry @ Rx."""
    r, p, y = radians(roll_deg), radians(pitch_deg), radians(yaw_deg)
    rx = np.array([[1, 0, 0], [0, cos(r), -sin(r)], [0, sin(r), cos(r)]])
    ry = np.array([[cos(p), 0, sin(p)], [0, 1, 0], [-sin(p), 0, cos(p)]])
    rz = np.array([[cos(y), -sin(y), 0], [sin(y), cos(y), 0], [0, 0, 1]])
    h = np.sqrt(0.5)
    world = np.array([[1, 0, 0], [0, h, -h], [0, h, h]]) @ rz @ ry @ rx
    return np.concatenate([world[:, 0], world[:, 1]])


def test_the_names_of_the_seventeen_and_the_five_are_the_specifications(tiny: TinyRun) -> None:
    state, action = episode(tiny).features
    assert (state.name, list(state.names), state.width) == ("observation.state", STATE_NAMES, 17)
    assert (action.name, action.names) == ("action", ("move_x", "move_y", "height", "yaw", "gripper"))
    assert state.identity_dims == (3, 4, 5, 6, 7, 8)
    assert action.identity_dims == ()


def test_the_rows_of_an_episode_cannot_be_written_to(tiny: TinyRun) -> None:
    found = episode(tiny)
    for array in (*found.arrays.values(), *(shown.frame_index for shown in found.frame_plan.values())):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@pytest.mark.parametrize("cameras", [("scene_left",), ("gripper_right_top", "scene_right"), CAMERAS[::-1]])
def test_rows_and_pictures_do_not_depend_on_the_cameras_shown(cameras: tuple[str, ...], tiny: TinyRun) -> None:
    tiny.times["gripper_right_bottom"]["t"] = [t + 0.2 for t in tiny.times["gripper_right_bottom"]["t"]]
    every, some = episode(tiny), episode(tiny, cameras=cameras)
    assert tuple(some.frame_plan) == cameras
    for name, rows in every.arrays.items():
        np.testing.assert_array_equal(some.arrays[name], rows)
    for camera, shown in some.frame_plan.items():
        np.testing.assert_array_equal(shown.frame_index, every.frame_plan[camera].frame_index)
    assert some.plan.displacement == every.plan.displacement
    assert (some.plan.row_files, some.plan.provenance) == (every.plan.row_files, every.plan.provenance)


def test_the_plan_says_window_displacement_sources_and_provenance(tiny: TinyRun) -> None:
    planned = plan(tiny)
    assert planned.task == "campaign3-play"
    assert planned.grid.t0_s == tiny.times["gripper_right_top"]["t"][0]
    assert planned.t_hi_s == pytest.approx(min(times["t"][-1] for times in tiny.times.values()))
    assert list(planned.displacement) == ["controller", "arm_state", *CAMERAS]
    assert planned.displacement["controller"].bound_s == pytest.approx(0.005)
    assert planned.displacement["arm_state"].max_s <= 0.01 + 1e-6
    assert planned.row_files[:3] == ("run.json", "raw/controller.jsonl", "raw/arm_state.jsonl")
    assert planned.provenance["timestamp_source"] == dict.fromkeys(CAMERAS, "v4l2_buffer")
    assert json.loads(json.dumps(planned.provenance)) == planned.provenance


def test_what_was_mended_on_the_way_in_is_in_the_provenance(tiny: TinyRun) -> None:
    tiny.arm[60]["joints_real_deg"] = []
    assert plan(tiny).provenance["mended"] == {"arm_state rows without a needed field": 1}


def test_a_missing_mount_matrix_is_refused_with_the_one_that_is_assumed(tiny: TinyRun) -> None:
    del tiny.meta["provenance"]["R_WORLD_FROM_BASE"]
    (fault,) = faults(tiny)
    assert (fault.field, fault.found) == ("provenance.R_WORLD_FROM_BASE", "missing, or not 3 x 3")
    assert fault.path == str(tiny.folder / "run.json")
    assert fault.expected.startswith("[[1.0, 0.0, 0.0], [0.0, 0.70710678")
    assert fault.expected.endswith("within 1e-09")


@pytest.mark.parametrize("off", [1e-6, -2e-9])
def test_a_mount_that_differs_is_refused_with_both_matrices(off: float, tiny: TinyRun) -> None:
    matrix = [[float(x) for x in row] for row in tiny.meta["provenance"]["R_WORLD_FROM_BASE"]]
    matrix[1][2] += off
    tiny.meta["provenance"]["R_WORLD_FROM_BASE"] = matrix
    (fault,) = faults(tiny)
    assert fault.found == str(matrix)
    assert "0.7071067811865476" in fault.expected


@pytest.mark.parametrize("matrix", [[], [[1, 0], [0, 1]], [[1, 0, 0]] * 4])
def test_a_mount_of_another_shape_is_refused(matrix: list[list[float]], tiny: TinyRun) -> None:
    tiny.meta["provenance"]["R_WORLD_FROM_BASE"] = matrix
    (fault,) = faults(tiny)
    assert fault.field == "provenance.R_WORLD_FROM_BASE"


def test_a_mount_within_a_billionth_is_accepted_and_changes_no_row(tiny: TinyRun) -> None:
    before = episode(tiny).arrays["observation.state"]
    matrix = [[float(x) + 1e-12 for x in row] for row in tiny.meta["provenance"]["R_WORLD_FROM_BASE"]]
    tiny.meta["provenance"]["R_WORLD_FROM_BASE"] = matrix
    np.testing.assert_array_equal(episode(tiny).arrays["observation.state"], before)


def gripper_of(tiny: TinyRun, counts: float) -> float:
    for row in tiny.arm:
        row["gripper_pos"] = counts
    values = episode(tiny).arrays["observation.state"][:, 9]
    assert (values == values[0]).all()
    return float(values[0])


@pytest.mark.parametrize(("counts", "opening"), [(850, 1.0), (0, 0.0), (425, 0.5), (900, 1.0), (-3.5, 0.0)])
def test_without_a_word_in_provenance_the_gripper_is_open_at_850_and_closed_at_0_clipped(
    counts: float, opening: float, tiny: TinyRun
) -> None:
    tiny.meta["provenance"]["config"] = {}
    assert gripper_of(tiny, counts) == opening


@pytest.mark.parametrize(
    ("opened", "closed", "counts", "opening"),
    [(800, 100, 450, 0.5), (800, 100, 100, 0.0), (800, 100, 850, 1.0), (0, 850, 850, 0.0), (0, 850, 212.5, 0.75)],
)
def test_the_runs_own_gripper_positions_are_taken_whichever_way_they_run(
    opened: float, closed: float, counts: float, opening: float, tiny: TinyRun
) -> None:
    tiny.meta["provenance"]["config"] = {"gripper": {"open_position": opened, "closed_position": closed}}
    assert gripper_of(tiny, counts) == opening


def test_a_gripper_that_is_open_where_it_is_closed_is_refused(tiny: TinyRun) -> None:
    tiny.meta["provenance"]["config"] = {"gripper": {"open_position": 850, "closed_position": 850}}
    (fault,) = faults(tiny)
    assert (fault.field, fault.found) == ("provenance.config.gripper", "open and closed both 850.0")


def test_streams_on_another_clock_are_refused_with_the_first_stamp_of_each(tiny: TinyRun) -> None:
    """The cameras' old origin: the A-press instead of the session's start, 137 s off."""
    for times in tiny.times.values():
        times["t"] = [t - 137.0 for t in times["t"]]
    (fault,) = faults(tiny)
    assert fault.field == "clock origin"
    assert fault.expected == "one clock: first stamps within 5.0 s"
    assert fault.found == (
        "first stamps 136.900 s apart (controller 137.400, arm_state 137.400, scene_left 0.500, scene_right 0.550, "
        "gripper_right_bottom 0.600, gripper_right_top 0.650)"
    )


def test_stamps_in_nanoseconds_are_refused_as_no_seconds(tiny: TinyRun) -> None:
    for times in tiny.times.values():
        times["t"] = [t * 1e9 for t in times["t"]]
    found = faults(tiny)
    assert [fault.field for fault in found] == ["t"] * len(CAMERAS)
    assert all(fault.expected == "seconds on the collector's clock" for fault in found)


def test_one_row_decades_away_changes_no_other_row(tiny: TinyRun) -> None:
    before = episode(tiny).arrays["action"]
    tiny.controller.append({**tiny.controller[-1], "t": 1_789_018_286.0, "move_x": 0.123})
    assert np.array_equal(episode(tiny, acceptance=Acceptance(min_coverage=0)).arrays["action"], before)


@pytest.mark.parametrize("factor", [1e3, 1e6])
def test_stamps_in_milliseconds_or_less_are_on_another_clock_and_refused(factor: float, tiny: TinyRun) -> None:
    for times in tiny.times.values():
        times["t"] = [t * factor for t in times["t"]]
    (fault,) = faults(tiny)
    assert fault.field == "clock origin"
    assert "arm_state 137.400, scene_left 137" in fault.found


def test_the_unix_clock_in_one_stream_alone_is_refused(tiny: TinyRun) -> None:
    for row in tiny.arm:
        row["t"] += 1_789_018_286.0
    (fault,) = faults(tiny)
    assert "arm_state 17890184" in fault.found


def test_a_gap_of_a_second_in_a_stream_repeats_its_rows_and_is_counted(tiny: TinyRun) -> None:
    tiny.arm = [row for k, row in enumerate(tiny.arm) if not 60 <= k < 110]
    found = episode(tiny, acceptance=Acceptance(max_gap_s=1.0))
    rows = np.round(found.arrays["observation.state"][:, 0] - 100)
    assert max(np.unique(rows, return_counts=True)[1]) > 12
    assert set(rows) <= {*range(60), *range(110, 150)}
    moved = found.plan.displacement["arm_state"]
    assert moved.gaps == 1
    assert 0.49 < moved.max_s < 0.52


@pytest.mark.parametrize(("pictures", "right"), [(61, True), (60, False)])
def test_an_overlap_of_less_than_two_seconds_is_refused(pictures: int, right: bool, tiny: TinyRun) -> None:
    for times in tiny.times.values():
        times["t"] = [138.0 + k / 30 for k in range(pictures)]
    planned = source(tiny).plan(key_of(tiny))
    assert isinstance(planned, EpisodePlan) is right


def test_unix_times_in_every_stream_are_one_clock_too(tiny: TinyRun) -> None:
    before = episode(tiny)
    for row in (*tiny.controller, *tiny.arm):
        row["t"] = round(row["t"] + 1_000_000, 6)
    for times in tiny.times.values():
        times["t"] = [round(t + 1_000_000, 6) for t in times["t"]]
    after = episode(tiny)
    for name, rows in before.arrays.items():
        np.testing.assert_array_equal(after.arrays[name], rows)


def test_faults_of_mount_and_gripper_are_reported_together(tiny: TinyRun) -> None:
    del tiny.meta["provenance"]["R_WORLD_FROM_BASE"]
    tiny.meta["provenance"]["config"] = {"gripper": {"open_position": 1, "closed_position": 1}}
    assert [fault.field for fault in faults(tiny)] == ["provenance.R_WORLD_FROM_BASE", "provenance.config.gripper"]


def test_reading_writes_nothing(tiny: TinyRun) -> None:
    tiny.write()
    before = {path: path.stat().st_mtime_ns for path in Path(tiny.tree).rglob("*")}
    BlockStack(tiny.tree, 30).read(key_of(tiny))
    assert {path: path.stat().st_mtime_ns for path in Path(tiny.tree).rglob("*")} == before
