"""Everything that a run is refused for before a picture is decoded, each in its exact words, and what is accepted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from quickdraw.core.episode import EpisodeKey, EpisodePlan, Rejected
from quickdraw.data.block_stack import BlockStack
from quickdraw.errors import Fault
from quickdraw.formats.campaign.acceptance import STRICT, Acceptance

type TinyRun = Any
type Change = Callable[[TinyRun], None]
type Told = tuple[str, int | None, str, str, str, str]  # file, line, field, found, expected, option

RUN_JSON, CONTROLLER, ARM_STATE = "run.json", "raw/controller.jsonl", "raw/arm_state.jsonl"
TIMES, FILM = "video/scene_left_frame_times.json", "video/scene_left.mp4"
MOUNT = (
    "[[1.0, 0.0, 0.0], [0.0, 0.7071067811865476, -0.7071067811865476], [0.0, 0.7071067811865476, 0.7071067811865476]]"
)


def planned(tiny: TinyRun, acceptance: Acceptance = STRICT) -> EpisodePlan | Rejected:
    tiny.write()
    return BlockStack(tiny.tree, 30, acceptance=acceptance).plan(EpisodeKey(tiny.campaign, tiny.name))


def accepted(tiny: TinyRun, acceptance: Acceptance = STRICT) -> EpisodePlan:
    plan = planned(tiny, acceptance)
    assert isinstance(plan, EpisodePlan), plan
    return plan


def faults(tiny: TinyRun, acceptance: Acceptance = STRICT) -> list[Fault]:
    rejected = planned(tiny, acceptance)
    assert isinstance(rejected, Rejected)
    return list(rejected.faults)


def meta(**values: Any) -> Change:
    return lambda tiny: tiny.meta.update(values)


def config(**values: Any) -> Change:
    return lambda tiny: tiny.meta["provenance"]["config"].update(values)


def times(**values: Any) -> Change:
    return lambda tiny: tiny.times["scene_left"].update(values)


def checks(*levels: tuple[str, str, str], **values: Any) -> Change:
    told = [{"check": check, "level": level, "detail": detail} for check, level, detail in levels]
    return meta(validation={"checks": told, **values})


def without(name: str) -> Change:
    return lambda tiny: tiny.meta.pop(name)


def rows(stream: str, start: int, end: int, **values: Any) -> Change:
    """Rows [start, end) of a stream say something else."""

    def change(tiny: TinyRun) -> None:
        for row in getattr(tiny, stream)[start:end]:
            row.update(values)

    return change


def gap(stream: str, start: int, end: int) -> Change:
    """Rows [start, end) of a stream are missing."""
    return lambda tiny: getattr(tiny, stream).__delitem__(slice(start, end))


def ends(seconds: float) -> Change:
    """Both streams go on for so long behind the cameras."""

    def change(tiny: TinyRun) -> None:
        for stream, rate in ((tiny.controller, 100), (tiny.arm, 50)):
            last = stream[-1]
            stream += [{**last, "t": last["t"] + k / rate} for k in range(1, int(seconds * rate))]

    return change


GREEN = "every check green"
NOT_GREEN = "+source.require_green=false"
HEALTHY = "throughout the window"
REFUSED: dict[str, tuple[Change, Told]] = {
    "no status": (without("status"), (RUN_JSON, None, "status", "missing", "'ready'", "")),
    "not ready": (
        meta(status="recording"), (RUN_JSON, None, "status", "'recording'", "'ready'", "")),
    "never finished": (
        meta(status="processing"), (RUN_JSON, None, "status", "'processing'", "'ready'", "")),
    "no validation": (
        without("validation"), (RUN_JSON, None, "validation", "missing (no checks)", GREEN, NOT_GREEN)),
    "checks of an older collector, not green": (
        checks(("a", "pass", "ok"), ("loop timing", "warn", "3 % late"), ("streams", "fail", "")),
        (RUN_JSON, None, "validation", "2 of 3 checks not green: loop timing (warn, 3 % late); streams (fail)", GREEN,
         NOT_GREEN)),
    "the early exit of a validation": (
        checks(("streams", "fail", "missing raw streams"), ok=False),
        (RUN_JSON, None, "validation", "1 of 1 checks not green: streams (fail, missing raw streams)", GREEN,
         NOT_GREEN)),
    "a verdict that is not green": (
        checks(("a", "pass", ""), all_green=False),
        (RUN_JSON, None, "validation", "all_green false", GREEN, NOT_GREEN)),
    "no mount": (
        lambda tiny: tiny.meta["provenance"].pop("R_WORLD_FROM_BASE"),
        (RUN_JSON, None, "provenance.R_WORLD_FROM_BASE", "missing, or not 3 x 3", f"{MOUNT} within 1e-09", "")),
    "another mount": (
        lambda tiny: tiny.meta["provenance"].update(R_WORLD_FROM_BASE=[[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
        (RUN_JSON, None, "provenance.R_WORLD_FROM_BASE", "[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]",
         f"{MOUNT} within 1e-09", "")),
    "a setting of the wrong type": (
        config(control={"expo": "steep"}),
        (RUN_JSON, None, "provenance.config.control.expo", "Expected `float`, got `str`",
         "the type the collector writes", "")),
    "a camera that died, by run.json": (
        meta(cameras=[{"label": "scene_left", "stopped_early": True}]),
        (RUN_JSON, None, "cameras[scene_left]", "stopped_early true", "a camera that ran to the end", "")),
    "a camera that failed, by run.json": (
        meta(cameras=[{"label": "scene_left", "error": "read failed"}]),
        (RUN_JSON, None, "cameras[scene_left]", "'read failed'", "a camera that ran to the end", "")),
    "a camera that died": (
        times(stopped_early=True, stopped_at_s=138.25),
        (TIMES, None, "stopped_early", "true at 138.250 s", "a camera that ran to the end", "")),
    "one picture lost": (
        times(frames_in_mp4=74), (TIMES, None, "frames_in_mp4", "74", "75, one per stamp", "")),
    "a film nobody could decode": (
        times(frames_in_mp4=-1), (TIMES, None, "frames_in_mp4", "-1 (undecodable)", "75, one per stamp", "")),
    "late stamps": (
        times(timestamp_source="post_read"),
        (TIMES, None, "timestamp_source", "'post_read'", "'v4l2_buffer' (others are about 21 ms late)",
         "+source.allow_post_read=true")),
    "a simulated camera": (
        times(device="simulated"),
        (TIMES, None, "device", "'simulated'", "a camera", "+source.allow_simulated=true")),
    "a hole in the arm's stream": (
        gap("arm", 60, 115),
        (ARM_STATE, None, "gap in arm_state", "no sample from 138.580 to 139.700 s (1.120 s)",
         "a sample within 0.5 s of every row", "+source.max_gap_s=...")),
    "a hole in the operator's": (
        gap("controller", 100, 205),
        (CONTROLLER, None, "gap in controller", "no sample from 138.390 to 139.450 s (1.060 s)",
         "a sample within 0.5 s of every row", "+source.max_gap_s=...")),
    "joints that were never read for long": (
        rows("arm", 60, 115, joints_real_deg=[]),
        (ARM_STATE, None, "gap in arm_state", "no sample from 138.580 to 139.700 s (1.120 s)",
         "a sample within 0.5 s of every row", "+source.max_gap_s=...")),
    "cameras that end long before the streams": (
        ends(4.0),
        ("video/scene_left_frame_times.json", None, "coverage",
         "2.317 s of 6.980 s: gripper_right_top begins 0.250 s late at 137.650 s, scene_left ends 4.413 s early at "
         "139.967 s", "at most 2.500 s lost", "+source.min_coverage=...")),
    "an arm that was silent": (
        rows("arm", 60, 71, report_alive=False),
        (ARM_STATE, None, "report_alive", "false from 138.600 to 138.800 s (11 rows)", f"true {HEALTHY}",
         "+source.allow_faults=[report_alive]")),
    "an arm that was silent and read nothing": (
        rows("arm", 60, 71, report_alive=False, joints_real_deg=[]),
        (ARM_STATE, None, "report_alive", "false from 138.600 to 138.800 s (11 rows)", f"true {HEALTHY}",
         "+source.allow_faults=[report_alive]")),
    "two errors": (
        lambda tiny: (rows("arm", 60, 62, error_code=31)(tiny), rows("arm", 80, 81, error_code=1)(tiny))[0],
        (ARM_STATE, None, "error_code", "31 from 138.600 to 138.620 s (2 rows), 1 from 139.000 to 139.000 s (1 row)",
         f"0 {HEALTHY}", "+source.allow_faults=[error_code]")),
    "an arm that did not stream": (
        rows("arm", 60, 150, mode=0),
        (ARM_STATE, None, "mode", "0 from 138.600 to 139.960 s (69 rows)", f"1 {HEALTHY}",
         "+source.allow_faults=[mode]")),
    "a pad that was gone": (
        rows("controller", 150, 152, connected=False),
        (CONTROLLER, None, "connected", "false from 138.900 to 138.910 s (2 rows)", f"true {HEALTHY}",
         "+source.allow_faults=[connected]")),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_run_is_refused_in_these_words_and_no_others(case: str, tiny: TinyRun) -> None:
    change, (file, line, field, found, expected, option) = REFUSED[case]
    change(tiny)
    path = str(tiny.folder / file)
    assert faults(tiny) == [Fault(f"{tiny.campaign}/{tiny.name}", field, found, expected, path, line, option)]


ALLOWED: dict[str, Acceptance] = {
    "no validation": Acceptance(require_green=False),
    "checks of an older collector, not green": Acceptance(require_green=False),
    "a verdict that is not green": Acceptance(require_green=False),
    "late stamps": Acceptance(allow_post_read=True),
    "a simulated camera": Acceptance(allow_simulated=True),
    "a hole in the arm's stream": Acceptance(max_gap_s=0.56),
    "a hole in the operator's": Acceptance(max_gap_s=0.53),
    "joints that were never read for long": Acceptance(max_gap_s=1.0),
    "cameras that end long before the streams": Acceptance(min_coverage=0.33),
    "an arm that was silent": Acceptance(allow_faults=("report_alive",)),
    "two errors": Acceptance(allow_faults=("mode", "error_code")),
    "an arm that did not stream": Acceptance(allow_faults=("mode",)),
    "a pad that was gone": Acceptance(allow_faults=("connected", "mode")),
}


@pytest.mark.parametrize("case", ALLOWED)
def test_the_option_a_fault_names_accepts_it_and_nothing_else(case: str, tiny: TinyRun) -> None:
    change, told = REFUSED[case]
    change(tiny)
    plan = accepted(tiny, ALLOWED[case])
    assert told[-1].startswith("+source.")
    accepted_faults = [warning for warning in plan.warnings if told[2] in warning]
    assert accepted_faults == ([f"{told[2]} {told[3]}"] if ALLOWED[case].allow_faults else [])


def test_every_option_that_relaxes_a_check_of_single_runs_is_tried_here() -> None:
    tried = {name for acceptance in ALLOWED.values() for name, value in _options(acceptance) if value != dict(
        _options(STRICT))[name]}  # fmt: skip
    assert tried | {"allow_mixed_cameras", "allow_mixed_control"} == {name for name, _ in _options(STRICT)}


def _options(acceptance: Acceptance) -> list[tuple[str, Any]]:
    return [(name, getattr(acceptance, name)) for name in Acceptance.__slots__]


def newest(tiny: TinyRun) -> None:
    """Everything the newest collector writes and a build does not need."""
    for row in tiny.controller:
        row |= {"raw_age_s": {"ABS_X": -61615.2}, "raw": {}}
    for row in tiny.arm:
        row |= {"gripper_pos_t": 61752.5, "gripper_pos_age_s": float("nan"), "warn_code": 3, "state": 2}


def oldest(tiny: TinyRun) -> None:
    """What the oldest rows lack; nothing of the cameras but what they always had."""
    for row in tiny.controller:
        for name in ("connected", "raw", "input_age_s"):
            del row[name]
    for row in tiny.arm:
        for name in ("report_alive", "gripper_pos_t", "mode", "error_code", "state"):
            row.pop(name)
    for name, told in tiny.times.items():
        tiny.times[name] = {"label": name, "device": "/dev/video0", "frames": 75, "measured_fps": 30.0, "error": "",
                            "t": told["t"]}  # fmt: skip
    tiny.meta["provenance"]["config"] = {}


NO_SOURCE = {f"{camera} without a timestamp_source": 1 for camera in
             ("scene_left", "scene_right", "gripper_right_bottom", "gripper_right_top")}  # fmt: skip
ACCEPTED: dict[str, tuple[Change, dict[str, int]]] = {
    "in order": (lambda tiny: None, {}),
    "newest fields, a gripper's foreign clock, NaN": (newest, {}),
    "oldest fields": (oldest, NO_SOURCE),
    "green by a verdict alone": (meta(validation={"all_green": True}), {}),
    "green by its checks alone": (checks(("a", "pass", ""), ("b", "pass", "")), {}),
    "more checks than ever": (checks(*[(f"check {n}", "pass", "") for n in range(40)]), {}),
    "single rows without joints or gripper": (
        lambda tiny: [rows("arm", 70, 72, joints_real_deg=[])(tiny),
                      rows("arm", 90, 91, gripper_pos=float("nan"))(tiny)][0],
        {"arm_state rows without a needed field": 3}),
    "faults outside of the window": (
        lambda tiny: [rows("arm", 0, 10, report_alive=False, mode=0, error_code=1)(tiny),
                      rows("controller", 270, 300, connected=False)(tiny)][0], {}),
    "a gap of a second, half a second from either end": (gap("arm", 60, 109), {}),
    "stamps that step back a little": (
        lambda tiny: tiny.times["scene_left"]["t"].__setitem__(10, tiny.times["scene_left"]["t"][9] - 0.02),
        {"scene_left_frame_times.json backward stamps": 1}),
    "a camera's count": (times(frames_in_mp4=75), {}),
}  # fmt: skip


@pytest.mark.parametrize("case", ACCEPTED)
def test_what_is_merely_odd_is_accepted_and_what_was_mended_is_counted(case: str, tiny: TinyRun) -> None:
    change, mended = ACCEPTED[case]
    change(tiny)
    plan = accepted(tiny)
    assert (plan.provenance["mended"], plan.warnings) == (mended, ())


def test_a_torn_line_is_dropped_before_the_window_is_taken(tiny: TinyRun) -> None:
    for stream in (tiny.controller, tiny.arm):
        del stream[240 if stream is tiny.controller else 120 :]
    tiny.write()
    for stream in ("controller", "arm_state"):
        path = tiny.folder / f"raw/{stream}.jsonl"
        path.write_bytes(path.read_bytes() + b'{"t":139.9,"move')
    plan = BlockStack(tiny.tree, 30).plan(EpisodeKey(tiny.campaign, tiny.name))
    assert isinstance(plan, EpisodePlan), plan
    assert plan.t_hi_s == pytest.approx(137.4 + 119 / 50)
    assert plan.provenance["mended"] == {"controller torn last line": 1, "arm_state torn last line": 1}


def test_a_run_whose_collector_may_have_crashed_and_a_camera_that_may_be_stale_are_warned_of(tiny: TinyRun) -> None:
    del tiny.meta["stopped_by"]
    tiny.times["scene_right"]["actual"] = {"width": 640, "buffersize_set": False}
    crashed, stale = accepted(tiny).warnings
    assert crashed.startswith("run.json does not say what stopped the run (stopped_by)")
    assert stale.startswith("scene_right: buffersize_set false: ")


def test_rows_dropped_at_the_start_shorten_the_window_but_are_no_foreign_clock(tiny: TinyRun) -> None:
    """A gripper that is not polled for six seconds leaves no row to begin with: that is lost coverage, not a clock."""
    late = [{**tiny.arm[0], "t": 131.0 + k / 50, "gripper_pos": float("nan")} for k in range(320)]
    early = [{**tiny.controller[0], "t": 131.0 + k / 100} for k in range(640)]
    tiny.arm, tiny.controller = [*late, *tiny.arm], [*early, *tiny.controller]
    for told in tiny.times.values():
        told["t"] = [round(133.0 + k / 30, 6) for k in range(209)]
    (fault,) = faults(tiny)
    assert (fault.field, fault.path) == ("coverage", str(tiny.folder / ARM_STATE))
    assert "arm_state begins 6.400 s late at 137.400 s" in fault.found


def test_every_gap_is_told_up_to_five(tiny: TinyRun) -> None:
    tiny.arm = [{**tiny.arm[0], "t": 130.0 + k / 50} for k in range(1000)]
    tiny.controller = [{**tiny.controller[0], "t": 130.0 + k / 100} for k in range(2000)]
    for told in tiny.times.values():
        told["t"] = [round(130.0 + k / 30, 6) for k in range(600)]
    holes = [range(100 * n, 100 * n + 60) for n in range(1, 8)]
    tiny.arm = [row for k, row in enumerate(tiny.arm) if not any(k in hole for hole in holes)]
    (fault,) = faults(tiny)
    assert fault.found.startswith("no sample from 131.980 to 133.200 s (1.220 s), 133.980 to 135.200 s (1.220 s), ")
    assert fault.found.endswith(" and in 2 more gaps")


def test_a_film_that_is_none_is_cut_off_or_has_too_few_pictures_is_refused(tiny: TinyRun) -> None:
    whole = tiny.encode(75)
    tiny.films = {"scene_left": b"no film", "scene_right": whole[:-300], "gripper_right_top": tiny.encode(74)}
    told = [str(fault).partition(f"{tiny.folder}/video/")[2] for fault in faults(tiny)]
    assert told == [
        "scene_left.mp4: scene_left: found no mp4, expected a whole, playable mp4",
        f"scene_right.mp4: scene_right: found a box moov up to byte {len(whole)} in a file of {len(whole) - 300} "
        "(cut off), expected a whole, playable mp4",
        "gripper_right_top.mp4: pictures: found 74, expected 75, one per stamp",
    ]  # fmt: skip


def test_everything_wrong_with_a_run_is_told_at_once(tiny: TinyRun) -> None:
    del tiny.meta["status"], tiny.meta["validation"]
    tiny.meta["provenance"]["R_WORLD_FROM_BASE"] = None
    rows("arm", 60, 62, error_code=31, mode=0, report_alive=False)(tiny)
    rows("controller", 100, 101, connected=False)(tiny)
    gap("arm", 70, 128)(tiny)
    ends(4.0)(tiny)
    tiny.times["scene_left"] |= {"device": "simulated", "timestamp_source": "post_read", "stopped_early": True}
    tiny.films["scene_left"] = b"no film"
    tiny.films["scene_right"] = b""
    found = [(fault.path.rpartition("/")[2], fault.field) for fault in faults(replace(tiny, films={}))]
    assert found == [
        ("run.json", "status"), ("run.json", "validation"), ("scene_left_frame_times.json", "stopped_early"),
        ("scene_left_frame_times.json", "timestamp_source"), ("scene_left_frame_times.json", "device"),
        ("scene_left_frame_times.json", "coverage"), ("arm_state.jsonl", "gap in arm_state"),
        ("arm_state.jsonl", "report_alive"), ("arm_state.jsonl", "error_code"), ("arm_state.jsonl", "mode"),
        ("controller.jsonl", "connected"), ("run.json", "provenance.R_WORLD_FROM_BASE"),
    ]  # fmt: skip
    unread = [(fault.path.rpartition("/")[2], fault.field) for fault in faults(tiny)]
    assert unread == [*found[:2], ("scene_left.mp4", "scene_left"), *found[2:5], ("scene_right.mp4", "scene_right"),
                      *found[5:]]  # fmt: skip


def target(t_s: float, x_mm: float, **told: Any) -> dict[str, Any]:
    return {"t": t_s, "target_world_xyz_mm": [x_mm, 0.0, 1.0], "target_rpy_deg": [180.0, 0.0, 0.0],
            "target_yaw_world_deg": 0.0, "gripper_closure": 0.5, **told}  # fmt: skip


def test_what_was_commanded_is_counted_inside_the_window(tiny: TinyRun) -> None:
    """Every other tick stands still, each tenth is clamped, one is re-anchored; outside, everything is clamped."""
    tiny.commanded = [
        target(row["t"], k // 2, clamped_by_workspace=k % 10 == 0 or row["t"] < 137.65, reanchored=k == 100)
        for k, row in enumerate(tiny.controller)
    ]
    plan = accepted(tiny)
    inside = [k for k, row in enumerate(tiny.controller) if plan.grid.t0_s <= row["t"] <= plan.t_hi_s]
    assert plan.provenance["commanded"] == {
        "ticks": len(inside),
        "clamped": sum(k % 10 == 0 for k in inside),
        "reanchored": 1,
        "idle_share": sum(k % 2 for k in inside) / len(inside),
    }


@pytest.mark.parametrize(
    ("content", "counted"),
    [
        (None, None), (b"", None), (b"\xff not JSON\n{}", None), (b'{"t":"x"}\n', None), (b"[]\n[]\n", None),
        (b'{"t":138.0}\n{"t":138.01,"target_world_xyz_mm":[1]}\n',
         {"ticks": 2, "clamped": None, "reanchored": None, "idle_share": 0.0}),
        (b'{"t":1.0}\n{"t":null}\n', {"ticks": 0, "clamped": None, "reanchored": None, "idle_share": None}),
    ],
)  # fmt: skip
def test_what_was_commanded_never_refuses_a_run(
    content: bytes | None, counted: dict[str, Any] | None, tiny: TinyRun
) -> None:
    tiny.write()
    if content is not None:
        (tiny.folder / "raw/commanded.jsonl").write_bytes(content)
    assert accepted(tiny).provenance["commanded"] == counted
