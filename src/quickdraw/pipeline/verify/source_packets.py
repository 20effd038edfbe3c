"""Cameras that were copied against their source: the same encoded pictures in the same order, byte by byte."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from quickdraw.core.episode import EpisodePlan, FramePlan
from quickdraw.core.grid import Int64
from quickdraw.pipeline.executors import Executor
from quickdraw.pipeline.progress import Progress
from quickdraw.pipeline.source import Source
from quickdraw.pipeline.verify.dataset_view import DatasetView
from quickdraw.pipeline.verify.demuxing import crcs_of_rows
from quickdraw.pipeline.verify.ledger import Ledger
from quickdraw.pipeline.verify.reading_sources import Damage, read_or_damage
from quickdraw.pipeline.verify.split_view import SplitView, VideoPart
from quickdraw.video.checksums import read_packets

SOURCE_PACKETS = "source packets"
COPY = "copy"


def is_copied(dataset: DatasetView, split: SplitView, camera: str) -> bool:
    """Whether a camera's pictures are its source's own, by the options the dataset was built with."""
    option = dataset.ours.config.get("depth" if split.info.is_depth(camera) else "video") if dataset.ours else None
    return isinstance(option, dict) and option.get("mode") == COPY


@dataclass(frozen=True, slots=True)
class CopiedEpisode:
    """An episode whose pictures begin at picture `begun` of a file: its number, its plan."""

    number: int
    begun: int
    plan: EpisodePlan


@dataclass(frozen=True, slots=True)
class PacketsTask:
    """Demux a video file of a split, and the source of each of the episodes in it."""

    split: str
    path: Path
    camera: str
    source: Source
    episodes: tuple[CopiedEpisode, ...]


@dataclass(frozen=True, slots=True)
class UnlikePackets:
    """Rows `(N,)` of an episode, counted from its first, of whose `rows` the encoded picture is not the source's."""

    wrong: Int64
    rows: int


def compare_packets(task: PacketsTask) -> tuple[PacketsTask, tuple[UnlikePackets | Damage, ...]]:
    """Each of the episodes, in their order."""
    end = max(episode.begun + episode.plan.frames for episode in task.episodes)
    shown = read_or_damage(lambda: crcs_of_rows(read_packets(task.path), end))
    if isinstance(shown, Damage):
        return task, ()  # which is a finding already
    return task, tuple(read_or_damage(partial(_compare, task, episode, shown)) for episode in task.episodes)


def _compare(task: PacketsTask, episode: CopiedEpisode, shown: Int64) -> UnlikePackets | Damage:
    plan = task.source.frame_plan(episode.plan, task.camera)
    if not isinstance(plan, FramePlan):
        return Damage(f"{plan.path}: depth in millimetres", "pictures that can be copied")
    index = plan.frame_index
    right = crcs_of_rows(read_packets(plan.path, plan.stream), int(index[-1]) + 1)[index]
    return UnlikePackets(np.flatnonzero(shown[episode.begun : episode.begun + len(index)] != right), len(index))


def check_source_packets(
    dataset: DatasetView,
    source: Source,
    plans: Mapping[tuple[str, int], EpisodePlan],
    *,
    ledger: Ledger,
    executor: Executor,
    progress: Progress,
) -> None:
    """Every copied camera of every episode."""
    names = dict.fromkeys(name for name, _ in sorted(plans) if name in dataset.splits)
    tasks = [task for name in names for task in _tasks(dataset, dataset.splits[name], source, plans, ledger)]
    rows = [sum(episode.plan.frames for episode in task.episodes) for task in tasks]
    found = dict[tuple[str, Path], tuple[PacketsTask, tuple[UnlikePackets | Damage, ...]]]()
    if not tasks:
        return
    with progress.stage("packets", sum(rows), "rows") as meter:
        for task, unlike in executor.run(compare_packets, tasks):
            meter.advance(sum(episode.plan.frames for episode in task.episodes))
            found[task.split, task.path] = task, unlike
    for task, unlike in (found[key] for key in sorted(found)):  # whatever was finished first, a report is the same
        for episode, result in zip(task.episodes, unlike, strict=False):
            _report(dataset.splits[task.split], task, episode, result, ledger)


def _tasks(
    dataset: DatasetView,
    split: SplitView,
    source: Source,
    plans: Mapping[tuple[str, int], EpisodePlan],
    ledger: Ledger,
) -> Iterator[PacketsTask]:
    with ledger.checking(SOURCE_PACKETS, split.name):
        for part in split.videos:
            episodes = tuple(_episodes(split, part, plans))
            if episodes and part.camera in source.cameras and is_copied(dataset, split, part.camera):
                yield PacketsTask(split.name, part.path, part.camera, source, episodes)


def _episodes(
    split: SplitView, part: VideoPart, plans: Mapping[tuple[str, int], EpisodePlan]
) -> Iterator[CopiedEpisode]:
    begun = 0
    for entry in part.entries:
        plan = plans.get((split.name, entry.number))
        if plan is not None and plan.frames == entry.length:  # else that is found where rows are compared
            yield CopiedEpisode(entry.number, begun, plan)
        begun += entry.length


def _report(
    split: SplitView, task: PacketsTask, episode: CopiedEpisode, result: UnlikePackets | Damage, ledger: Ledger
) -> None:
    where = f"episode {episode.number}, {task.camera}"
    if isinstance(result, Damage):
        ledger.fault(SOURCE_PACKETS, split.name, found=f"{where}: {result.found}", expected=result.expected)
        return
    ledger.saw(SOURCE_PACKETS, result.rows)
    entry = split.entry(episode.number)
    if result.wrong.size and entry is not None:
        found = f"{where}: {split.places(entry.first + result.wrong)}: another picture than its source's"
        expected = "the source's own, byte by byte"
        ledger.fault(SOURCE_PACKETS, split.name, found=found, expected=expected, path=task.path)
