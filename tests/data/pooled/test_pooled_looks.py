"""How an episode looks before it is read: otherwise when a file that is read changes, and only then."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quickdraw.core.episode import EpisodeKey
from quickdraw.data.pooled_episodes.source import PooledEpisodes
from quickdraw.data.pooled_episodes.task_folders import task_folder

type Make = Callable[..., PooledEpisodes]

FIRST = EpisodeKey("plain", "episode_000001")


def touch(path: Path) -> None:
    os.utime(path, ns=(1, 1))


def rewrite_info(path: Path) -> None:
    path.write_text(path.read_text().replace('"task_name": "plain"', '"task_name": "other"'))


CHANGES: dict[str, Callable[[Path], Any]] = {
    "data": lambda task: touch(task / "data/chunk-000/episode-000.parquet"),
    "video": lambda task: touch(task / "videos/chunk-000/cam/episode-000.mp4"),
    "row": lambda task: touch(task / "meta/episodes/chunk-000/episode-000.parquet"),
    "no row": lambda task: (task / "meta/episodes/chunk-000/episode-000.parquet").unlink(),
    "old row": lambda task: shutil.copy(task / "meta/info.json", task / "meta/episodes/chunk-000/file-000.parquet"),
    "text": lambda task: (task / "meta/tasks.jsonl").write_text('{"task_index": 0, "task": "x"}'),
    "name": lambda task: rewrite_info(task / "meta/info.json"),
    "slot": lambda task: shutil.copytree(task / "videos/chunk-000/cam", task / "videos/chunk-000/other"),
    "gone": lambda task: shutil.rmtree(task / "videos"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_an_episode_looks_otherwise_when_a_file_that_is_read_changes(
    spoiled: Callable[[str], Path], pooled: Make, name: str
) -> None:
    task = spoiled("plain")
    source = pooled(task.parent)
    before = source.looks(FIRST)
    CHANGES[name](task)
    assert source.looks(FIRST) != before


def test_an_episode_looks_the_same_when_another_is_recorded(spoiled: Callable[[str], Path], pooled: Make) -> None:
    task = spoiled("plain")
    source = pooled(task.parent)
    before = source.looks(FIRST)
    for part, kind in (("data", "parquet"), ("videos", "mp4"), ("meta/episodes", "parquet")):
        for path in list((task / part).rglob(f"episode-001.{kind}")):
            shutil.copy(path, path.with_name(f"episode-002.{kind}"))
    info = task / "meta/info.json"
    info.write_text(info.read_text().replace('"total_episodes": 2', '"total_episodes": 3'))
    assert source.looks(FIRST) == before
    assert [key.run for key in source.campaign("plain").runs][-1] == "episode_000003"


def test_a_task_is_read_once_as_long_as_it_is_the_same(
    simulated: Path, pooled: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    task_folder(simulated / "plain")
    monkeypatch.setattr("quickdraw.data.pooled_episodes.task_folders.scan", lambda _: pytest.fail("read again"))
    source = pooled(simulated)
    for key in source.campaign("plain").runs * 20:
        source.looks(key)
