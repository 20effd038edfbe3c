"""The collector's JSON as it is found on disk: what is read, what is mended and counted, what is refused and where."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickdraw.core.episode import EpisodeKey
from quickdraw.errors import Fault, Refused
from quickdraw.formats.campaign.acceptance import STRICT
from quickdraw.formats.campaign.examination import examine
from quickdraw.formats.campaign.layout import CAMERAS
from quickdraw.formats.campaign.reader import Arm, Camera, Controller, RunReader
from quickdraw.formats.campaign.records import _as_json

type TinyRun = Any
BOM = b"\xef\xbb\xbf"
STREAMS = ["raw/controller.jsonl", "raw/arm_state.jsonl"]
DOCUMENTS = ["run.json", "video/scene_left_frame_times.json"]


@dataclass(frozen=True)
class RawRun:
    """Everything a run's reader gives."""

    controller: Controller
    arm: Arm
    cameras: dict[str, Camera]
    provenance: dict[str, Any]
    mended: dict[str, int]

    def stamps_ns(self) -> dict[str, Any]:
        cameras = {name: camera.t_ns for name, camera in self.cameras.items()}
        return {"controller": self.controller.t_ns, "arm_state": self.arm.t_ns, **cameras}


def read(tiny: TinyRun) -> RawRun:
    """The whole run; Refused with the faults of all its files."""
    reader = RunReader(tiny.tree, EpisodeKey(tiny.campaign, tiny.name))
    found = examine(reader, 30, STRICT)
    if found.run is None or found.faults:
        raise Refused(found.faults)
    cameras = {name: reader.camera(name) for name in CAMERAS}
    return RawRun(found.run.controller, found.run.arm, cameras, found.run.info.provenance, reader.mended)


def refusal(tiny: TinyRun) -> tuple[Fault, ...]:
    with pytest.raises(Refused) as refused:
        read(tiny)
    assert all(fault.where == f"{tiny.campaign}/{tiny.name}" for fault in refused.value.faults)
    return refused.value.faults


def the_fault(tiny: TinyRun) -> Fault:
    (fault,) = refusal(tiny)
    return fault


def same(a: RawRun, b: RawRun) -> bool:
    stamps = all(np.array_equal(a.stamps_ns()[name], b.stamps_ns()[name]) for name in b.stamps_ns())
    values = [(a.controller.axes, b.controller.axes)]
    values += [(getattr(a.arm, n), getattr(b.arm, n)) for n in ("world_xyz_mm", "base_rpy_deg", "gripper_counts")]
    return (
        stamps and all(np.array_equal(x, y) for x, y in values) and np.array_equal(a.arm.joints_deg, b.arm.joints_deg)
    )


def test_a_run_in_order_is_read_whole_and_nothing_needs_mending(tiny: TinyRun) -> None:
    tiny.write()
    run = read(tiny)
    assert list(run.stamps_ns()) == ["controller", "arm_state", *tiny.times]
    assert run.controller.t_ns.tolist() == [round((137.4 + k / 100) * 1e9) for k in range(300)]
    assert run.controller.axes[7].tolist() == [0.007, -0.007, 0.25, -0.5, 0.5]
    assert run.arm.world_xyz_mm[5].tolist() == [105.0, 205.0, 305.0]
    assert run.arm.base_rpy_deg[5].tolist() == [179.9, 0.15, -85.0]
    assert run.arm.gripper_counts[5] == 845.0
    assert run.arm.joints_deg[5].tolist() == [50.0, 51.0, 52.0, 53.0, 54.0, 55.0, 56.0]
    assert run.cameras["scene_right"].t_ns[1] == round(tiny.times["scene_right"]["t"][1] * 1e6) * 1000
    assert run.mended == {}
    assert run.provenance["validation"] == {"pass": 2, "warn": 0, "fail": 0}
    assert (run.provenance["git_sha"], run.provenance["mount_hash"]) == ("abc1234", "3ad430d28d0e")


def test_bare_nan_tokens_in_fields_that_are_not_needed_are_read_over(tiny: TinyRun) -> None:
    tiny.write()
    assert b'"input_age_s":NaN' in (tiny.folder / STREAMS[0]).read_bytes()
    assert b'"gripper_pos_t":NaN' in (tiny.folder / STREAMS[1]).read_bytes()
    tiny.meta["note"] = [float("nan"), float("inf"), -float("inf")]
    tiny.times["scene_left"]["read_lag_s"] = float("nan")
    tiny.write()
    assert b"-Infinity" in (tiny.folder / "run.json").read_bytes()
    assert read(tiny).mended == {}


@pytest.mark.parametrize("file", [*STREAMS, *DOCUMENTS])
def test_a_byte_order_mark_changes_nothing(file: str, tiny: TinyRun) -> None:
    tiny.write()
    before, path = read(tiny), tiny.folder / file
    path.write_bytes(BOM + path.read_bytes())
    assert same(read(tiny), before)


@pytest.mark.parametrize("file", [*STREAMS, *DOCUMENTS])
def test_windows_line_ends_change_nothing(file: str, tiny: TinyRun) -> None:
    tiny.write()
    before, path = read(tiny), tiny.folder / file
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert same(read(tiny), before)


@pytest.mark.parametrize("file", STREAMS)
@pytest.mark.parametrize("blank", [b"\n", b"\r\n", b"  \t\n", b"\n\n\n"])
def test_blank_lines_are_nothing_wherever_they_stand(file: str, blank: bytes, tiny: TinyRun) -> None:
    tiny.write()
    before, path = read(tiny), tiny.folder / file
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(blank + b"".join(lines[:5]) + blank + b"".join(lines[5:]) + blank)
    assert same(read(tiny), before)
    assert read(tiny).mended == {}


def test_unknown_fields_of_any_shape_are_skipped(tiny: TinyRun) -> None:
    tiny.write()
    before = read(tiny)
    for rows in (tiny.controller, tiny.arm):
        rows[3] |= {"手套": {"深": [1, {"a": None}]}, "NaN": "NaN", "t2": "x" * 500}
    tiny.meta["provenance"]["measurements"] = {"camera_latency_s": {"value": {"seconds": 0.089}}}
    tiny.write()
    assert same(read(tiny), before)


def test_a_last_line_without_its_newline_is_a_line(tiny: TinyRun) -> None:
    tiny.write()
    before, path = read(tiny), tiny.folder / STREAMS[0]
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    assert same(read(tiny), before)
    assert read(tiny).mended == {}


@pytest.mark.parametrize(("stream", "rows"), [("controller", 300), ("arm_state", 150)])
@pytest.mark.parametrize("cut", ["half", "one byte", "all but the brace", "zeros"])
def test_a_torn_last_line_is_dropped_and_counted(stream: str, rows: int, cut: str, tiny: TinyRun) -> None:
    tiny.write()
    path = tiny.folder / f"raw/{stream}.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    last = lines[-1].rstrip(b"\n")
    torn = {"half": last[: len(last) // 2], "one byte": last[:1], "all but the brace": last[:-1], "zeros": bytes(512)}
    path.write_bytes(b"".join(lines[:-1]) + torn[cut])
    run = read(tiny)
    assert len(run.stamps_ns()[stream]) == rows - 1
    assert run.mended == {f"{stream} torn last line": 1}


def test_a_torn_last_line_with_blank_lines_behind_it_is_still_the_last(tiny: TinyRun) -> None:
    tiny.write()
    path = tiny.folder / STREAMS[0]
    path.write_bytes(path.read_bytes() + b'{"t":14\n\n  \n')
    assert read(tiny).mended == {"controller torn last line": 1}


@pytest.mark.parametrize("file", STREAMS)
def test_an_undecodable_line_amid_the_others_is_refused_with_its_number(file: str, tiny: TinyRun) -> None:
    tiny.write()
    path = tiny.folder / file
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"\n" + b"".join(lines[:6]) + b'{"t":137.5,"mo\n' + b"".join(lines[6:]))
    fault = the_fault(tiny)
    assert (fault.path, fault.line, fault.field) == (str(path), 8, "record")
    assert fault.found.startswith("undecodable JSON (")
    assert f"{path}:8: record: found undecodable JSON" in str(fault)
    assert str(fault).endswith("expected one JSON object")


@pytest.mark.parametrize("file", STREAMS)
def test_two_records_on_a_line_are_refused_with_its_number(file: str, tiny: TinyRun) -> None:
    """Else no line could be told any more, and a fault further down would be looked for beyond the file's end."""
    tiny.write()
    path = tiny.folder / file
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:6], lines[6].rstrip(), *lines[7:]]))
    fault = the_fault(tiny)
    assert (fault.path, fault.line, fault.field) == (str(path), 7, "record")
    assert "trailing characters" in fault.found


def test_a_record_over_two_lines_is_refused_with_both(tiny: TinyRun) -> None:
    tiny.write()
    path = tiny.folder / STREAMS[0]
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:6], lines[6].replace(b",", b",\n", 1), *lines[7:]]))
    assert [fault.line for fault in refusal(tiny)] == [7, 8]


def test_a_pipe_in_place_of_a_file_is_refused_and_not_waited_for(tiny: TinyRun) -> None:
    tiny.write()
    path = tiny.folder / STREAMS[1]
    path.unlink()
    os.mkfifo(path)
    assert "not a file" in the_fault(tiny).found


def test_one_fault_of_many_lines_is_told_once(tiny: TinyRun) -> None:
    for row in tiny.controller[20:]:
        del row["yaw"]
    tiny.write()
    fault = the_fault(tiny)
    assert fault.line == 21
    assert fault.found.endswith(f"(and {len(tiny.controller) - 21} more lines)")


def test_nothing_said_of_a_camera_is_nothing_against_it(tiny: TinyRun) -> None:
    tiny.times["scene_left"] |= {"error": None, "stopped_early": None, "actual": None, "label": None}
    tiny.meta["cameras"] = None
    tiny.write()
    assert read(tiny).controller.axes.shape == (300, 5)


def test_every_bad_line_is_reported_and_a_torn_last_line_beside_them_is_not(tiny: TinyRun) -> None:
    tiny.controller[4]["move_x"] = "left"
    tiny.controller[9]["yaw"] = [1]
    tiny.write()
    path = tiny.folder / STREAMS[0]
    path.write_bytes(path.read_bytes()[:-20])
    assert [(fault.line, fault.field) for fault in refusal(tiny)] == [(5, "move_x"), (10, "yaw")]


@pytest.mark.parametrize(
    ("stream", "field", "value", "found", "place"),
    [
        ("controller", "move_x", "0.1", "got `str`", "move_x"),
        ("controller", "t", True, "got `bool`", "t"),
        ("controller", "gripper", [0.5], "got `array`", "gripper"),
        ("arm", "gripper_pos", {"a": 1}, "got `object`", "gripper_pos"),
        ("arm", "joints_real_deg", 3.0, "got `float`", "joints_real_deg"),
        ("arm", "pose_world_xyz_mm", [1.0, "2", 3.0], "got `str`", "pose_world_xyz_mm[1]"),
        ("arm", "pose_base_mm_deg", None, "got `null`", "pose_base_mm_deg"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_with_field_and_line(
    stream: str, field: str, value: Any, found: str, place: str, tiny: TinyRun
) -> None:
    getattr(tiny, stream)[11][field] = value
    tiny.write()
    fault = the_fault(tiny)
    assert (fault.field, fault.line) == (place, 12)
    assert found in fault.found
    assert fault.path.endswith(f"{'controller' if stream == 'controller' else 'arm_state'}.jsonl")


def test_a_row_without_a_field_of_the_action_is_refused_by_that_fields_name(tiny: TinyRun) -> None:
    del tiny.controller[20]["height"]
    tiny.write()
    fault = the_fault(tiny)
    assert fault.line == 21
    assert "height" in fault.found


@pytest.mark.parametrize("value", [float("nan"), None])
def test_a_nan_in_the_action_is_refused_with_its_line_and_how_many_more(value: float | None, tiny: TinyRun) -> None:
    for row in (50, 60, 61):
        tiny.controller[row]["yaw"] = value
    tiny.write()
    path = tiny.folder / STREAMS[0]
    path.write_bytes(b"\n\n" + path.read_bytes())
    fault = the_fault(tiny)
    assert (fault.field, fault.line, fault.found, fault.expected) == (
        "yaw",
        53,
        "NaN or infinite (and 2 more rows)",
        "a number",
    )


@pytest.mark.parametrize(("before", "line"), [(b"\n\n", 53), (BOM, 51), (BOM + b"\n", 52), (b"\r\n", 52)])
def test_lines_are_numbered_as_an_editor_numbers_them_whatever_stands_before(
    before: bytes, line: int, tiny: TinyRun
) -> None:
    tiny.controller[50]["yaw"] = float("nan")
    tiny.write()
    path = tiny.folder / STREAMS[0]
    path.write_bytes(before + path.read_bytes())
    assert the_fault(tiny).line == line


@pytest.mark.parametrize(
    ("field", "wrong", "found", "expected"),
    [
        ("pose_world_xyz_mm", [1.0, 2.0], "2 numbers", "3 numbers, or none"),
        ("pose_base_mm_deg", [1.0] * 7, "7 numbers", "6 numbers, or none"),
        ("joints_real_deg", [1.0] * 6, "6 numbers", "7 numbers, or none"),
    ],
)
def test_a_list_of_the_wrong_length_is_refused_with_its_line(
    field: str, wrong: list[float], found: str, expected: str, tiny: TinyRun
) -> None:
    tiny.arm[8][field] = wrong
    tiny.write()
    fault = the_fault(tiny)
    assert (fault.field, fault.line, fault.found, fault.expected) == (field, 9, found, expected)
    tiny.arm[30][field] = wrong
    tiny.write()
    assert the_fault(tiny).found == f"{found} (and 1 more rows)"


@pytest.mark.parametrize(
    "change",
    [{"joints_real_deg": []}, {"pose_base_mm_deg": []}, {"pose_world_xyz_mm": []}, {"gripper_pos": float("nan")},
     {"t": None}, {"joints_real_deg": [0.0, 0.0, 0.0, float("nan"), 0.0, 0.0, 0.0]}],
    ids=["joints", "pose base", "pose world", "gripper NaN", "no time", "one joint NaN"],
)  # fmt: skip
def test_a_row_whose_read_failed_is_dropped_whole_and_counted(change: dict[str, Any], tiny: TinyRun) -> None:
    tiny.write()
    before = read(tiny)
    for row in (0, 7, 8):
        tiny.arm[row] |= change
    tiny.write()
    run = read(tiny)
    kept = np.delete(np.arange(150), [0, 7, 8])
    assert run.mended == {"arm_state rows without a needed field": 3}
    for name in ("t_ns", "world_xyz_mm", "base_rpy_deg", "gripper_counts", "joints_deg"):
        np.testing.assert_array_equal(getattr(run.arm, name), getattr(before.arm, name)[kept])


def test_a_run_of_the_old_schema_without_measured_joints_is_refused(tiny: TinyRun) -> None:
    for row in tiny.arm:
        del row["joints_real_deg"]
    tiny.write()
    fault = the_fault(tiny)
    assert (fault.field, fault.found, fault.expected) == ("joints_real_deg", "in none of 150 rows", "7 numbers a row")
    assert fault.path.endswith("arm_state.jsonl")


def test_an_all_nan_gripper_is_refused_rather_than_filled(tiny: TinyRun) -> None:
    for row in tiny.arm:
        row["gripper_pos"] = float("nan")
    tiny.write()
    fault = the_fault(tiny)
    assert (fault.field, fault.found, fault.expected) == ("gripper_pos", "in none of 150 rows", "a number a row")


@pytest.mark.parametrize("file", STREAMS)
def test_a_missing_stream_names_what_is_there_instead(file: str, tiny: TinyRun) -> None:
    tiny.write()
    (tiny.folder / file).rename(tiny.folder / (file + ".bak"))
    fault = the_fault(tiny)
    there = ", ".join(sorted(p.name for p in (tiny.folder / "raw").iterdir()))
    assert fault.found == f"No such file or directory (there is: {there})"
    assert fault.field == Path(file).name


def test_a_missing_video_and_missing_stamps_are_two_faults_and_name_what_is_there(tiny: TinyRun) -> None:
    tiny.write()
    (tiny.folder / "video/scene_left.mp4").unlink()
    (tiny.folder / "video/scene_left_frame_times.json").unlink()
    video, stamps = refusal(tiny)
    assert (video.field, video.expected) == ("scene_left", "an mp4 per camera")
    assert video.found.startswith(
        "no video (there is: gripper_right_bottom.mp4, gripper_right_bottom_frame_times.json,"
    )
    assert stamps.field == "scene_left_frame_times.json"
    assert "scene_right.mp4" in stamps.found


def test_a_run_folder_without_its_parts_says_there_is_nothing(tiny: TinyRun) -> None:
    tiny.folder.mkdir(parents=True)
    (tiny.folder / "run.json").write_text("{}")
    faults = refusal(tiny)
    assert [fault.field for fault in faults[:4]] == ["status", "validation", "controller.jsonl", "arm_state.jsonl"]
    assert all("there is: nothing" in fault.found for fault in faults[2:])
    assert len(faults) == 4 + 2 * len(tiny.times)


@pytest.mark.parametrize("file", [*STREAMS, *DOCUMENTS])
@pytest.mark.parametrize("content", [b"", b"\n\n", BOM, b" \r\n"])
def test_an_empty_file_is_refused(file: str, content: bytes, tiny: TinyRun) -> None:
    tiny.write()
    (tiny.folder / file).write_bytes(content)
    fault = the_fault(tiny)
    assert (fault.field, fault.found, fault.expected) == (Path(file).name, "an empty file", "at least one record")


@pytest.mark.parametrize("file", STREAMS)
def test_a_stream_of_one_torn_line_is_refused(file: str, tiny: TinyRun) -> None:
    tiny.write()
    (tiny.folder / file).write_bytes(b'{"t":137')
    fault = the_fault(tiny)
    assert (fault.line, fault.field) == (1, "record")


@pytest.mark.parametrize("file", DOCUMENTS)
def test_a_truncated_document_is_refused(file: str, tiny: TinyRun) -> None:
    tiny.write()
    path = tiny.folder / file
    path.write_bytes(path.read_bytes()[:-10])
    fault = the_fault(tiny)
    assert fault.path == str(path)
    assert fault.found.startswith("undecodable JSON (")


def test_bytes_that_are_no_utf8_are_refused_and_not_a_crash(tiny: TinyRun) -> None:
    tiny.meta["provenance"]["git_sha"] = "SHA"
    tiny.times["scene_left"]["timestamp_source"] = "SHA"
    tiny.write()
    for file in DOCUMENTS:
        path = tiny.folder / file
        path.write_bytes(path.read_bytes().replace(b"SHA", b"\xff\xfe"))
    assert [fault.field for fault in refusal(tiny)] == ["record", "record"]
    assert all("UTF-8" in fault.found for fault in refusal(tiny))


@pytest.mark.parametrize("value", [float("inf"), -float("inf")])
def test_an_infinite_number_in_the_action_is_refused(value: float, tiny: TinyRun) -> None:
    tiny.controller[2]["move_y"] = value
    tiny.write()
    assert (the_fault(tiny).field, the_fault(tiny).line) == ("move_y", 3)


@pytest.mark.parametrize(("stamps", "found"), [([], "0 stamps"), ([137.5], "1 stamps")])
def test_fewer_than_two_stamps_are_refused(stamps: list[float], found: str, tiny: TinyRun) -> None:
    tiny.times["gripper_right_top"]["t"] = stamps
    tiny.write()
    fault = the_fault(tiny)
    assert (fault.field, fault.found, fault.expected) == ("t", found, "at least 2")
    assert fault.path.endswith("gripper_right_top_frame_times.json")


def test_a_camera_error_is_refused_in_its_own_words(tiny: TinyRun) -> None:
    tiny.times["scene_right"]["error"] = "read failed after 45 frames at t=3.2s -- camera stopped early"
    tiny.write()
    fault = the_fault(tiny)
    assert fault.found == "'read failed after 45 frames at t=3.2s -- camera stopped early'"
    assert (fault.field, fault.expected) == ("error", "no camera error")


def test_a_nan_stamp_is_refused_with_its_position(tiny: TinyRun) -> None:
    tiny.times["scene_right"]["t"][17] = float("nan")
    tiny.write()
    fault = the_fault(tiny)
    assert (fault.field, fault.found, fault.expected) == ("t", "NaN at stamp 17", "finite seconds")


def test_stamps_that_step_back_a_little_are_smoothed_by_a_running_maximum_and_counted(tiny: TinyRun) -> None:
    stamps = tiny.times["scene_left"]["t"]
    stamps[10] = round(stamps[9] - 0.021, 6)
    stamps[30] = round(stamps[29] - 0.05, 6)
    tiny.write()
    run = read(tiny)
    assert run.mended == {"scene_left_frame_times.json backward stamps": 2}
    t_ns = run.cameras["scene_left"].t_ns
    assert (np.diff(t_ns) >= 0).all()
    assert (t_ns[10], t_ns[30]) == (t_ns[9], t_ns[29])
    assert len(t_ns) == 75


@pytest.mark.parametrize("file", ["controller", "arm_state", "scene_left"])
def test_stamps_that_step_back_by_sixty_milliseconds_are_refused_with_the_step(file: str, tiny: TinyRun) -> None:
    if file == "scene_left":
        tiny.times[file]["t"][40] = round(tiny.times[file]["t"][39] - 0.06, 6)
    else:
        rows = tiny.controller if file == "controller" else tiny.arm
        rows[40]["t"] = rows[39]["t"] - 0.06
    tiny.write()
    fault = the_fault(tiny)
    assert fault.found == "stamp 40 60.0 ms before an earlier one"
    assert file in fault.path


def test_duplicate_stamps_are_legal_and_not_counted_as_mended(tiny: TinyRun) -> None:
    tiny.controller[50]["t"] = tiny.controller[49]["t"]
    tiny.write()
    assert read(tiny).mended == {}


def test_every_fault_of_a_run_is_reported_in_one_go(tiny: TinyRun) -> None:
    tiny.controller[4]["move_x"] = "left"
    tiny.arm[8]["joints_real_deg"] = [1.0]
    tiny.arm[9]["pose_world_xyz_mm"] = [1.0]
    tiny.times["scene_left"]["error"] = "could not open /dev/video0"
    tiny.times["scene_left"]["t"] = []
    tiny.times["scene_right"]["t"] = [137.5]
    tiny.meta["status"] = 5
    tiny.write()
    (tiny.folder / "video/gripper_right_top.mp4").unlink()
    assert [(fault.field, fault.line) for fault in refusal(tiny)] == [
        ("status", None), ("move_x", 5), ("pose_world_xyz_mm", 10), ("joints_real_deg", 9),
        ("error", None), ("t", None), ("t", None), ("gripper_right_top", None),
    ]  # fmt: skip


def test_only_the_two_streams_and_the_stamps_are_read(tiny: TinyRun) -> None:
    tiny.write()
    for name in ("commanded", "xarm_command", "tick"):
        (tiny.folder / f"raw/{name}.jsonl").write_bytes(b"\xff not JSON")
    (tiny.folder / "summary.mp4").write_bytes(b"")
    assert read(tiny).mended == {}


@pytest.mark.parametrize("meta", [{}, {"status": "recording"}, {"provenance": {}}, {"validation": {"ok": False}}])
def test_a_sparse_run_json_is_read_with_what_it_has(meta: dict[str, Any], tiny: TinyRun) -> None:
    tiny.meta = meta
    tiny.write()
    info = RunReader(tiny.tree, EpisodeKey(tiny.campaign, tiny.name)).info()
    assert info.world_from_base is None
    assert (info.gripper.open_position, info.gripper.closed_position) == (850.0, 0.0)
    assert info.provenance["validation"] == {"pass": 0, "warn": 0, "fail": 0}


PIECES = ["NaN", "Infinity", "-", " ", ",", ":", "a", "_", "1", '"', "\n", "é", "Na", "{"]


@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_pythons_numbers_become_null_where_they_stand_by_themselves(pieces: list[str]) -> None:
    text = "".join(pieces).encode()
    assert _as_json(text) == re.sub(rb"-?\b(?:NaN|Infinity)\b", b"null", text)
