"""One build, from plan to published dataset: map, measure, pack, documents, verify, publish."""

from __future__ import annotations

import platform
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from quickdraw.core.episode import Rejected
from quickdraw.core.statistics import Statistics
from quickdraw.errors import InvariantError, Refused
from quickdraw.formats.json_document import write_json
from quickdraw.formats.lerobot.videos import Clip, Reel, plan_reel
from quickdraw.pipeline.agreement import merged
from quickdraw.pipeline.describe import warning_lines
from quickdraw.pipeline.digests import DigestIndex
from quickdraw.pipeline.documents import provenance_fingerprint, summary, write_provenance
from quickdraw.pipeline.executors import Executor
from quickdraw.pipeline.inventory import is_whole, remember, take_inventory
from quickdraw.pipeline.joining import JoinTask
from quickdraw.pipeline.map_stage import ClipSizes, MapStage, Shelf
from quickdraw.pipeline.mapping import Digests, Workshop
from quickdraw.pipeline.members import Members, members_of
from quickdraw.pipeline.packing import Packing, pack
from quickdraw.pipeline.parts import PartStore
from quickdraw.pipeline.places import LOG, NORMALIZATION, PROVENANCE, SUMMARY
from quickdraw.pipeline.plan import BuildPlan, faults_of, without
from quickdraw.pipeline.plan_index import write_plans
from quickdraw.pipeline.progress import Progress
from quickdraw.pipeline.publish import LOCK, PARTS, index_file, plans_file, publish, staging
from quickdraw.pipeline.published import Published
from quickdraw.pipeline.refusals import fault_lines
from quickdraw.pipeline.settings import Settings
from quickdraw.pipeline.shown import ShownBySplit, beyond_px, cubes_shown, look_up
from quickdraw.pipeline.site import Site
from quickdraw.pipeline.statistics import (
    Share,
    measure,
    measure_tasks,
    normalization,
    put_together,
    trainer_statistics,
)
from quickdraw.pipeline.trace import fingerprint_of
from quickdraw.pipeline.verify.shift_curves import write_shift_curves
from quickdraw.pipeline.verify.verify import verify_structure


def build(plan: BuildPlan, settings: Settings, executor: Executor, progress: Progress) -> bool:
    """Build and publish the dataset; False where the one that is published already is what would be built.

    Raises Refused, nothing published, where pictures turn out bad, or a worker does not see where they are put; what is
    finished by then is kept for the next try.
    """
    with staging(settings.output) as folder:
        store, index = PartStore(folder / PARTS), DigestIndex(index_file(settings.output), not settings.rehash)
        store.clear()
        try:
            executor.refuse_unseen(folder / LOCK)
            site, published = Site.begin(folder), Published(settings.output)
            fresh = _Stages(plan, settings, executor, progress, site, store, published).run(index)
        except BaseException:
            executor.stop()
            store.clear()
            if finished := len(store):
                progress.note(
                    f"{finished} finished parts are kept in {store.root}: the same command goes on from there"
                )
            raise
        shutil.rmtree(store.root, ignore_errors=True)
    return fresh


@dataclass(frozen=True, slots=True)
class _Stages:
    """The stages of one build, each reading what the one before left at `site`."""

    plan: BuildPlan
    settings: Settings
    executor: Executor
    progress: Progress
    site: Site
    store: PartStore
    published: Published

    @property
    def workshop(self) -> Workshop:
        """What the tasks of the map stage share."""
        settings = self.settings
        return Workshop(settings.source, settings.encodings, settings.cubes, self.store, self.published)

    @property
    def dataset(self) -> Path:
        return self.site.dataset

    def run(self, index: DigestIndex) -> bool:
        """All of them, as far as they are needed; whether a dataset was published."""
        known = self.known(index)
        write_plans(plans_file(self.settings.output), self.settings.source, self.plan.episodes.values())
        if self.is_published(known, index):
            return False
        stages, stage = self, self.mapped(known, index)
        reels = stage.reels
        while stage.rejected:
            before, stages, reels = stages, stages.without(stage.rejected), {}
            if stages.makes_as(before):
                break
            stage = stages.mapped(stage.digests, index)  # what the two make alike is there already
            reels = stage.reels
        if stages.is_published(stage.digests, index):
            return False
        stages.publish(stage.digests, reels, stage.sizes, index)
        return True

    def makes_as(self, other: _Stages) -> bool:
        """Whether both make the same parts of an episode."""
        own, its = self.settings, other.settings
        return (own.source.reading(), own.encodings) == (its.source.reading(), its.encodings)

    def mapped(self, digests: Digests, index: DigestIndex) -> MapStage:
        """The map stage, run."""
        stage = MapStage(self.workshop, self.plan, self.settings.dataset_spec(), self.site, digests, index)
        stage.run(self.executor, self.progress)
        return stage

    def known(self, index: DigestIndex) -> Digests:
        """Of every episode, the digests of the files that are unchanged since a build last read them."""
        known: Digests = {}
        for key, plan in self.plan.episodes.items():
            found = {file: index.known(self.settings.source.path(key, file), s) for file, s in plan.stamps.items()}
            known[key] = {file: digest for file, digest in found.items() if digest is not None}
        return known

    def without(self, rejected: Sequence[Rejected]) -> _Stages:
        """The same without what turned out bad, if it may be, settled by what is left. Raises Refused."""
        if self.settings.on_bad_run == "refuse":
            raise Refused(faults_of(merged(rejected)), len(self.plan.episodes), self.settings.source.words)
        for line in fault_lines(faults_of(merged(rejected))):
            self.progress.note(f"not built: {line}")
        site = Site.begin(self.site.folder.parent)  # files were joined for splits that are others now
        shutil.rmtree(self.site.folder, ignore_errors=True)
        plan, settings = without(self.plan, rejected, self.settings)
        for line in warning_lines(plan, said=self.plan.warnings):
            self.progress.note(line)
        return replace(self, plan=plan, settings=settings, site=site)

    def members(self, digests: Digests) -> dict[str, Members]:
        """Split name -> its episodes, in order, without cubes."""
        return {split.name: members_of(self.workshop, split, self.plan.episodes, digests) for split in self.plan.splits}

    def shown(self, members: Mapping[str, Members]) -> ShownBySplit:
        """What the pictures of every episode show, where there is depth, or cubes to look for."""
        rule, encodings = self.settings.cubes, self.settings.encodings
        if rule is None and all(encoding.channels > 1 for encoding in encodings.values()):
            return {}
        return look_up(members, rule, self.picture_px, self.executor)

    @property
    def picture_px(self) -> int:
        """Pixels of a picture in which cubes are looked for; 0 where they are not."""
        rule = self.settings.cubes
        return self.settings.encodings[rule.cameras[0]].picture_px if rule else 0

    def with_cubes(self, members: Mapping[str, Members], shown: ShownBySplit) -> dict[str, Members]:
        """The same, each split with the cubes there is evidence for in it."""
        rule, found = self.settings.cubes, dict(members)
        if rule:
            for name, episodes in members.items():
                cubes = cubes_shown(rule, shown[name], self.picture_px)
                self.progress.note(f"cubes in {name}: {cubes}")
                found[name] = replace(episodes, cubes=cubes)
        return found

    def is_published(self, digests: Digests, index: DigestIndex) -> bool:
        """Whether what would be built is what is published, as far as digests are known."""
        plans, output = self.plan.episodes, self.settings.output
        if any({*plan.row_files, *plan.videos.values()} - digests[key].keys() for key, plan in plans.items()):
            return False
        try:
            there = fingerprint_of(output)
        except Refused:
            return False
        promised = provenance_fingerprint(self.plan, self.settings, self.members(digests))
        return there == promised and is_whole(output, index)

    def publish(self, digests: Digests, reels: dict[Shelf, Reel], sizes: ClipSizes, index: DigestIndex) -> None:
        """Everything from parts to the published dataset; the video files of `reels` are there already."""
        plain = self.members(digests)
        shown = self.shown(plain)
        members = self.with_cubes(plain, shown)
        for camera, pixels in beyond_px(shown).items():
            self.progress.note(f"{camera}: {pixels:,} pixels of depth lay beyond its scale and became the farthest")
        trainer = self.pack(members, self.measure(members), reels, sizes)
        self.write_documents(members, trainer, shown)
        write_shift_curves(
            self.dataset, members, settings=self.settings, executor=self.executor, progress=self.progress
        )
        take_inventory(self.dataset, self.executor)
        self.verify()
        self.write_log()
        publish(self.dataset, self.settings.output)
        remember(self.settings.output, index)

    def measure(self, members: Mapping[str, Members]) -> dict[str, dict[str, Statistics]]:
        """Plain statistics of train, and of every split where each is to carry its own."""
        spec = self.settings.dataset_spec()
        names = ["train"] if self.settings.stats == "train" else list(members)
        tasks = [task for name in names for task in measure_tasks(name, spec, members[name])]
        with self.progress.stage("measure", len(tasks), "features") as meter:
            shares = list[Share]()
            for share in self.executor.run(measure, tasks):
                shares.append(share)
                meter.advance(1)
        return put_together(shares)

    def pack(
        self,
        members: Mapping[str, Members],
        measured: Mapping[str, dict[str, Statistics]],
        joined: Mapping[Shelf, Reel],
        sizes: ClipSizes,
    ) -> dict[str, Statistics]:
        """Write every split; train's statistics as trainers take them."""
        spec, pin = self.settings.dataset_spec(), self.settings.stats == "train"
        trainer = trainer_statistics(spec, measured["train"])
        joins, packings = list[JoinTask](), list[Packing]()
        for name, episodes in members.items():
            late = self.reels(name, [c for c in spec.cameras if (name, c) not in joined], episodes, sizes)
            joins += [JoinTask(self.site, file) for reel in late.values() for file in reel.files]
            reels = late | {camera: joined[name, camera] for camera in spec.cameras if camera not in late}
            places = {camera: reel.places for camera, reel in reels.items()}
            statistics = trainer if pin else measured[name]
            packings.append(Packing(self.site, name, spec, episodes, places, statistics, pin))
        with self.progress.stage("pack", sum(map(self.plan.frames, self.plan.splits)), "rows") as meter:
            for rows in pack(packings, joins, self.executor):
                meter.advance(rows)
        return trainer

    def reels(self, split: str, cameras: Sequence[str], members: Members, sizes: ClipSizes) -> dict[str, Reel]:
        """The video files of cameras that have not been joined yet."""
        clips: dict[str, list[Clip]] = {camera: [] for camera in cameras}
        for key, plan in members.plans.items() if cameras else ():
            for camera, of_camera in clips.items():
                file = self.workshop.clip(plan, camera, members.digests[key])
                of_camera.append(Clip(file, plan.frames, sizes[key][camera]))
        root, spec = self.dataset / split, self.settings.dataset_spec()
        return {camera: plan_reel(root, spec, camera, of_camera) for camera, of_camera in clips.items()}

    def write_documents(
        self, members: Mapping[str, Members], trainer: dict[str, Statistics], shown: ShownBySplit
    ) -> None:
        """The documents beside the splits."""
        constants = normalization(self.settings.dataset_spec(), trainer)
        write_json(self.dataset / NORMALIZATION, constants, indent=2)
        write_json(self.dataset / SUMMARY, summary(self.plan, self.settings, constants), indent=2)
        write_provenance(self.dataset / PROVENANCE, self.plan, self.settings, members, shown)

    def verify(self) -> None:
        """Read back what is about to be published, all but the pixels. Raises InvariantError."""
        with self.progress.stage("verify", 1, "dataset") as meter:
            findings = verify_structure(self.dataset, self.executor)
            meter.advance(1)
        if findings:
            raise InvariantError("\n".join(map(str, findings)))

    def write_log(self) -> None:
        """progress.log: all that varies without changing the content."""
        varying = [
            time.strftime("built %Y-%m-%d %H:%M:%S %z"),
            f"on {platform.node()}, {platform.platform()}, Python {platform.python_version()}",
            f"into {self.settings.output}, {self.executor.workers} workers",
        ]
        text = "\n".join([*varying, *self.progress.lines, ""])
        (self.dataset / LOG).write_text(text, encoding="utf-8")
