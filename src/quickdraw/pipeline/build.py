"""One build, from plan to published dataset: map, measure, pack, documents, publish."""

from __future__ import annotations

import platform
import time
from dataclasses import dataclass
from pathlib import Path

from quickdraw.core.episode import Rejected
from quickdraw.core.statistics import Statistics
from quickdraw.errors import Refused
from quickdraw.formats.json_document import write_json
from quickdraw.pipeline.cubes import Member, split_cubes
from quickdraw.pipeline.documents import PROVENANCE, provenance, summary
from quickdraw.pipeline.executors import Executor
from quickdraw.pipeline.fragments import Fragment
from quickdraw.pipeline.mapping import map_tasks, run_task
from quickdraw.pipeline.packing import PackTask, pack
from quickdraw.pipeline.plan import BuildPlan, faults_of
from quickdraw.pipeline.progress import Progress
from quickdraw.pipeline.publish import publish, staging
from quickdraw.pipeline.settings import Settings
from quickdraw.pipeline.statistics import MeasureTask, measure, normalization, trainer_statistics


def build(plan: BuildPlan, settings: Settings, executor: Executor, progress: Progress) -> Path:
    """Build and publish the dataset; its folder. Raises Refused, nothing published, where pictures turn out bad."""
    with staging(settings.output) as folder:
        stages = _Stages(plan, settings, executor, progress, folder)
        stages.map()
        members = stages.members()
        stages.pack(members, stages.measure(members))
        stages.write_log()
        publish(stages.dataset, settings.output)
    return settings.output


@dataclass(frozen=True, slots=True)
class _Stages:
    """The stages of one build, each reading what the one before left in `folder`."""

    plan: BuildPlan
    settings: Settings
    executor: Executor
    progress: Progress
    folder: Path

    @property
    def dataset(self) -> Path:
        return self.folder / "dataset"

    def fragments(self) -> dict[str, tuple[Fragment, ...]]:
        """Split name -> its fragments, in episode order."""
        root = self.folder / "fragments"
        return {
            split.name: tuple(Fragment(root, self.plan.episodes[key]) for key in split.episodes)
            for split in self.plan.splits
        }

    def map(self) -> None:
        """Make every fragment. Raises Refused with the faults of all that could not be made."""
        every = [fragment for split in self.fragments().values() for fragment in split]
        settings = self.settings
        tasks = list(map_tasks(settings.source, every, settings.encoding, settings.cubes))
        rejected: list[Rejected] = []
        with self.progress.stage("map", sum(task.cost for task in tasks), "pictures") as meter:
            for result in self.executor.run(run_task, tasks):
                if isinstance(result, Rejected):
                    rejected.append(result)
                else:
                    meter.advance(result)
        if rejected:
            raise Refused(faults_of(rejected))

    def members(self) -> dict[str, tuple[Member, ...]]:
        """Split name -> its episodes as it packs them, each split with the cubes there is evidence for in it."""
        members, rule = {}, self.settings.cubes
        for name, fragments in self.fragments().items():
            cubes = None
            if rule:
                tracks = ([fragment.track(camera) for camera in rule.cameras] for fragment in fragments)
                cubes = split_cubes(rule, tracks, self.settings.encoding.picture_px)
                self.progress.note(f"cubes in {name}: {cubes}")
            members[name] = tuple(Member(fragment, cubes) for fragment in fragments)
        return members

    def measure(self, members: dict[str, tuple[Member, ...]]) -> dict[str, dict[str, Statistics]]:
        """Plain statistics of train, and of every split where each is to carry its own."""
        spec = self.settings.dataset_spec()
        names = ["train"] if self.settings.stats == "train" else list(members)
        measured = {}
        with self.progress.stage("measure", len(names), "splits") as meter:
            tasks = [MeasureTask(name, spec, members[name]) for name in names]
            for name, statistics in self.executor.run(measure, tasks):
                measured[name] = statistics
                meter.advance(1)
        return measured

    def pack(self, members: dict[str, tuple[Member, ...]], measured: dict[str, dict[str, Statistics]]) -> None:
        """Write every split and the documents beside them."""
        spec = self.settings.dataset_spec()
        trainer = trainer_statistics(spec, measured["train"])
        pin = self.settings.stats == "train"
        traced = provenance(self.plan, self.settings, members)
        tasks = [
            PackTask(self.dataset, name, spec, episodes, trainer if pin else measured[name], pin)
            for name, episodes in members.items()
        ]
        with self.progress.stage("pack", sum(map(self.plan.frames, self.plan.splits)), "rows") as meter:
            for rows in self.executor.run(pack, tasks):
                meter.advance(rows)
        constants = normalization(spec, trainer)
        write_json(self.dataset / "normalization_stats.json", constants, indent=2)
        write_json(self.dataset / "summary.json", summary(self.plan, self.settings, constants), indent=2)
        write_json(self.dataset / PROVENANCE, traced, indent=2)

    def write_log(self) -> None:
        """progress.log: all that varies without changing the content."""
        varying = [
            time.strftime("built %Y-%m-%d %H:%M:%S %z"),
            f"on {platform.node()}, {platform.platform()}, Python {platform.python_version()}",
            f"into {self.settings.output}, {self.executor.workers} workers",
        ]
        text = "\n".join([*varying, *self.progress.lines, ""])
        (self.dataset / "progress.log").write_text(text, encoding="utf-8")
