"""Legacy shards: rewritten under the lock on `.lock`, whole at every moment, nothing but one row lost."""

from __future__ import annotations

import fcntl
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quickdraw.formats.pooled import exclusive, journal, rows, shards
from quickdraw.formats.pooled.layout import Layout


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path / "task")


def put(path: Path, numbers: list[int], **columns: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table({"episode_index": pa.array(numbers, pa.int64()), "length": [10 * n for n in numbers], **columns})
    pq.write_table(table, path)
    return path


def drop(layout: Layout, number: int) -> list[Path]:
    """N's row out of what is not its own, and which files that were."""
    with shards.parting(layout, number) as (renames, removals):
        if renames or removals:
            journal.commit(layout, renames, removals)
    return [*(place for _, place in renames), *removals]


def test_one_row_is_dropped_and_the_others_stay_with_columns_of_a_later_version(layout: Layout) -> None:
    path = put(layout.shard(1), [1, 2, 3], later=pa.array([7, None, 9], pa.int8()))
    before = pq.read_table(path)
    assert drop(layout, 2) == [path]
    after = pq.read_table(path)
    assert after.schema.equals(before.schema, check_metadata=True)
    assert after.to_pylist() == [before.to_pylist()[0], before.to_pylist()[2]]
    assert layout.shard_lock.read_bytes() == b""


def test_a_shard_without_a_row_left_is_removed(layout: Layout) -> None:
    path = put(layout.shard(1001), [1001, 1002])
    drop(layout, 1001)
    drop(layout, 1002)
    assert not path.exists()


def test_dropping_what_is_not_there_touches_nothing_not_even_the_lock(layout: Layout) -> None:
    path = put(layout.shard(1), [1, 2])
    before = path.stat()
    assert drop(layout, 5) == []
    assert path.stat().st_ino == before.st_ino
    assert not layout.shard_lock.exists()
    assert drop(Layout(layout.root / "none"), 5) == []


def test_an_episodes_own_file_is_never_dropped_but_a_shard_of_that_name_is_parted(layout: Layout) -> None:
    own, shard = put(layout.row(2), [2]), put(layout.row(1), [1, 2])
    assert shards.holders(layout, 2) == []
    assert drop(layout, 1) == [shard]
    assert pq.read_table(shard).column("episode_index").to_pylist() == [2]
    assert own.exists()


def test_a_file_of_the_old_name_goes_by_its_content(layout: Layout) -> None:
    old, other = put(layout.old_row(7), [7]), put(layout.old_row(8), [80])
    torn = layout.old_row(9)
    torn.write_bytes(b"torn")
    assert drop(layout, 7) == [old]
    assert drop(layout, 8) == drop(layout, 9) == []
    assert (old.exists(), other.exists(), torn.exists()) == (False, True, True)


def test_parting_changes_nothing_before_it_is_committed_and_holds_the_lock_meanwhile(layout: Layout) -> None:
    shard, old = put(layout.shard(1), [1, 2, 3]), put(layout.old_row(2), [2])
    before = shard.read_bytes(), old.read_bytes()
    with shards.parting(layout, 2) as (renames, removals):
        assert [place for _, place in renames] == [shard]
        assert removals == [old]
        assert (shard.read_bytes(), old.read_bytes()) == before
        with layout.shard_lock.open("ab") as anchor, pytest.raises(BlockingIOError):
            fcntl.flock(anchor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with exclusive.changing(layout):
        pass  # a recording that died here leaves no hidden file
    assert sorted(each.name for each in shard.parent.iterdir()) == sorted([shard.name, old.name])
    with shards.parting(layout, 9) as nothing:
        assert nothing == ([], [])


def test_the_rewrite_waits_for_another_programs_lock(layout: Layout) -> None:
    path = put(layout.shard(1), [1, 2])
    with layout.shard_lock.open("ab") as anchor:
        fcntl.flock(anchor, fcntl.LOCK_EX)
        dropping = threading.Thread(target=drop, args=(layout, 1))
        dropping.start()
        dropping.join(0.2)
        assert dropping.is_alive()
        put(path, [1, 2, 3])  # the other program's rewrite, of another inode or not
        fcntl.flock(anchor, fcntl.LOCK_UN)
        dropping.join(10)
    assert not dropping.is_alive()
    assert pq.read_table(path).column("episode_index").to_pylist() == [2, 3]


def test_readers_of_a_shard_under_rewrite_never_see_it_torn_or_without_the_others(layout: Layout) -> None:
    put(layout.shard(1), list(range(1, 41)))
    stop, seen = threading.Event(), []

    def read() -> None:
        while not stop.is_set():
            row = rows.read_row(layout, 40)
            seen.append(row.length if row else None)

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(1, 40):
        drop(layout, number)
    stop.set()
    reader.join(10)
    assert set(seen) == {400}
