"""The map stage as it runs: what was made so far, and which video files that completes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from quickdraw.core.episode import EpisodeKey, Rejected
from quickdraw.core.split import Split
from quickdraw.formats.lerobot.schema import DatasetSpec
from quickdraw.formats.lerobot.videos import Clip, Reel, plan_reel
from quickdraw.pipeline.digests import DigestIndex
from quickdraw.pipeline.executors import Executor
from quickdraw.pipeline.joining import JoinTask, Written
from quickdraw.pipeline.mapping import Digests, Made, MapTask, Workshop, map_tasks, run_task
from quickdraw.pipeline.plan import BuildPlan
from quickdraw.pipeline.progress import Progress
from quickdraw.pipeline.site import Site

type Shelf = tuple[str, str]  # a split and one of its cameras
type ClipSizes = dict[EpisodeKey, dict[str, int]]


@dataclass(slots=True)
class MapStage:
    """Makes all parts of `plan`, and of what is complete joins the video files of the dataset growing at `site`.

    `digests` begin with those of files that are known not to have changed. `reels` are what was joined, by split and
    camera; `sizes` are bytes of every clip by episode and camera; `rejected` is what could not be made.
    """

    workshop: Workshop
    plan: BuildPlan
    spec: DatasetSpec
    site: Site
    digests: Digests
    index: DigestIndex
    reels: dict[Shelf, Reel] = field(default_factory=dict)
    rejected: list[Rejected] = field(default_factory=list)
    sizes: ClipSizes = field(default_factory=dict)
    parts: int = 0
    new: int = 0
    _missing: dict[Shelf, int] = field(default_factory=dict)
    _renewed: set[Shelf] = field(default_factory=set)

    def run(self, executor: Executor, progress: Progress) -> None:
        """All tasks, to the end, whatever is rejected."""
        plan, cameras = self.plan, self.spec.cameras
        self._missing = {(split.name, camera): len(split.episodes) for split in self.plan.splits for camera in cameras}
        split_of = {key: split for split in self.plan.splits for key in split.episodes}
        tasks: Iterator[MapTask | JoinTask] = map_tasks(self.workshop, plan.episodes, plan.lengths, self.digests)

        def then(result: Made | Rejected | Written) -> Iterator[JoinTask]:
            if isinstance(result, Made) and result.camera is not None:
                yield from self._joins(split_of[result.key], result.camera, is_new=bool(result.new))

        with progress.stage("map", sum(plan.lengths.values()) * len(cameras), "pictures") as meter:
            for result in executor.run(run_task, tasks, then):
                if isinstance(result, Rejected):
                    self.rejected.append(result)
                elif isinstance(result, Made):
                    meter.advance(result.cost)
                    self._learn(result)
        progress.note(f"{self.new} parts made, {self.parts - self.new} there already")

    def _learn(self, made: Made) -> None:
        self.parts += made.parts
        self.new += made.new
        self.digests[made.key] |= made.sources
        if made.camera is not None:
            self.sizes.setdefault(made.key, {})[made.camera] = made.clip_bytes
        stamps, path = self.plan.episodes[made.key].stamps, self.workshop.source.path
        self.index.add((path(made.key, file), stamps[file], digest.sha256) for file, digest in made.sources.items())

    def _joins(self, split: Split, camera: str, *, is_new: bool) -> Iterator[JoinTask]:
        """A clip is there: if it was the last of its camera in its split, the files these make.

        Where nothing had to be made for them they can wait until all is there, for it may be what is published already.
        """
        shelf = split.name, camera
        self._missing[shelf] -= 1
        if is_new:
            self._renewed.add(shelf)
        if not self._missing[shelf] and shelf in self._renewed:
            clips = [self._clip(key, camera) for key in split.episodes]
            self.reels[shelf] = plan_reel(self.site.dataset / split.name, self.spec, camera, clips)
            yield from (JoinTask(self.site, file) for file in self.reels[shelf].files)

    def _clip(self, key: EpisodeKey, camera: str) -> Clip:
        plan = self.plan.episodes[key]
        file = self.workshop.clip(plan, camera, self.digests[key])
        return Clip(file, plan.frames, self.sizes[key][camera])
