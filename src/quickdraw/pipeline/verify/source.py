"""A dataset against the raw tree it was built from: the same files, the same rows to the bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from quickdraw.core.episode import EpisodeKey, EpisodePlan, Float32, FramePlan, Rejected
from quickdraw.data.block_stack import BlockStack
from quickdraw.errors import Fault, Refused
from quickdraw.formats.campaign.acceptance import Acceptance
from quickdraw.pipeline.digests import digest
from quickdraw.pipeline.executors import Executor
from quickdraw.pipeline.progress import Progress
from quickdraw.pipeline.source import Source
from quickdraw.pipeline.verify.dataset_view import DatasetView, Provenance, Traced
from quickdraw.pipeline.verify.ledger import Ledger
from quickdraw.pipeline.verify.split_view import SplitView

SOURCE_FILES, SOURCE_ROWS = "source files", "source rows"


def source_of(provenance: Provenance, tree: Path) -> Source:
    """The source a dataset says it was built from, at `tree`. Raises Refused where we know no such source."""
    if provenance.processor != BlockStack.processor:
        found = f"a dataset of processor {provenance.processor!r}"
        raise Refused([Fault("source", SOURCE_FILES, found, f"{BlockStack.processor!r}, the one source known")])
    config = provenance.config
    told: dict[str, Any] = {entry.name: config[entry.name] for entry in fields(Acceptance) if entry.name in config}
    accepted: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in told.items()
    }
    return BlockStack(
        tree=tree,
        rate_hz=int(config["target_hz"]),
        cameras=tuple(config["cameras"]),
        acceptance=Acceptance(**accepted),
    )


@dataclass(frozen=True, slots=True)
class ReadTask:
    """Read one run anew."""

    source: Source
    episode: Traced

    @property
    def key(self) -> EpisodeKey:
        """Which one."""
        return EpisodeKey(self.episode.campaign, self.episode.run)


@dataclass(frozen=True, slots=True)
class Reread:
    """A run as it reads today: its rows, the frame plan of each camera; and what is wrong with its files."""

    rows: Mapping[str, Float32]
    frame_plans: Mapping[str, FramePlan]
    faults: tuple[Fault, ...]


def read_again(task: ReadTask) -> tuple[ReadTask, Reread]:
    """Digest every file an episode was made from, and make its rows again."""
    faults = list(_changed(task))
    try:
        plan = task.source.plan(task.key)
        if isinstance(plan, EpisodePlan):
            plans = {camera: task.source.frame_plan(plan, camera) for camera in task.source.cameras}
            return task, Reread(task.source.rows(plan), plans, tuple(faults))
        refused = plan
    except Refused as refusal:
        refused = Rejected(task.key, refusal.faults)
    told = [Fault(task.episode.split, SOURCE_ROWS, str(fault), "a run that can be read") for fault in refused.faults]
    return task, Reread({}, {}, (*faults, *told))


def _changed(task: ReadTask) -> list[Fault]:
    faults = []
    for file, stamp in task.episode.sources.items():
        path = task.source.path(task.key, file)
        where = f"{task.episode.split} episode {task.episode.index} ({task.key})"
        if not path.is_file():
            faults.append(Fault(where, SOURCE_FILES, "nothing there", "a file it was built from", path=str(path)))
        elif asdict(found := digest(path)) != {name: stamp.get(name) for name in ("bytes", "sha256")}:
            told = f"{found.bytes} bytes, sha256 {found.sha256[:12]}..."
            expected = f"{stamp.get('bytes')} bytes, sha256 {str(stamp.get('sha256'))[:12]}..., as it was built from"
            faults.append(Fault(where, SOURCE_FILES, told, expected, path=str(path)))
    return faults


def check_source(
    dataset: DatasetView, source: Source, ledger: Ledger, executor: Executor, progress: Progress
) -> dict[tuple[str, int], Reread]:
    """Every episode's files and rows; (split, episode) -> the run as it reads today."""
    episodes = dataset.ours.episodes if dataset.ours else ()
    found: dict[tuple[str, int], Reread] = {}
    with progress.stage("source", len(episodes), "runs") as meter:
        for task, reread in executor.run(read_again, [ReadTask(source, episode) for episode in episodes]):
            found[task.episode.split, task.episode.index] = reread
            meter.advance(1)
    for episode in episodes:
        reread = found[episode.split, episode.index]
        ledger.saw(SOURCE_FILES, len(episode.sources))
        for fault in reread.faults:
            ledger.add(fault)
        if episode.split in dataset.splits:
            with ledger.checking(SOURCE_ROWS, episode.split):
                _compare(dataset.splits[episode.split], episode, reread.rows, ledger)
    return found


def _compare(split: SplitView, episode: Traced, rows: Mapping[str, Float32], ledger: Ledger) -> None:
    """An episode's vectors are those of its run, bit by bit."""
    entry = next((entry for entry in split.entries if entry.number == episode.index), None)
    if entry is None:
        return  # reported where provenance.json is held against the splits
    for name, right in rows.items():
        built = split.column(name)[entry.first : entry.first + entry.length]
        ledger.saw(SOURCE_ROWS, len(built))
        place = f"episode {episode.index} ({episode}), {name}"
        if built.shape != right.shape or built.dtype != right.dtype:
            found = f"{place}: {list(built.shape)} {built.dtype}"
            ledger.fault(SOURCE_ROWS, split.name, found=found, expected=f"{list(right.shape)} {right.dtype}")
            continue
        unlike = built.view(np.uint32) != right.view(np.uint32)  # to the bit: -0.0 is not 0.0, a NaN is itself
        wrong = np.flatnonzero(unlike.any(axis=1))
        if wrong.size:
            row, dim = int(wrong[0]), int(np.flatnonzero(unlike[wrong[0]])[0])
            named = split.info.features[name].dims()[dim]
            found = f"{place}: {split.places(entry.first + wrong)}: {named} {built[row, dim]!s}"
            ledger.fault(SOURCE_ROWS, split.name, found=found, expected=f"{right[row, dim]!s} of the source")
