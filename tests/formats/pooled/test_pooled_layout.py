"""N to files and back, names of folders, and templates that are input."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickdraw.formats.pooled.layout import Layout, Place, task_folder

LAYOUT = Layout(Path("/r/t"))


@pytest.mark.parametrize(
    ("number", "chunk", "file"),
    [(1, 0, 0), (2, 0, 1), (1000, 0, 999), (1001, 1, 0), (2001, 2, 0), (1_234_567, 1234, 566)],
)
def test_an_episode_lies_where_the_contract_says(number: int, chunk: int, file: int) -> None:
    assert LAYOUT.place(number) == Place(chunk, file)
    assert LAYOUT.data(number) == Path(f"/r/t/data/chunk-{chunk:03d}/episode-{file:03d}.parquet")
    assert LAYOUT.row(number) == Path(f"/r/t/meta/episodes/chunk-{chunk:03d}/episode-{file:03d}.parquet")
    assert LAYOUT.video(number, "D435_头", "mkv") == Path(
        f"/r/t/videos/chunk-{chunk:03d}/D435_头/episode-{file:03d}.mkv"
    )
    assert LAYOUT.shard(number) == Path(f"/r/t/meta/episodes/chunk-{chunk:03d}/file-{chunk:03d}.parquet")


@given(st.integers(1, 10**9), st.integers(1, 10**6))
def test_number_and_place_are_each_others_inverse(number: int, chunks_size: int) -> None:
    layout = Layout(Path(), chunks_size)
    place = layout.place(number)
    assert layout.number(place) == number
    assert 0 <= place.file < chunks_size


@pytest.mark.parametrize("number", [0, -1])
def test_0_would_share_the_files_of_1_and_is_refused(number: int) -> None:
    for path in (LAYOUT.place, LAYOUT.data, LAYOUT.row, LAYOUT.shard, LAYOUT.old_row):
        with pytest.raises(ValueError, match="numbers start at 1"):
            path(number)


def test_the_suffix_repeats_in_every_chunk() -> None:
    assert LAYOUT.place(12).suffix == "_ep000011"
    assert LAYOUT.place(1).suffix == LAYOUT.place(1001).suffix == "_ep000000"


@pytest.mark.parametrize("slot", ["", "..", ".hidden", "a/b", "a\\b", "a\0b"])
def test_a_slot_is_one_plain_folder(slot: str) -> None:
    with pytest.raises(ValueError, match="no plain folder name"):
        LAYOUT.video(1, slot, "mp4")


def test_a_row_is_written_by_todays_name_in_a_task_of_shards() -> None:
    layout = Layout(Path("/t"), episodes_path="meta/episodes/chunk-{c:03d}/file-{c:03d}.parquet")
    assert layout.row(1002) == Path("/t/meta/episodes/chunk-001/episode-001.parquet")


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("", "session"),
        ("pick", "pick"),
        ("手套_抓取", "手套_抓取"),
        (" a b/c.d ", "a_b_c_d"),
        ("../up", "___up"),
        ("é-Ω_9", "é-Ω_9"),
    ],
)
def test_a_task_name_becomes_a_folder(name: str, folder: str) -> None:
    assert task_folder(name) == folder


@pytest.mark.parametrize("name", [" ", "\t\n"])
def test_a_name_of_white_space_would_be_the_recordings_folder_itself(name: str) -> None:
    with pytest.raises(ValueError, match="nothing a folder could be named by"):
        task_folder(name)
