"""Legacy shards parted: once, wholly or not at all, and over nothing that is there."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quickdraw.errors import Refused
from quickdraw.formats.pooled import row_tables, rows
from quickdraw.formats.pooled.exclusive import changing
from quickdraw.formats.pooled.info import recognise
from quickdraw.formats.pooled.layout import EPISODES_PATH, Layout
from quickdraw.formats.pooled.split_episodes import apply, plan


class Killed(BaseException):
    """As SIGKILL: nothing catches it."""


@pytest.fixture
def legacy(sample_pooled: Path, tmp_path: Path) -> Layout:
    """The sample's v1.1.0 task, where it may be changed."""
    source, target = sample_pooled / "recordings" / "legacy_v110", tmp_path / "legacy_v110"
    for path in source.rglob("*"):
        if path.is_file():
            place = target / path.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)
    return recognise(target).layout


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path / "task")
    layout.meta.mkdir(parents=True)
    layout.info.write_text(json.dumps({"format": "pooled_episodes_v1", "later": "kept"}))
    return layout


def put(path: Path, numbers: list[int | None], **columns: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lengths = [10 * (n or 0) for n in numbers]
    pq.write_table(pa.table({"episode_index": pa.array(numbers, pa.int64()), "length": lengths, **columns}), path)
    return path


def content(root: Path) -> dict[str, bytes]:
    files = (each for each in root.rglob("*") if each.is_file() and each.name not in (".lock", ".recorder.lock"))
    return {each.relative_to(root).as_posix(): each.read_bytes() for each in files}


def test_the_samples_shard_is_parted_into_rows_of_eleven_columns(legacy: Layout) -> None:
    shard = pq.read_table(legacy.shard(1))
    before = content(legacy.root)
    planned = plan(legacy)
    assert planned.changes
    assert planned.template
    assert [(each.path, list(each.pieces)) for each in planned.shards] == [(legacy.shard(1), [1, 2, 3, 4])]
    assert content(legacy.root) == before, "a plan changes nothing"
    assert apply(planned).shards == planned.shards
    for at, number in enumerate((1, 2, 3, 4)):
        table = pq.read_table(legacy.root / f"meta/episodes/chunk-000/episode-{at:03d}.parquet")
        assert table.schema.equals(row_tables.SCHEMA)
        assert table.to_pylist() == [{**shard.to_pylist()[at], "force_matrix_specs": "{}"}]
        assert table.column("episode_index").to_pylist() == [number]
    assert not legacy.shard(1).exists()
    document = json.loads(legacy.info.read_bytes())
    assert document == {**json.loads(before["meta/info.json"]), "episodes_path": EPISODES_PATH}
    after = content(legacy.root)
    changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    assert changed == {
        "meta/info.json",
        "meta/episodes/chunk-000/file-000.parquet",
        *(f"meta/episodes/chunk-000/episode-{at:03d}.parquet" for at in range(4)),
    }


def test_a_second_run_changes_nothing_not_even_a_time(legacy: Layout) -> None:
    apply(plan(legacy))
    before = {path: path.stat().st_mtime_ns for path in legacy.rows.rglob("*.parquet")}
    info = legacy.info.stat()
    again = recognise(legacy.root).layout
    assert not plan(again).changes
    assert not apply(plan(again)).changes
    assert {path: path.stat().st_mtime_ns for path in legacy.rows.rglob("*.parquet")} == before
    assert (legacy.info.stat().st_mtime_ns, legacy.info.stat().st_ino) == (info.st_mtime_ns, info.st_ino)


def test_the_bytes_of_an_existing_per_episode_file_are_never_touched(legacy: Layout) -> None:
    own = put(legacy.row(2), [2], later=["newer"])
    before, seen = own.read_bytes(), own.stat()
    planned = plan(legacy)
    assert planned.shards[0].kept == {2: own}
    assert list(planned.shards[0].pieces) == [1, 3, 4]
    apply(planned)
    assert own.read_bytes() == before
    assert (own.stat().st_ino, own.stat().st_mtime_ns) == (seen.st_ino, seen.st_mtime_ns)
    assert not legacy.shard(1).exists()
    row = rows.read_row(legacy, 2)
    assert row is not None
    assert row.length == 20


@pytest.mark.parametrize("call", ["replace", "unlink"])
def test_a_kill_at_every_step_leaves_the_shard_or_its_pieces(
    legacy: Layout, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, call: str
) -> None:
    real = getattr(os, call)
    before = content(legacy.root)
    done = Layout(Path(shutil.copytree(legacy.root, tmp_path / "done")), episodes_path=legacy.episodes_path)
    apply(plan(done))
    after = content(done.root)
    for k in range(100):
        here = Layout(Path(shutil.copytree(legacy.root, tmp_path / f"copy{k}")), episodes_path=legacy.episodes_path)
        calls = []

        def dying(*arguments: Any, at: int = k, seen: list[Any] = calls, **named: Any) -> Any:
            seen.append(arguments)
            if len(seen) == at + 1:
                raise Killed
            return real(*arguments, **named)

        planned = plan(here)
        with monkeypatch.context() as patched:
            patched.setattr(os, call, dying)
            try:
                apply(planned)
            except Killed:
                pass
            else:
                break
        assert {n for n in range(1, 5) if rows.read_row(here, n)} == {1, 2, 3, 4}, "readable at once"
        with changing(here):
            assert content(here.root) in (before, after)
        apply(plan(here))
        assert content(here.root) == after
    assert k == (6 if call == "replace" else 2)


@pytest.mark.parametrize("numbers", [[1, None, 2], [1, 0], [-5, 1]])
def test_a_row_without_a_valid_number_is_refused_rather_than_lost(layout: Layout, numbers: list[int | None]) -> None:
    put(layout.shard(1), numbers)
    before = content(layout.root)
    with pytest.raises(Refused, match="with none, or one below 1"):
        plan(layout)
    assert content(layout.root) == before


def test_every_fault_is_told_at_once(layout: Layout) -> None:
    put(layout.shard(1), [1, 1, None, None], created_at=[1.0, 2.0, 0.0, 0.0])
    put(layout.shard(1001), [1001, 1002])
    put(layout.row(1001), [7])
    layout.row(1002).write_bytes(b"torn")
    (layout.rows / "chunk-001" / "file-009.parquet").write_bytes(b"torn")
    put(layout.shard(2001), [2001, 2002], created_at=["yesterday", ""])
    with pytest.raises(Refused) as refused:
        plan(layout)
    told = [(Path(each.path).name, each.found) for each in refused.value.faults]
    assert told[:3] == [
        ("file-000.parquet", "two different rows of 1"),
        ("file-000.parquet", "row 2 with none, or one below 1"),
        ("file-000.parquet", "row 3 with none, or one below 1"),
    ]
    assert ("file-009.parquet", "unreadable") in told
    assert ("episode-000.parquet", "another episode, or nothing readable") in told
    assert ("episode-001.parquet", "another episode, or nothing readable") in told
    assert any(name == "file-002.parquet" and "of type double" in found for name, found in told)


def test_a_row_that_is_there_twice_and_the_same_is_one(layout: Layout) -> None:
    put(layout.shard(1), [1, 1, 2])
    put(layout.rows / "chunk-000" / "file-007.parquet", [2, 3])
    apply(plan(layout))
    assert [path.name for path in sorted(layout.rows.rglob("*.parquet"))] == [
        f"episode-{at:03d}.parquet" for at in range(3)
    ]


def test_columns_of_a_later_version_go_along(layout: Layout) -> None:
    put(layout.shard(1), [1, 2], later=pa.array([[1], None], pa.list_(pa.int16())))
    apply(plan(layout))
    tables = [pq.read_table(layout.row(number)) for number in (1, 2)]
    assert [each.schema.names for each in tables] == [[*row_tables.SCHEMA.names, "later"]] * 2
    assert [each.column("later").to_pylist() for each in tables] == [[[1]], [None]]
    assert tables[0].schema.field("later").type == pa.list_(pa.int16())
    assert [each.column("video_codec").to_pylist() for each in tables] == [["{}"], ["{}"]]


def test_cells_without_a_value_get_the_default_and_other_types_the_contracts(layout: Layout) -> None:
    texts = {"calibration": pa.array([None, '{"a": 1}']), "created_at": pa.array([None, 5], pa.int32())}
    put(layout.shard(1), [1, 2], task_index=pa.array([None, 0], pa.int8()), **texts)
    apply(plan(layout))
    tables = [pq.read_table(layout.row(number)) for number in (1, 2)]
    assert all(each.schema.equals(row_tables.SCHEMA) for each in tables)
    cells = [each.to_pylist()[0] for each in tables]
    assert [(each["task_index"], each["created_at"], each["calibration"]) for each in cells] == [
        (0, 0.0, "{}"),
        (0, 5.0, '{"a": 1}'),
    ]


def test_files_of_one_row_or_none_stay_whatever_their_name(layout: Layout) -> None:
    put(layout.old_row(1), [1])
    put(layout.old_row(2), [])
    put(layout.row(3), [3])
    before = content(layout.root)
    assert not apply(plan(layout)).changes
    assert content(layout.root) == before
    assert not layout.shard_lock.exists()


def test_a_shard_that_bears_an_episodes_own_name_becomes_that_episodes_file(layout: Layout) -> None:
    put(layout.row(1), [1, 2, 3])
    put(layout.row(1001), [1002, 1003])
    apply(plan(layout))
    for number in (1, 2, 3, 1002, 1003):
        assert pq.read_table(layout.row(number)).column("episode_index").to_pylist() == [number]
    assert not layout.row(1001).exists()


def test_the_templates_key_is_left_where_it_is_right_and_unknown_keys_stay(layout: Layout) -> None:
    layout.info.write_text(json.dumps({"format": "pooled_episodes_v1", "episodes_path": EPISODES_PATH, "later": [1]}))
    before = layout.info.read_bytes()
    put(layout.shard(1), [1, 2])
    planned = plan(recognise(layout.root).layout)
    assert not planned.template
    apply(planned)
    assert layout.info.read_bytes() == before


def test_a_reader_that_looks_while_a_shard_is_parted_finds_its_row(
    legacy: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, planned, asked = row_tables.read_table, plan(legacy), []

    def slowly(path: Path) -> Any:
        table = real(path)
        asked.append(path)
        if len(asked) == 1:  # the reader has seen that there is no file of the episode's own
            apply(planned)
        return table

    monkeypatch.setattr(rows, "read_table", slowly)
    row = rows.read_row(legacy, 2)
    assert row is not None
    assert row.number == 2


def test_a_task_that_is_being_recorded_is_left_alone(legacy: Layout) -> None:
    before = content(legacy.root)
    with changing(legacy), pytest.raises(Refused, match="is at work"):
        apply(plan(legacy))
    assert content(legacy.root) == before


def test_a_task_without_shards_loses_an_old_template_too(tmp_path: Path, sample_pooled: Path) -> None:
    root = Path(shutil.copytree(sample_pooled / "recordings/two_slots", tmp_path / "two_slots"))
    path = root / "meta/info.json"
    path.write_text(
        path.read_text().replace('episode-{f:03d}.parquet",\n  "codebase', 'file-{c:03d}.parquet",\n  "codebase')
    )
    layout = recognise(root).layout
    assert layout.episodes_path.endswith("file-{c:03d}.parquet")
    planned = plan(layout)
    assert (planned.shards, planned.template) == ((), True)
    apply(planned)
    assert recognise(root).layout.episodes_path == EPISODES_PATH
    assert not plan(recognise(root).layout).changes


def test_a_shard_is_read_to_plan_to_look_again_and_to_part_and_no_more(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    shard, seen = put(layout.shard(1), [1, 2]), list[Path]()
    real = row_tables.read_table

    def counting(path: Path) -> Any:
        seen.append(path)
        return real(path)

    monkeypatch.setattr(row_tables, "read_table", counting)
    apply(plan(layout))
    assert seen.count(shard) == 3


def test_a_plan_of_no_changes_touches_nothing(layout: Layout) -> None:
    before = sorted(layout.root.rglob("*"))
    assert not apply(plan(layout)).changes
    assert sorted(layout.root.rglob("*")) == before


@pytest.mark.parametrize("differ", [False, True])
def test_two_rows_of_one_number_are_compared_by_values_python_has_none_of_too(layout: Layout, differ: bool) -> None:
    for path, last in ((layout.shard(1), 1), (layout.rows / "chunk-000/file-007.parquet", 1 + differ)):
        at = pa.array([2**62 + last, 2**62 + 1], pa.int64()).view(pa.timestamp("us"))
        put(path, [1, 2], at=at)
    if differ:
        with pytest.raises(Refused, match="two different rows of 1"):
            plan(layout)
    else:
        assert plan(layout).changes
