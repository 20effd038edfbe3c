"""Episodes are found by listing folders; hidden files and what is no episode are passed over."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from quickdraw.formats.pooled.layout import Layout
from quickdraw.formats.pooled.scan import is_auxiliary, scan


def touch(root: Path, *places: str) -> None:
    for place in places:
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).touch()


def test_data_and_videos_are_authority_and_rows_are_not(tmp_path: Path) -> None:
    touch(
        tmp_path,
        "data/chunk-000/episode-000.parquet",
        "videos/chunk-001/cam/episode-000.mp4",
        "meta/episodes/chunk-000/episode-007.parquet",
    )
    found = scan(Layout(tmp_path))
    assert list(found) == [1, 1001]
    assert found[1].data == tmp_path / "data/chunk-000/episode-000.parquet"
    assert found[1001].data is None
    assert found[1001].videos == {"cam": [tmp_path / "videos/chunk-001/cam/episode-000.mp4"]}


def test_hidden_files_and_strangers_are_passed_over(tmp_path: Path) -> None:
    touch(
        tmp_path,
        "data/chunk-000/.episode-000.parquet.tmp",
        "data/chunk-000/episode-000.parquet.bak",
        "data/chunk-x/episode-000.parquet",
        "data/.chunk-000/episode-000.parquet",
        "videos/chunk-000/cam/.episode-001.mp4.tmp",
        "videos/chunk-000/notes.txt",
        "_trash/data/chunk-000/episode-000.parquet",
    )
    assert scan(Layout(tmp_path)) == {}


def test_more_digits_than_three_still_count(tmp_path: Path) -> None:
    touch(tmp_path, "data/chunk-1234/episode-0005.parquet")
    assert list(scan(Layout(tmp_path))) == [1_234_006]


def test_auxiliary_streams_are_known_but_no_video_of_a_slot(tmp_path: Path) -> None:
    touch(
        tmp_path,
        "videos/chunk-000/cam/episode-000.mp4",
        "videos/chunk-000/cam/episode-000_aux.mp4",
        "videos/chunk-000/cam/episode-000.aux1.mp4",
        "videos/chunk-000/cam_aux/episode-000.mp4",
    )
    (files,) = scan(Layout(tmp_path)).values()
    assert list(files.videos) == ["cam"]
    assert len(files.videos["cam"]) == 1
    assert len(files.auxiliary) == 3


def test_two_extensions_of_one_slot_are_both_told(tmp_path: Path) -> None:
    touch(tmp_path, "videos/chunk-000/d/episode-000.mkv", "videos/chunk-000/d/episode-000.mp4")
    assert [path.suffix for path in scan(Layout(tmp_path))[1].videos["d"]] == [".mkv", ".mp4"]


def test_chunks_are_as_large_as_the_task_says(tmp_path: Path) -> None:
    touch(tmp_path, "data/chunk-002/episode-001.parquet")
    assert list(scan(Layout(tmp_path, chunks_size=10))) == [22]


def test_folders_and_pipes_of_an_episodes_name_are_none_and_a_link_is_one(tmp_path: Path) -> None:
    for place in ("videos/chunk-000/odd/episode-000.png", "data/chunk-000/episode-000.parquet"):
        (tmp_path / place).mkdir(parents=True)
    os.mkfifo(tmp_path / "data/chunk-000/episode-001.parquet")
    assert scan(Layout(tmp_path)) == {}
    touch(tmp_path, "elsewhere.parquet")
    (tmp_path / "data/chunk-000/episode-002.parquet").symlink_to(tmp_path / "elsewhere.parquet")
    (tmp_path / "data/chunk-000/episode-003.parquet").symlink_to(tmp_path / "data")
    (tmp_path / "data/chunk-000/episode-004.parquet").symlink_to(tmp_path / "a disk that is away")
    assert list(scan(Layout(tmp_path))) == [3, 5]


@pytest.mark.parametrize(
    ("slot", "file", "expected"),
    [
        ("cam", "episode-000.mp4", False),
        ("cam", "episode-000_aux.mp4", True),
        ("cam", "episode-000.aux1.mp4", True),
        ("cam_aux", "episode-000.mp4", True),
        ("cam_aux_2", "", True),
        ("cam_auxiliary", "episode-000.mp4", False),
        ("aux", "", False),
    ],
)
def test_what_is_auxiliary_is_told_by_slot_or_file(slot: str, file: str, expected: bool) -> None:
    assert is_auxiliary(slot, file) is expected
