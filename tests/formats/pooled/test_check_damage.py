"""Damage of any kind is a finding, or the refusal of info.json; never another exception, and never an empty report."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quickdraw.errors import Refused
from quickdraw.formats.pooled.check import Report, check


def checked(root: Path, *, deep: bool = False) -> Report | None:
    """The report, None where the task is refused; every finding can be printed and written as JSON."""
    try:
        report = check(root, deep=deep)
    except Refused:
        return None
    for each in report.findings:
        str(each).encode("utf-8")
        json.dumps([each.rule, each.path, each.found, each.mend])
    return report


def files(root: Path) -> list[Path]:
    kept = [path for path in sorted(root.rglob("*")) if path.is_file() and path.name != ".lock"]
    return [
        path
        for path in kept
        if "episode-000" in path.name or "episode-001" in path.name or path.parent == root / "meta"
    ]


def test_every_file_cut_short_anywhere_is_found(tiny: Any) -> None:
    for path in files(tiny.root):
        whole = path.read_bytes()
        for share in (0.0, 0.001, 0.1, 0.5, 0.9, 0.999):
            path.write_bytes(whole[: int(len(whole) * share)])
            report = checked(tiny.root)
            looked_into = path.suffix in (".parquet", ".json") or share == 0
            assert report is None or report.findings or not looked_into, (path, share)
        path.write_bytes(whole)
    assert check(tiny.root, deep=True).findings == ()


def test_every_file_missing_or_a_folder_is_found(tiny: Any) -> None:
    for path in files(tiny.root):
        whole = path.read_bytes()
        path.unlink()
        missing = checked(tiny.root, deep=True)
        path.mkdir()
        folder = checked(tiny.root, deep=True)
        path.rmdir()
        path.write_bytes(whole)
        only_one_of_two = "videos" in path.parts
        assert missing is None or missing.findings or only_one_of_two, path
        assert folder is None or folder.findings, path


@settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_flipped_bytes_never_crash_it(tiny: Any, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from([path for path in files(tiny.root) if path.suffix != ".mkv"]))
    whole = path.read_bytes()
    # The end of a Parquet file is where every byte means something.
    places = st.one_of(st.integers(0, len(whole) - 1), st.integers(max(0, len(whole) - 3000), len(whole) - 1))
    flipped = bytearray(whole)
    for place in data.draw(st.lists(places, min_size=1, max_size=4)):
        flipped[place] ^= data.draw(st.integers(1, 255))
    try:
        path.write_bytes(flipped)
        checked(tiny.root, deep=data.draw(st.booleans()))
    finally:
        path.write_bytes(whole)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_json_in_place_of_a_document_never_crashes_it(tiny: Any, data: st.DataObject) -> None:
    value = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=6,
    )
    name = data.draw(st.sampled_from(["info.json", "stats.json", "tasks.jsonl"]))
    path = tiny.root / "meta" / name
    whole = path.read_bytes()
    try:
        if name == "tasks.jsonl":
            path.write_text(json.dumps(data.draw(value)), encoding="utf-8")
        else:
            document = json.loads(whole)
            keys = [*document, *document.get("features", {}), *document.get("cameras", {})]
            key, fresh = data.draw(st.sampled_from(keys)), data.draw(value)
            for place in (document, document.get("features", {}), document.get("cameras", {})):
                if key in place:
                    place[key] = fresh
                    break
            path.write_text(json.dumps(document), encoding="utf-8")
        checked(tiny.root)
    finally:
        path.write_bytes(whole)


INT64 = st.integers(-(2**63), 2**63 - 1)
FLOAT = st.floats(width=32)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    frames=st.lists(INT64, min_size=1, max_size=4),
    stamps=st.lists(INT64, min_size=4, max_size=4),
    times=st.lists(st.floats(), min_size=4, max_size=4),
    seconds=st.lists(FLOAT, min_size=4, max_size=4),
    imu=st.lists(st.lists(INT64, max_size=3), min_size=4, max_size=4),
)
def test_any_numbers_in_sound_columns_never_crash_it(
    tiny: Any, frames: list[int], stamps: list[int], times: list[float], seconds: list[float], imu: list[list[int]]
) -> None:
    whole, n = tiny.data(1).read_bytes(), len(frames)

    def change(columns: dict[str, Any]) -> None:
        for name in columns:
            columns[name] = columns[name].slice(0, n)
        columns["frame_index"] = pa.array(frames, pa.int64())
        columns["hardware_ns"] = pa.array(stamps[:n], pa.int64())
        columns["wall_time"] = pa.array(times[:n], pa.float64())
        columns["timestamp"] = pa.array(np.array(seconds[:n], np.float32))
        columns["imu_ts_ns"] = pa.array(imu[:n], pa.list_(pa.int64()))

    try:
        tiny.edit_table(tiny.data(1), change)
        report = checked(tiny.root, deep=True)
        assert report is not None
        assert report.findings
    finally:
        tiny.data(1).write_bytes(whole)


ODD = [pa.int8(), pa.float16(), pa.bool_(), pa.string(), pa.binary(), pa.large_list(pa.int16()), pa.list_(pa.string()),
       pa.struct([("a", pa.int64()), ("b", pa.float32())]), pa.timestamp("ns"), pa.decimal128(5), pa.null(),
       pa.list_(pa.struct([("a", pa.int64())])), pa.list_(pa.list_(pa.list_(pa.float32()))), pa.date32(),
       pa.dictionary(pa.int32(), pa.string()), pa.map_(pa.string(), pa.int64()), pa.list_(pa.float32(), 3)]  # fmt: skip


@pytest.mark.parametrize("kind", ODD, ids=str)
def test_a_column_of_any_type_is_told_by_its_name_and_never_crashes_it(tiny: Any, kind: Any) -> None:
    for name in ("hardware_ns", "action", "observation.left_glove", "observation.imu", "imu_ts_ns", "status.cam0",
                 "observation.slam_trajectory", "observation.gripper_left_force_ns"):  # fmt: skip
        before = tiny.data(1).read_bytes()
        tiny.edit_table(tiny.data(1), lambda columns, name=name: columns.update({name: pa.nulls(10, kind)}))
        report = checked(tiny.root)
        assert report is not None
        assert {each.number for each in report.findings if each.rule in ("data-type", "data-null")} == {1}
        tiny.data(1).write_bytes(before)
    tiny.edit_table(tiny.data(2), lambda columns: columns.update({name: pa.nulls(10, kind) for name in columns}))
    assert checked(tiny.root, deep=True) is not None


VALUES = [pa.array([7] * 10, pa.int8()), pa.array([True] * 10), pa.array(["x"] * 10), pa.array([b"\xff"] * 10),
          pa.array(np.zeros(10, np.float16)), pa.array([0] * 10, pa.timestamp("ns")), pa.array([0] * 10, pa.date32()),
          pa.array([1.5] * 10), pa.array([[1, 2]] * 10, pa.large_list(pa.int16())), pa.array([["x"]] * 10),
          pa.array([{"a": 1, "b": [2.0]}] * 10), pa.array([[{"a": 1}]] * 10), pa.array([[[[0.5]]]] * 10),
          pa.array(["x"] * 10).dictionary_encode(), pa.array([[("a", 1)]] * 10, pa.map_(pa.string(), pa.int64())),
          pa.array([[]] * 10, pa.list_(pa.float32())),
          pa.array([[]] * 10, pa.list_(pa.list_(pa.float32(), 6)))]  # fmt: skip


@pytest.mark.parametrize("values", VALUES, ids=lambda values: str(values.type))
def test_a_column_that_holds_anything_never_crashes_a_deep_check(tiny: Any, values: Any) -> None:
    sound = pq.read_schema(tiny.data(2))
    for half in (sound.names[::2], sound.names[1::2]):  # so that of each pair one is sound
        before = tiny.data(1).read_bytes()
        names = [name for name in half if name in pq.read_schema(tiny.data(1)).names]
        tiny.edit_table(tiny.data(1), lambda columns, names=names: columns.update(dict.fromkeys(names, values)))
        report = checked(tiny.root, deep=True)
        assert report is not None
        told = " ".join(each.found for each in report.findings if each.rule == "data-type" and each.number == 1)
        assert [name for name in names if f"{name} of" not in told] == [
            name for name in names if sound.field(name).type == values.type
        ]
        tiny.data(1).write_bytes(before)


@pytest.mark.parametrize("kind", ODD, ids=str)
def test_a_row_with_a_cell_of_any_type_is_told(tiny: Any, kind: Any) -> None:
    for name in pq.read_schema(tiny.row(2)).names:
        before = tiny.row(2).read_bytes()
        tiny.edit_table(tiny.row(2), lambda columns, name=name: columns.update({name: pa.nulls(1, kind)}))
        assert [(each.rule, each.number) for each in check(tiny.root).findings] == [("row-columns", 2)]
        tiny.row(2).write_bytes(before)


def test_names_twice_in_a_file_are_told(tiny: Any) -> None:
    for path, rule in ((tiny.data(2), "data-type"), (tiny.row(2), "row-columns")):
        before = path.read_bytes()
        table = pq.read_table(path)
        pq.write_table(table.append_column("episode_index", table.column("episode_index")), path, compression="zstd")
        assert [(each.rule, each.number) for each in check(tiny.root, deep=True).findings] == [(rule, 2)]
        path.write_bytes(before)


def test_names_that_are_no_utf8_are_told_in_words_that_can_be_printed(tiny: Any) -> None:
    (tiny.root / os.fsdecode(b"videos/chunk-000/c\xff")).mkdir()
    (tiny.root / os.fsdecode(b"\xfe")).mkdir()
    report = checked(tiny.root)
    assert report is not None
    assert [each.rule for each in report.findings] == ["stray-file"]


def test_a_slot_that_is_no_plain_name_is_told(tiny: Any) -> None:
    (tiny.root / "videos/chunk-000/a\\b").mkdir()
    assert [(each.rule, each.path) for each in check(tiny.root).findings] == [("video-slot", "videos/chunk-000/a\\b")]


def test_a_pipe_in_place_of_a_file_does_not_hold_it_up(tiny: Any) -> None:
    for path, rule in ((tiny.data(2), "data-missing"), (tiny.row(2), "row-unreadable")):
        before = path.read_bytes()
        path.unlink()
        os.mkfifo(path)
        start = time.monotonic()
        assert rule in [each.rule for each in check(tiny.root).findings]
        assert time.monotonic() - start < 5
        path.unlink()
        path.write_bytes(before)


def test_a_folder_that_cannot_be_listed_is_told_or_refused(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    listing = Path.iterdir

    def barred(self: Path) -> Any:
        if self.name == "chunk-000" and self.parent.name == "episodes":
            raise PermissionError(13, "Permission denied", str(self))
        return listing(self)

    monkeypatch.setattr(Path, "iterdir", barred)
    report = checked(tiny.root)
    assert report is not None
    assert ("folder-unreadable", "meta/episodes/chunk-000") in [(each.rule, each.path) for each in report.findings]


def test_files_that_may_not_be_looked_at_are_told(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    look = Path.stat

    def barred(self: Path, **options: Any) -> Any:
        if "chunk-000" in self.parent.parts:
            raise PermissionError(13, "Permission denied", str(self))
        return look(self, **options)

    monkeypatch.setattr(Path, "stat", barred)
    report = checked(tiny.root, deep=True)
    assert report is not None
    rules = {each.rule for each in report.findings}
    assert {"row-unreadable", "data-unreadable", "stray-file"} <= rules


@pytest.mark.parametrize("depth", [100, 900, 3000, 50_000])
def test_json_of_any_depth_and_numbers_of_any_length_are_told(tiny: Any, depth: int) -> None:
    deep, long = "[" * depth + "]" * depth, "9" * depth
    tiny.set_row(2, drop_stats=deep, calibration=long, force_matrix_specs='{"a": ' + deep + "}")
    for value in (deep, long):
        for name in ("info.json", "stats.json"):
            path = tiny.root / "meta" / name
            whole = path.read_text(encoding="utf-8")
            fresh = {"info.json": ('"sensor_dim": 256', f'"sensor_dim": {value}'),
                     "stats.json": ('"count": 0', f'"count": {value}')}[name]  # fmt: skip
            path.write_text(whole.replace(*fresh), encoding="utf-8")
            report = checked(tiny.root)
            assert report is None or "row-json" in [each.rule for each in report.findings]
            path.write_text(whole, encoding="utf-8")


def test_what_is_no_pooled_task_is_refused(tmp_path: Path, tiny: Any) -> None:
    (tmp_path / "old_task/old_task_000001").mkdir(parents=True)
    with pytest.raises(Refused, match=r"v1\.0"):
        check(tmp_path / "old_task")
    tiny.edit("info.json", lambda document: document.update(format="lerobot_v3"))
    with pytest.raises(Refused, match="lerobot_v3"):
        check(tiny.root)
