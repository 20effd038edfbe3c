"""Where the files of an episode lie, and a whole task written to them."""

from __future__ import annotations

from pathlib import Path

from quickdraw.sim.pooled import documents, statistics, table, videos
from quickdraw.sim.pooled.spec import CHUNKS_SIZE, EpisodeSpec, SlotSpec, TaskSpec


def data_path(task: Path, number: int) -> Path:
    """The rows of episode N."""
    return task / "data" / _chunk(number) / f"{_episode(number)}.parquet"


def row_path(task: Path, number: int) -> Path:
    """The one-row file of episode N."""
    return task / "meta" / "episodes" / _chunk(number) / f"{_episode(number)}.parquet"


def video_path(task: Path, number: int, slot: SlotSpec) -> Path:
    """The video of one slot of episode N."""
    return task / "videos" / _chunk(number) / slot.name / f"{_episode(number)}.{slot.extension}"


def _chunk(number: int) -> str:
    return f"chunk-{(number - 1) // CHUNKS_SIZE:03d}"


def _episode(number: int) -> str:
    return f"episode-{(number - 1) % CHUNKS_SIZE:03d}"


def write_task(root: Path, task: TaskSpec) -> Path:
    """Write a task below the recordings root; return its folder."""
    folder = root / task.name
    for episode in task.episodes:
        _write_episode(folder, task, episode)
    (folder / "meta" / "episodes" / ".lock").touch()
    documents.write_json(folder / "meta" / "info.json", documents.info(task))
    documents.write_json(folder / "meta" / "stats.json", statistics.stats(task))
    (folder / "meta" / "tasks.jsonl").write_text(documents.task_line(task), encoding="utf-8")
    return folder


def _write_episode(folder: Path, task: TaskSpec, episode: EpisodeSpec) -> None:
    for slot in episode.slots:
        videos.write_video(video_path(folder, episode.number, slot), episode, slot)
    table.write_data(data_path(folder, episode.number), task, episode)
    documents.write_rows(row_path(folder, episode.number), [documents.row(episode)])
