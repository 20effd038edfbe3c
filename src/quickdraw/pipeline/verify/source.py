"""A dataset against the raw tree it was built from: the same files, the same tasks, the same rows to the bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from quickdraw.core.episode import EpisodeKey, EpisodePlan, Rejected
from quickdraw.errors import Fault, Refused
from quickdraw.pipeline.digests import FileDigest, digest
from quickdraw.pipeline.executors import Executor
from quickdraw.pipeline.progress import Progress
from quickdraw.pipeline.source import Source
from quickdraw.pipeline.verify.dataset_view import DatasetView, Traced
from quickdraw.pipeline.verify.ledger import Ledger
from quickdraw.pipeline.verify.metadata import Entry
from quickdraw.pipeline.verify.split_view import SplitView

SOURCE_FILES, SOURCE_ROWS, SOURCE_TASKS = "source files", "source rows", "source tasks"


@dataclass(frozen=True, slots=True)
class ReadTask:
    """Read one run anew."""

    source: Source
    episode: Traced
    sources: Mapping[str, FileDigest]

    @property
    def key(self) -> EpisodeKey:
        """Which one."""
        return EpisodeKey(self.episode.campaign, self.episode.run)


@dataclass(frozen=True, slots=True)
class Reread:
    """A run as it reads today: its plan and rows, nothing of either where it cannot be read; `faults` say why."""

    plan: EpisodePlan | None
    rows: Mapping[str, npt.NDArray[Any]]
    faults: tuple[Fault, ...]


def read_again(task: ReadTask) -> tuple[ReadTask, Reread]:
    """Digest every file an episode was made from, and make its rows again."""
    faults = _changed(task)
    try:
        plan = task.source.plan(task.key)
        if not isinstance(plan, Rejected):
            return task, Reread(plan, task.source.rows(plan), tuple(faults))
        refused = plan.faults
    except Refused as refusal:
        refused = refusal.faults
    except OSError as error:
        refused = (Fault(str(task.key), "file", *_unreadable(error), path=str(error.filename)),)
    told = (Fault(task.episode.split, SOURCE_ROWS, str(fault), "a run that can be read") for fault in refused)
    return task, Reread(None, {}, (*faults, *told))


def _changed(task: ReadTask) -> list[Fault]:
    """What of a run's files is not as it was, or cannot be read."""
    faults = []
    where = f"{task.episode.split} episode {task.episode.index} ({task.key})"
    for file, stamp in task.sources.items():
        path = task.source.path(task.key, file)
        try:
            if not path.is_file():
                faults.append(Fault(where, SOURCE_FILES, "nothing there", "a file it was built from", path=str(path)))
            elif (found := digest(path)) != stamp:
                told = f"{found.bytes} bytes, sha256 {found.sha256[:12]}..."
                expected = f"{stamp.bytes} bytes, sha256 {stamp.sha256[:12]}..., as it was built from"
                faults.append(Fault(where, SOURCE_FILES, told, expected, path=str(path)))
        except OSError as error:
            faults.append(Fault(where, SOURCE_FILES, *_unreadable(error), path=str(path)))
    return faults


def _unreadable(error: OSError) -> tuple[str, str]:
    return f"unreadable ({error.strerror})", "a readable file"


def check_source(
    dataset: DatasetView, source: Source, ledger: Ledger, executor: Executor, progress: Progress
) -> dict[tuple[str, int], EpisodePlan]:
    """Every episode's files and rows; (split, episode) -> what its run would become today, where it can be read."""
    episodes = dataset.ours.episodes if dataset.ours else ()
    tasks = [ReadTask(source, *told) for told in zip(episodes, dataset.sources() if episodes else (), strict=True)]
    plans: dict[tuple[str, int], EpisodePlan] = {}
    checked: dict[tuple[str, int], Ledger] = {}
    with progress.stage("source", len(episodes), source.words.many) as meter:
        for task, reread in executor.run(read_again, tasks):
            key = task.episode.split, task.episode.index
            checked[key] = _check_episode(dataset, task, reread)
            if reread.plan is not None:
                plans[key] = reread.plan
            meter.advance(1)
    for key in sorted(checked):  # whatever was finished first, a report is the same
        ledger.take(checked[key])
    return plans


def _check_episode(dataset: DatasetView, task: ReadTask, reread: Reread) -> Ledger:
    """What is wrong with one episode."""
    ledger, episode = Ledger(dataset.root), task.episode
    ledger.saw(SOURCE_FILES, len(task.sources))
    for fault in reread.faults:
        ledger.add(fault)
    if episode.split in dataset.splits:
        with ledger.checking(SOURCE_ROWS, episode.split):
            split = dataset.splits[episode.split]
            entry = split.entry(episode.index)
            if entry is not None:  # else that is reported where provenance.json is held against the splits
                if reread.plan is not None:
                    _compare_task(split, entry, reread.plan.task, f"episode {episode.index} ({episode})", ledger)
                for name, right in reread.rows.items():
                    place = f"episode {episode.index} ({episode}), {name}"
                    _compare(split, entry, name, right, place=place, ledger=ledger)
    return ledger


def _compare_task(split: SplitView, entry: Entry, right: str, place: str, ledger: Ledger) -> None:
    ledger.saw(SOURCE_TASKS)
    if list(entry.tasks) != [right]:
        found, path = f"{place}: tasks {', '.join(entry.tasks)}", split.root / "meta/episodes"
        ledger.fault(SOURCE_TASKS, split.name, found=found, expected=f"{right}, of the source", path=path)


def _compare(split: SplitView, entry: Entry, name: str, right: npt.NDArray[Any], *, place: str, ledger: Ledger) -> None:
    """A vector of an episode is that of its run, bit by bit. One dimension is stored as a scalar."""
    built = split.rows_of(entry, name)
    ledger.saw(SOURCE_ROWS, len(built))
    if right.shape == (len(built), 1):
        built = built.reshape(len(built), -1)
    if built.shape != right.shape or built.dtype != right.dtype:
        found = f"{place}: {list(built.shape)} {built.dtype}"
        ledger.fault(SOURCE_ROWS, split.name, found=found, expected=f"{list(right.shape)} {right.dtype}")
        return
    unlike = _bits(built) != _bits(right)  # to the bit: -0.0 is not 0.0, a NaN is itself
    wrong = np.flatnonzero(unlike.any(axis=1))
    if wrong.size:
        row, dim = int(wrong[0]), int(np.flatnonzero(unlike[wrong[0]])[0])
        named = split.info.features[name].dims()[dim]
        found = f"{place}: {split.places(entry.first + wrong)}: {named} {built[row, dim]!s}"
        ledger.fault(SOURCE_ROWS, split.name, found=found, expected=f"{right[row, dim]!s} of the source")


def _bits(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.ascontiguousarray(rows).view(f"u{rows.dtype.itemsize}")
