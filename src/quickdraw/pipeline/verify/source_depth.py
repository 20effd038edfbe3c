"""Depth that was stored without loss against its source: every picture is the one its row shows, to the last code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from quickdraw.core.depth import DepthScale
from quickdraw.core.episode import DepthPlan, EpisodePlan
from quickdraw.core.grid import Int64
from quickdraw.formats.lerobot.depth import depth_scale
from quickdraw.pipeline.executors import Executor
from quickdraw.pipeline.progress import Progress
from quickdraw.pipeline.source import Source
from quickdraw.pipeline.verify.dataset_view import DatasetView
from quickdraw.pipeline.verify.depth_pictures import ShownDepth, crc_of
from quickdraw.pipeline.verify.fingerprints import whose
from quickdraw.pipeline.verify.ledger import Ledger
from quickdraw.pipeline.verify.pictures import SplitPictures
from quickdraw.pipeline.verify.reading_sources import Damage, read_or_damage
from quickdraw.pipeline.verify.source_packets import is_copied
from quickdraw.pipeline.verify.split_view import SplitView, camera_name

SOURCE_DEPTH = "source depth"


@dataclass(frozen=True, slots=True)
class DepthTask:
    """Read a run's depth of `camera`, and make codes of it on `scale`."""

    split: str
    episode: int
    camera: str
    source: Source
    plan: EpisodePlan
    scale: DepthScale


def code_crcs(task: DepthTask) -> tuple[DepthTask, Int64 | Damage]:
    """CRC-32 of the codes that each row should show, `(T,)` int64; -1 where the source has no such picture."""
    return task, read_or_damage(lambda: _code_crcs(task))


def _code_crcs(task: DepthTask) -> Int64 | Damage:
    plan = task.source.frame_plan(task.plan, task.camera)
    if not isinstance(plan, DepthPlan):
        return Damage(f"{plan.path}: colour", "depth, as info.json says")
    crcs, blank = list[int](), -1
    for depth_mm in plan.frames():
        blank = crc_of(task.scale.codes(np.zeros_like(depth_mm))) if blank < 0 else blank
        crcs.append(crc_of(task.scale.codes(depth_mm)))
    known = np.array([*crcs, -1, blank], np.int64)  # the last but one is what lies beyond the end
    index = plan.frame_index
    found: Int64 = known[np.where(index < 0, len(crcs) + 1, np.minimum(index, len(crcs)))]
    return found


def check_source_depth(
    dataset: DatasetView,
    shown: Mapping[str, SplitPictures],
    source: Source,
    plans: Mapping[tuple[str, int], EpisodePlan],
    *,
    ledger: Ledger,
    executor: Executor,
    progress: Progress,
) -> None:
    """Every depth camera of every episode but for those that were copied."""
    tasks = list[DepthTask]()
    for name, number in sorted(plans):
        if name in shown:
            seen, plan = shown[name].depth(number), plans[name, number]
            tasks += _tasks(dataset, source, number, plan, list(seen), split=dataset.splits[name], ledger=ledger)
    tasks.sort(key=lambda task: -task.plan.frames)
    found: dict[tuple[str, int], dict[str, Int64 | Damage]] = {}
    if not tasks:
        return
    with progress.stage("depth", sum(task.plan.frames for task in tasks), "rows") as meter:
        for task, crcs in executor.run(code_crcs, tasks):
            meter.advance(task.plan.frames)
            found.setdefault((task.split, task.episode), {})[task.camera] = crcs
    for (name, episode), cameras in sorted(found.items()):  # whatever was finished first, a report is the same
        split = dataset.splits[name]
        with ledger.checking(SOURCE_DEPTH, name):
            _check_episode(split, episode, shown[name].depth(episode), cameras, ledger=ledger)


def _tasks(
    dataset: DatasetView,
    source: Source,
    episode: int,
    plan: EpisodePlan,
    keys: Sequence[str],
    *,
    split: SplitView,
    ledger: Ledger,
) -> Iterator[DepthTask]:
    for key in keys:
        camera = camera_name(key)
        if camera in source.cameras and not is_copied(dataset, split, camera):
            with ledger.checking(SOURCE_DEPTH, split.name):
                scale = depth_scale(split.info.features[key].video)
                yield DepthTask(split.name, episode, camera, source, plan, scale)


def _check_episode(
    split: SplitView,
    episode: int,
    shown: Mapping[str, ShownDepth],
    sources: Mapping[str, Int64 | Damage],
    *,
    ledger: Ledger,
) -> None:
    entry = split.entry(episode)
    for key, seen in shown.items():
        camera, expected = camera_name(key), sources.get(camera_name(key))
        if entry is None or expected is None:
            continue
        where, path = f"episode {episode}, {camera}", split.root / entry.windows[key].path
        if isinstance(expected, Damage):
            ledger.fault(SOURCE_DEPTH, split.name, found=f"{where}: {expected.found}", expected=expected.expected)
            continue
        ledger.saw(SOURCE_DEPTH, len(seen.crcs))
        if expected.shape != seen.crcs.shape:
            told = f"{where}: {len(seen.crcs)} pictures"
            ledger.fault(SOURCE_DEPTH, split.name, found=told, expected=f"{len(expected)} of its run", path=path)
            continue
        wrong = np.flatnonzero(seen.crcs != expected)
        if wrong.size:
            same = {name: crcs for name, crcs in sources.items() if not isinstance(crcs, Damage) and name != camera}
            others = {name: crcs for name, crcs in same.items() if len(crcs) == len(expected)}
            owner = whose(seen.crcs.astype(np.int64), expected, others)
            told = f"{where}: {split.places(entry.first + wrong)}: other depth than its source's{owner}"
            right = "every code that of the source"
            ledger.fault(SOURCE_DEPTH, split.name, found=told, expected=right, path=path)
