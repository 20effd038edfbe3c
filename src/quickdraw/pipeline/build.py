"""One build, from plan to published dataset: map, measure, pack, documents, publish."""

from __future__ import annotations

import platform
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

from quickdraw.core.episode import Rejected
from quickdraw.core.statistics import Statistics
from quickdraw.errors import Refused
from quickdraw.formats.lerobot.writer import write_json
from quickdraw.pipeline.documents import PROVENANCE, provenance, summary
from quickdraw.pipeline.executors import Executor
from quickdraw.pipeline.fragments import Fragment
from quickdraw.pipeline.mapping import map_tasks, run_task
from quickdraw.pipeline.packing import PackTask, pack
from quickdraw.pipeline.plan import BuildPlan, faults_of
from quickdraw.pipeline.progress import Progress
from quickdraw.pipeline.publish import begin, publish
from quickdraw.pipeline.settings import Settings
from quickdraw.pipeline.statistics import MeasureTask, measure, normalization, trainer_statistics

type Fragments = Mapping[str, tuple[Fragment, ...]]


def build(plan: BuildPlan, settings: Settings, executor: Executor, progress: Progress) -> Path:
    """Build and publish the dataset; its folder. Raises Refused, nothing published, where pictures turn out bad."""
    staging = begin(settings.output)
    try:
        fragments = _fragments(plan, staging / "fragments")
        _map(settings, fragments, executor, progress)
        dataset = staging / "dataset"
        _pack(plan, settings, fragments, dataset, executor, progress)
        _write_log(dataset, settings, executor, progress)
        publish(dataset, settings.output)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return settings.output


def _fragments(plan: BuildPlan, root: Path) -> Fragments:
    return {split.name: tuple(Fragment(root, plan.episodes[key]) for key in split.episodes) for split in plan.splits}


def _map(settings: Settings, fragments: Fragments, executor: Executor, progress: Progress) -> None:
    every = [fragment for split in fragments.values() for fragment in split]
    tasks = list(map_tasks(settings.source, every, settings.encoding))
    rejected: list[Rejected] = []
    with progress.stage("map", sum(task.cost for task in tasks), "frames") as meter:
        for result in executor.run(run_task, tasks):
            if isinstance(result, Rejected):
                rejected.append(result)
            else:
                meter.advance(result)
    if rejected:
        raise Refused(faults_of(rejected))


def _pack(
    plan: BuildPlan,
    settings: Settings,
    fragments: Fragments,
    dataset: Path,
    executor: Executor,
    progress: Progress,
) -> None:
    spec = settings.dataset_spec()
    measured = _measure(settings, fragments, executor)
    trainer = trainer_statistics(spec, measured["train"])
    provenance_document = provenance(plan, settings, fragments)
    per_split: dict[str, dict[str, Statistics]] = {
        name: trainer if settings.stats == "train" else measured[name] for name in fragments
    }
    tasks = [
        PackTask(dataset, name, spec, members, per_split[name], pin=settings.stats == "train")
        for name, members in fragments.items()
    ]
    with progress.stage("pack", sum(plan.frames(split) for split in plan.splits), "rows") as meter:
        for rows in executor.run(pack, tasks):
            meter.advance(rows)
    constants = normalization(spec, trainer)
    write_json(dataset / "normalization_stats.json", constants, indent=2)
    write_json(dataset / "summary.json", summary(plan, settings, constants), indent=2)
    write_json(dataset / PROVENANCE, provenance_document, indent=2)


def _measure(settings: Settings, fragments: Fragments, executor: Executor) -> dict[str, dict[str, Statistics]]:
    """Plain statistics of train, and of every split where each is to carry its own."""
    spec = settings.dataset_spec()
    names = ["train"] if settings.stats == "train" else list(fragments)
    return dict(executor.run(measure, [MeasureTask(name, spec, fragments[name]) for name in names]))


def _write_log(dataset: Path, settings: Settings, executor: Executor, progress: Progress) -> None:
    """progress.log: all that varies without changing the content."""
    varying = [
        time.strftime("built %Y-%m-%d %H:%M:%S %z"),
        f"on {platform.node()}, {platform.platform()}, Python {platform.python_version()}",
        f"into {settings.output.absolute()}, {executor.workers} workers",
    ]
    (dataset / "progress.log").write_text("\n".join([*varying, *progress.lines, ""]), encoding="utf-8")
