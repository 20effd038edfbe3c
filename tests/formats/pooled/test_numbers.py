"""A finished number is never given again; a freed one goes first."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quickdraw.formats.pooled import numbers
from quickdraw.formats.pooled.delete import delete
from quickdraw.formats.pooled.info import Info, recognise
from quickdraw.formats.pooled.layout import Layout


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return task(tmp_path / "task", ())


def task(root: Path, finished: Iterable[int], with_rows: Iterable[int] = ()) -> Layout:
    """A task with the data files and rows of these episodes; of a data file its name is enough."""
    layout = Layout(root)
    layout.meta.mkdir(parents=True)
    layout.info.write_text(json.dumps({"format": "pooled_episodes_v1"}))
    for number in finished:
        layout.data(number).parent.mkdir(parents=True, exist_ok=True)
        layout.data(number).touch()
    for number in with_rows:
        shard(layout.row(number), [number])
    return layout


def shard(path: Path, episodes: list[int]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"episode_index": pa.array(episodes, pa.int64())}), path)


def info(layout: Layout, last: int = 0) -> Info:
    return replace(recognise(layout.root), last_number=last)


@pytest.mark.parametrize(("watermark", "expected"), [(50, 50), (0, 3), (-4, 3), (2, 3), (3, 3), (4, 4)])
def test_the_watermark_is_a_proposal_that_never_goes_below_what_is_there(
    tmp_path: Path, watermark: int, expected: int
) -> None:
    layout = task(tmp_path / "task", (1, 2))
    assert numbers.next_number(layout, info(layout), watermark=watermark) == expected


def test_a_new_task_begins_at_1(tmp_path: Path) -> None:
    assert numbers.next_number(Layout(tmp_path / "none"), None) == 1
    assert numbers.known_numbers(Layout(tmp_path / "none")) == set()


def test_a_freed_number_goes_first_though_the_watermark_is_far_ahead(tmp_path: Path) -> None:
    layout = task(tmp_path / "task", (1, 2, 3))
    numbers.write_marker(layout, 4)
    assert numbers.next_number(layout, info(layout), watermark=4) == 4
    assert numbers.next_number(layout, info(layout), watermark=50) == 4
    assert numbers.read_marker(layout) == 4, "only a finished recording clears it"


def test_a_marker_of_a_taken_number_is_deleted_and_passed_over(tmp_path: Path) -> None:
    layout = task(tmp_path / "task", (1, 2))
    numbers.write_marker(layout, 2)
    assert numbers.next_number(layout, info(layout), watermark=50) == 50
    assert not layout.recycled.exists()


def test_foreseeing_a_number_changes_nothing(tmp_path: Path) -> None:
    layout = task(tmp_path / "task", (1, 2))
    for marker, expected in ((2, 9), (7, 7)):
        numbers.write_marker(layout, marker)
        before = layout.recycled.read_bytes()
        assert numbers.foreseen_number(layout, info(layout), watermark=9) == expected
        assert layout.recycled.read_bytes() == before


def test_a_video_alone_takes_its_number(tmp_path: Path) -> None:
    layout = task(tmp_path / "task", (1,))
    video = layout.video(5, "cam", "mp4")
    video.parent.mkdir(parents=True)
    video.touch()
    numbers.write_marker(layout, 5)  # the abort was killed before it removed its files
    assert numbers.next_number(layout, info(layout)) == 6
    assert not layout.recycled.exists()


def test_a_marker_of_a_number_with_a_row_or_not_above_the_last_finished_is_not_free(tmp_path: Path) -> None:
    layout = task(tmp_path / "task", (1,), with_rows=(7,))
    numbers.write_marker(layout, 7)
    assert numbers.next_number(layout, info(layout)) == 8
    assert not layout.recycled.exists()
    numbers.write_marker(layout, 9)
    assert numbers.next_number(layout, info(layout, last=9)) == 10
    assert not layout.recycled.exists()


def test_rows_in_files_of_any_name_take_their_numbers(tmp_path: Path) -> None:
    layout = task(tmp_path / "task", (1,), with_rows=(3,))
    shard(layout.shard(1), [1, 2, 40])
    shard(layout.old_row(9), [9])
    shard(layout.rows / "chunk-002" / "file-002.parquet", [0, 2001, 2003])
    (layout.rows / "chunk-000" / ".episode-090.parquet.tmp").touch()
    (layout.rows / "chunk-000" / "episode-004.parquet").touch()  # empty, but it was there
    (layout.rows / "chunk-000" / "file-080.parquet").write_bytes(b"torn")
    assert numbers.known_numbers(layout) == {1, 2, 3, 5, 9, 40, 2001, 2003}
    assert numbers.next_number(layout, info(layout)) == 2004


def test_folders_and_files_of_more_digits_count(layout: Layout) -> None:
    for name in ("data/chunk-1234/episode-000.parquet", "data/chunk-000/episode-1500.parquet"):
        (layout.root / name).parent.mkdir(parents=True, exist_ok=True)
        (layout.root / name).touch()
    assert numbers.known_numbers(layout) == {1_234_001, 1501}
    assert numbers.next_number(layout, info(layout)) == 1_234_002


def test_after_the_highest_was_deleted_the_numbers_go_on(tmp_path: Path) -> None:
    layout = task(tmp_path / "task", (1, 2, 3), with_rows=(1, 2, 3))
    delete(layout, 3, with_row=True, apply=True)
    assert numbers.known_numbers(layout) == {1, 2}
    assert numbers.next_number(layout, recognise(layout.root)) == 4


@pytest.mark.parametrize("with_row", [False, True])
def test_after_all_were_deleted_the_numbers_go_on(tmp_path: Path, with_row: bool) -> None:
    layout = task(tmp_path / "task", (1, 2, 1000, 1001), with_rows=(1, 2, 1001))
    for number in (1001, 2, 1, 1000):
        delete(layout, number, with_row=with_row, apply=True)
    assert not (layout.root / "data").exists()
    assert numbers.next_number(layout, recognise(layout.root)) == 1002


def test_the_sample_gives_the_number_that_was_freed(sample_pooled: Path) -> None:
    described = recognise(sample_pooled / "recordings" / "手套_抓取")
    assert numbers.known_numbers(described.layout) == {1, 2, 1000, 1001}
    assert numbers.foreseen_number(described.layout, described, watermark=2000) == 3


def test_the_numbers_of_a_shard_and_of_loose_rows_are_known(sample_pooled: Path) -> None:
    recordings = sample_pooled / "recordings"
    assert numbers.known_numbers(Layout(recordings / "legacy_v110")) == {1, 2, 3, 4}
    assert numbers.known_numbers(Layout(recordings / "loose_ends")) == {1, 2, 3, 4}


def test_a_marker_is_the_contracts_one_object_and_reads_back(layout: Layout) -> None:
    numbers.write_marker(layout, 12)
    text = layout.recycled.read_text()
    assert set(json.loads(text)) == {"episode_index", "freed_at"}
    assert text.startswith('{"episode_index":12,"freed_at":"20')
    time.strptime(json.loads(text)["freed_at"], "%Y-%m-%dT%H:%M:%SZ")
    assert numbers.read_marker(layout) == 12
    numbers.write_marker(layout, 13)  # there is room for one
    assert numbers.read_marker(layout) == 13
    numbers.write_marker(layout, 0)
    assert not layout.recycled.exists()
    numbers.clear_marker(layout)
    assert [each.name for each in layout.meta.iterdir()] == ["info.json"]


UNREADABLE = [
    b"",
    b"{",
    b"[3]",
    b"3",
    b"null",
    b'{"episode_index": 0}',
    b'{"episode_index": -3}',
    b'{"episode_index": "3"}',
]
UNREADABLE += [b'{"episode_index": true}', b'{"episode_index": 3.0}', b'{"freed_at": ""}', b"\xff", b"[" * 100_000]
UNREADABLE += [b'{"episode_index": 1e400}', b'{"episode_index": 99999999999999999999}']


@pytest.mark.parametrize("content", UNREADABLE, ids=range(len(UNREADABLE)))
def test_a_marker_that_tells_no_number_is_none(layout: Layout, content: bytes) -> None:
    layout.recycled.write_bytes(content)
    assert numbers.read_marker(layout) == 0
    assert numbers.next_number(layout, info(layout)) == 1


EPISODES = st.sets(st.integers(1, 30), max_size=6)


@settings(max_examples=60, deadline=None)
@given(
    files=EPISODES,
    rows=EPISODES,
    last=st.integers(0, 30),
    watermark=st.integers(0, 40),
    marker=st.integers(0, 30),
)
def test_what_is_given_was_never_finished(
    tmp_path_factory: pytest.TempPathFactory, files: set[int], rows: set[int], last: int, watermark: int, marker: int
) -> None:
    layout = task(tmp_path_factory.mktemp("numbers") / "task", files, with_rows=rows)
    numbers.write_marker(layout, marker)
    given_number = numbers.next_number(layout, info(layout, last), watermark=watermark)
    finished = files | rows | set(range(1, last + 1))
    assert given_number not in finished
    if marker and marker not in finished:
        assert given_number == marker
    else:
        assert given_number == max([*finished, watermark - 1, 0]) + 1


def test_numbers_of_5_000_episodes_are_known_at_once(tmp_path: Path) -> None:
    layout = task(tmp_path / "task", ())
    for number in range(1, 5_001):
        for path in (layout.data(number), layout.row(number)):
            if number % 1000 == 1:
                path.parent.mkdir(parents=True)
            path.touch()
    begin = time.perf_counter()
    assert len(numbers.known_numbers(layout)) == 5_000
    seconds = time.perf_counter() - begin
    print(f"5,000 episodes' numbers in {seconds * 1e3:.0f} ms")
    assert seconds < 2


def test_what_the_caller_knows_already_is_not_looked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = Layout(tmp_path / "task")
    monkeypatch.setattr(numbers, "known_numbers", lambda _: pytest.fail("looked again"))
    assert numbers.next_number(layout, None, known={1, 4}) == 5
    assert numbers.foreseen_number(layout, None, watermark=9, known=set()) == 9


def test_a_folder_in_the_markers_place_is_no_marker(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "task")
    layout.recycled.mkdir(parents=True)
    assert numbers.next_number(layout, None) == 1
