"""Every rule of data, matrices, cells and video, broken once in a sound task: that is found, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quickdraw.formats.pooled.check import check
from quickdraw.formats.pooled.checks.rules import RULES

Plant = Callable[[Any, Any], object]
DATA = "data/chunk-000/episode-001.parquet"
ROW = "meta/episodes/chunk-000/episode-001.parquet"
VIDEO, DEPTH = "videos/chunk-000/cam/episode-001.mp4", "videos/chunk-000/depth/episode-001.mkv"
MATRIX = "observation.gripper_left_force_matrix"
FORCE = "observation.gripper_left_force"
GLOVE, IMU = "observation.left_glove", "observation.imu"
TRAJECTORY = "observation.slam_trajectory"


def put(name: str, make: Callable[[Any], Any]) -> Plant:
    """Episode 2 with column `name` made anew out of what it was."""
    return lambda t, m: t.edit_table(t.data(2), lambda columns: columns.update({name: make(columns.get(name))}))


def drop(*names: str) -> Plant:
    return lambda t, m: t.edit_table(t.data(2), lambda columns: [columns.pop(name) for name in names])


def at(name: str, row: int, value: Any) -> Plant:
    """Episode 2 with one cell of a column of numbers changed."""

    def changed(column: Any) -> Any:
        values = column.to_pylist()
        values[row] = value
        return pa.array(values, column.type)

    return put(name, changed)


def plus(name: str, first: int, more: float) -> Plant:
    """Episode 2 with a column of numbers higher from row `first` on."""

    def changed(column: Any) -> Any:
        values = column.to_numpy().copy()
        values[first:] += values.dtype.type(more)
        return pa.array(values)

    return put(name, changed)


def declare(**features: Any) -> Callable[[Any], None]:
    return lambda t: t.edit("info.json", lambda document: document["features"].update(features))


def both(*plants: Plant) -> Plant:
    return lambda t, m: [plant(t, m) for plant in plants]


def specs(**values: Any) -> Plant:
    spec = {"dtype": "int16", "shape": [250, 250, 3], "encoding": "row_diff_quantized", "scale": 100, **values}
    return lambda t, m: t.set_row(2, force_matrix_specs=json.dumps({MATRIX: spec}))


def empty(t: Any, m: Any) -> None:
    table = pq.read_table(t.data(2))
    pq.write_table(table.slice(0, 0), t.data(2), compression="zstd")


def doubled(t: Any, m: Any, *, apart_ns: int = 0, slots: int = 2) -> None:
    """Episode 3 as two slots record it: two rows a frame, whose stamps lie `apart_ns` apart."""
    table = pq.read_table(t.data(3)).take(np.repeat(np.arange(10), slots))
    pq.write_table(table, t.data(3), compression="zstd")
    late = np.arange(10 * slots) % slots * apart_ns

    def stagger(columns: dict[str, Any]) -> None:
        columns["hardware_ns"] = pa.array(columns["hardware_ns"].to_numpy() + late)
        for name in ("imu_ts_ns", IMU, TRAJECTORY, TRAJECTORY + "_ns"):  # only one slot's rows carry samples
            rows = [each if k % slots == 0 else [] for k, each in enumerate(columns[name].to_pylist())]
            columns[name] = pa.array(rows, columns[name].type)

    t.edit_table(t.data(3), stagger)
    t.set_row(3, length=10 * slots)


def truncated(t: Any, m: Any) -> None:
    def cut(columns: dict[str, Any]) -> None:
        columns["hardware_ns"] = pa.array(columns["hardware_ns"].to_numpy().astype(np.int32).astype(np.int64))

    t.edit_table(t.data(2), cut)


def no_clock(t: Any, m: Any) -> None:
    t.edit_table(t.data(2), lambda columns: columns.update(hardware_ns=pa.array(np.zeros(10, np.int64))))


def struct(column: Any) -> Any:
    return pa.array([{"a": 1}] * 10)


CASES: list[tuple[str, str, Plant]] = [
    ("data-missing", DATA, lambda t, m: t.data(2).unlink()),
    ("data-unreadable", DATA, lambda t, m: t.data(2).write_bytes(t.data(2).read_bytes()[:-40])),
    ("data-unreadable", DATA, lambda t, m: t.data(2).write_bytes(b"")),
    ("data-empty", DATA, empty),
    ("data-compression", DATA, lambda t, m: t.edit_table(t.data(2), dict, compression="snappy")),
    ("data-key", DATA, drop("wall_time")),
    ("data-key", DATA, drop("hardware_ns", "action")),
    ("data-type", DATA, put("hardware_ns", lambda column: column.cast(pa.int32(), safe=False))),
    ("data-type", DATA, put(GLOVE, lambda column: column.cast(pa.list_(pa.float32())))),
    ("data-type", DATA, put(TRAJECTORY + "_ns", lambda column: pa.array(np.ones(10, np.int64)))),
    ("data-type", DATA, put("status.cam0", struct)),
    ("data-type", DATA, put(MATRIX, lambda column: column.cast(pa.list_(pa.float64())))),
    ("data-column", DATA, put("extra", lambda column: pa.array(range(10)))),
    ("data-column", DATA, put("observation.gripper_left_torque", lambda column: pa.array([[0.5, None]] * 10))),
    ("data-column", DATA, put("observation.gripper_left_torque", lambda column: pa.array(["x"] * 10))),
    ("data-old-pose", DATA, put("observation.slam_pose", lambda column: pa.array([[0.0] * 7] * 10))),
    ("data-hand-pose", DATA, drop("observation.left_hand_pose")),
    ("data-null", DATA, at("status.cam0", 3, None)),
    ("data-null", DATA, at("wall_time", 3, None)),
    ("data-null", DATA, at(GLOVE, 3, None)),
    ("data-pair", DATA, drop("imu_ts_ns")),
    ("data-pair", DATA, drop(IMU)),
    ("data-pair", DATA, drop(TRAJECTORY)),
    ("data-pair", DATA, drop("observation.left_glove_imu_valid")),
    ("data-number", DATA, at("episode_index", 4, 3)),
    ("data-task", DATA, at("task_index", 4, 1)),
    ("frame-index", DATA, lambda t, m: (plus("frame_index", 5, 1)(t, m), t.set_row(2, end_frame_index=10))),
    ("frame-index", DATA, lambda t, m: (plus("frame_index", 0, 1)(t, m),
                                        t.set_row(2, start_frame_index=1, end_frame_index=10))),
    ("frame-order", DATA, lambda t, m: (at("frame_index", 3, 4)(t, m), at("frame_index", 4, 3)(t, m))),
    ("time-value", DATA, at("timestamp", 3, float("nan"))),
    ("time-value", DATA, at("wall_time", 3, float("inf"))),
    ("clock-none", DATA, no_clock),
    ("clock-truncated", DATA, truncated),
    ("clock-backwards", DATA, plus("wall_time", 5, -0.05)),
    ("clock-hole", DATA, plus("wall_time", 5, 0.101)),
    ("clock-hole", DATA, plus("hardware_ns", 5, 4e9)),
    ("matrix-scale", ROW, lambda t, m: t.set_row(2, force_matrix_specs="{}")),
    ("matrix-scale", ROW, lambda t, m: t.edit_table(t.row(2), lambda columns: columns.update(
        force_matrix_specs=pa.array(["{}"])))),
    ("matrix-spec", ROW, specs(encoding="row_flat_raw")),
    ("matrix-spec", ROW, specs(dtype="float32", encoding="row_flat_raw", scale=1)),
    ("matrix-spec", ROW, specs(shape=[250, 250])),
    ("matrix-spec", ROW, specs(scale=-1)),
    ("matrix-spec", ROW, specs(scale="100")),
    ("matrix-spec-unused", ROW, drop(MATRIX, MATRIX + "_ns")),
    ("video-missing", DATA, lambda t, m: (t.video(2).unlink(), t.video(2, "depth").unlink())),
    ("video-twice", "videos/chunk-000/cam", lambda t, m: t.video(2).with_suffix(".mkv").write_bytes(b"x")),
    ("video-extension", VIDEO.replace("mp4", "avi"), lambda t, m: t.video(2).rename(t.video(2).with_suffix(".avi"))),
    ("video-empty", VIDEO, lambda t, m: t.video(2).write_bytes(b"")),
    ("video-unreadable", VIDEO, lambda t, m: (t.video(2).unlink(), t.video(2).symlink_to("nowhere"))),
]  # fmt: skip

DEEP: list[tuple[str, str, Plant]] = [
    ("data-null", DATA, at(TRAJECTORY, 3, None)),
    ("data-null", DATA, at(TRAJECTORY, 3, [None] * 16)),
    ("data-pair", DATA, at(TRAJECTORY, 3, [0.0] * 15)),
    ("data-pair", DATA, at(TRAJECTORY + "_ns", 3, [])),
    ("data-pair", DATA, lambda t, m: (at(IMU, 3, [[0.0] * 6] * 2)(t, m), t.edit(
        "stats.json", lambda document: document[IMU].update(count=89)))),
    ("matrix-length", DATA, at(MATRIX, 3, [1] * 750)),
    ("matrix-sum", DATA, specs(scale=10)),
    ("cell-value", DATA, at(FORCE, 3, [0.0, float("nan"), 0.0])),
    ("cell-value", DATA, at(GLOVE, 3, [float("inf")] * 256)),
    ("cell-value", DATA, at(TRAJECTORY, 3, [float("nan")] * 16)),
    ("cell-stamp", DATA, at(FORCE + "_ns", 3, -1)),
    ("cell-stamp", DATA, at(FORCE + "_ns", 3, 7)),
    ("cell-stamp", DATA, at(MATRIX, 3, [])),
    ("cell-imu", DATA, at("imu_ts_ns", 3, [5_200_090_000_000, 5_200_095_000_000, 5_200_100_000_001])),
    ("cell-action", DATA, at("action", 3, [1.0])),
    ("stats-count", "meta/stats.json", lambda t, m: t.edit(
        "stats.json", lambda document: document[GLOVE].update(count=29))),
    ("stats-count", "meta/stats.json", lambda t, m: t.edit("stats.json", lambda document: document.pop(IMU))),
    ("video-unreadable", VIDEO, lambda t, m: t.video(2).write_bytes(b"no video")),
    ("video-unreadable", VIDEO, lambda t, m: t.video(2).write_bytes(m.rgb()[:-700])),
    ("video-frames", VIDEO, lambda t, m: t.video(2).write_bytes(m.rgb(9))),
    ("video-frames", VIDEO, lambda t, m: t.video(2).write_bytes(m.rgb(11))),
    ("video-frames", DEPTH, lambda t, m: t.video(2, "depth").write_bytes(m.ffv1(11))),
    ("depth-head", DEPTH, lambda t, m: t.video(2, "depth").write_bytes(m.ffv1(9))),
    ("depth-short", DEPTH, lambda t, m: (t.video(2, "depth").write_bytes(m.ffv1(1)), t.edit(
        "info.json", lambda document: document.update(fps=5)))),
    ("video-depth", DEPTH, lambda t, m: (t.edit("info.json", lambda document: document["cameras"].update(
        depth={"width": 64, "height": 48})), t.video(2, "depth").write_bytes(
            m.film(("-c:v", "libx264", "-pix_fmt", "yuv420p", "matroska"))),
        *[t.video(n, "depth").rename(t.video(n, "depth").with_name(f".{n}")) for n in (1, 3)])),
    ("video-camera", VIDEO, lambda t, m: t.video(2).write_bytes(m.film(
        ("-vf", "scale=32:48", "-c:v", "libx264", "-pix_fmt", "yuv420p", "mp4")))),
]  # fmt: skip


def test_a_sound_task_has_no_finding_down_to_the_last_cell(tiny: Any) -> None:
    report = check(tiny.root, deep=True)
    assert report.findings == ()
    assert report.deep


@pytest.mark.parametrize(("rule", "path", "plant"), CASES)
def test_each_fault_is_the_one_finding_without_opening_video(
    tiny: Any, making: Any, rule: str, path: str, plant: Plant
) -> None:
    plant(tiny, making)
    (finding,) = check(tiny.root).findings
    assert (finding.rule, finding.number, finding.episode, finding.path) == (rule, 2, "_ep000001", path)
    assert finding.severity == RULES[rule].severity
    assert finding.found
    assert "{" not in finding.mend


@pytest.mark.parametrize(("rule", "path", "plant"), DEEP)
def test_each_fault_of_a_cell_or_picture_is_the_one_finding_of_a_deep_check(
    tiny: Any, making: Any, rule: str, path: str, plant: Plant
) -> None:
    plant(tiny, making)
    assert not [each for each in check(tiny.root).findings if each.rule != "stats-count"]
    (finding,) = check(tiny.root, deep=True).findings
    number = None if rule == "stats-count" else 2
    assert (finding.rule, finding.number, finding.path) == (rule, number, path)
    assert finding.severity == RULES[rule].severity
    assert finding.found


def test_two_rows_a_frame_with_equal_stamps_are_sound(tiny: Any, making: Any) -> None:
    doubled(tiny, making)
    tiny.edit("stats.json", lambda document: document[GLOVE].update(count=40))
    assert check(tiny.root, deep=True).findings == ()
    tiny.set_row(3, length=10)  # as older recorders count: the highest frame_index + 1
    assert check(tiny.root).findings == ()


def test_two_rows_a_frame_with_stamps_apart_are_a_warning(tiny: Any, making: Any) -> None:
    doubled(tiny, making, apart_ns=4_000_000)
    (finding,) = check(tiny.root).findings
    assert (finding.rule, finding.number, finding.severity) == ("frame-rows", 3, "warning")


def test_a_camera_of_its_own_rate_has_as_many_pictures_as_it_has(tiny: Any, making: Any) -> None:
    tiny.video(2).write_bytes(making.rgb(5))
    tiny.edit("info.json", lambda document: document["cameras"]["cam"].update(fps=15.0))
    assert check(tiny.root, deep=True).findings == ()


def test_the_heat_map_beside_depth_is_decoded_too(tiny: Any, making: Any) -> None:
    dual = ("-map", "0:v", "-map", "0:v", "-c:v:0", "libx264", "-pix_fmt:v:0", "yuv420p", "-c:v:1", "ffv1",
            "-pix_fmt:v:1", "gray16le", "matroska")  # fmt: skip
    whole = making.film(dual, 10, "gray16le")
    tiny.video(2, "depth").write_bytes(whole)
    assert check(tiny.root, deep=True).findings == ()


def test_a_task_without_colour_needs_no_video(tiny: Any) -> None:
    tiny.edit("info.json", lambda document: document.update(video=False))
    tiny.video(2).unlink()
    tiny.video(2, "depth").unlink()
    assert check(tiny.root).findings == ()


def test_holes_tell_their_clock_length_and_row(tiny: Any, making: Any) -> None:
    plus("hardware_ns", 5, 4e9)(tiny, making)
    plus("wall_time", 7, 0.5)(tiny, making)
    (finding,) = check(tiny.root).findings
    assert "hardware_ns 1, the longest 4033 ms after row 4" in finding.found
    assert "wall_time 1, the longest 533 ms after row 6" in finding.found


def test_a_truncated_clock_is_unwrapped_before_holes_are_looked_for(tiny: Any, making: Any) -> None:
    wrapping = (2**31 - 100_000_000 + np.arange(10) * 33_333_333).astype(np.int64).astype(np.int32).astype(np.int64)
    assert wrapping.min() < 0 < wrapping.max()
    put("hardware_ns", lambda column: pa.array(wrapping))(tiny, making)
    assert [each.rule for each in check(tiny.root).findings] == ["clock-truncated"]


def test_every_rule_is_broken_in_some_test(request: pytest.FixtureRequest) -> None:
    here = {rule for rule, _, _ in CASES} | {rule for rule, _, _ in DEEP}
    other = (request.path.parent / "test_check_task.py").read_text(encoding="utf-8")
    elsewhere = {rule for rule in RULES if f'"{rule}"' in other}
    beyond = {"frame-rows", "folder-unreadable", "video-slot"}  # in the tests above, and in test_check_damage.py
    assert set(RULES) == here | elsewhere | beyond
