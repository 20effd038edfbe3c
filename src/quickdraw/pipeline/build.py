"""One build, from plan to published dataset: map, measure, pack, documents, verify, publish."""

from __future__ import annotations

import platform
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from quickdraw.core.episode import EpisodeKey, EpisodePlan, Rejected
from quickdraw.core.statistics import Statistics
from quickdraw.errors import InvariantError, Refused
from quickdraw.formats.json_document import write_json
from quickdraw.pipeline.agreement import merged
from quickdraw.pipeline.cubes import Member, split_cubes
from quickdraw.pipeline.describe import split_lines
from quickdraw.pipeline.digests import DigestIndex, FileDigest
from quickdraw.pipeline.documents import FINGERPRINT, provenance, summary
from quickdraw.pipeline.executors import Executor
from quickdraw.pipeline.fragments import Fragment
from quickdraw.pipeline.inventory import is_whole, remember, take_inventory
from quickdraw.pipeline.mapping import Made, Workshop, map_tasks, run_task
from quickdraw.pipeline.packing import PackTask, pack
from quickdraw.pipeline.parts import PartStore, clip_fingerprint, rows_fingerprint, track_fingerprint
from quickdraw.pipeline.places import LOG, NORMALIZATION, PROVENANCE, SUMMARY
from quickdraw.pipeline.plan import BuildPlan, faults_of, without
from quickdraw.pipeline.progress import Progress
from quickdraw.pipeline.publish import PARTS, index_file, publish, staging
from quickdraw.pipeline.published import Published
from quickdraw.pipeline.settings import Settings
from quickdraw.pipeline.statistics import MeasureTask, measure, normalization, trainer_statistics
from quickdraw.pipeline.trace import read_provenance
from quickdraw.pipeline.verify.verify import verify_structure

type Digests = dict[EpisodeKey, dict[str, FileDigest]]


def build(plan: BuildPlan, settings: Settings, executor: Executor, progress: Progress) -> bool:
    """Build and publish the dataset; False where the one that is published already is what would be built.

    Raises Refused, nothing published, where pictures turn out bad; what is finished by then is kept for the next try.
    """
    with staging(settings.output) as folder:
        store, index = PartStore(folder / PARTS), DigestIndex(index_file(settings.output), not settings.rehash)
        store.clear()
        try:
            fresh = _Stages(plan, settings, executor, progress, folder, store).run(index)
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
    """The stages of one build, each reading what the one before left in `folder`."""

    plan: BuildPlan
    settings: Settings
    executor: Executor
    progress: Progress
    folder: Path
    store: PartStore

    @property
    def dataset(self) -> Path:
        return self.folder / "dataset"

    def run(self, index: DigestIndex) -> bool:
        """All of them, as far as they are needed; whether a dataset was published."""
        known = self.known(index)
        if self.is_published(known, index):
            return False
        plan, digests = self.map(known, index)
        mapped = replace(self, plan=plan)
        if mapped.is_published(digests, index):
            return False
        mapped.publish(digests, index)
        return True

    def known(self, index: DigestIndex) -> Digests:
        """Of every episode, the digests of the files that are unchanged since a build last read them."""
        known: Digests = {}
        for key, plan in self.plan.episodes.items():
            found = {file: index.known(self.settings.source.path(key, file), s) for file, s in plan.stamps.items()}
            known[key] = {file: digest for file, digest in found.items() if digest is not None}
        return known

    def map(self, known: Digests, index: DigestIndex) -> tuple[BuildPlan, Digests]:
        """Make every part that is not there; all digests, and the plan without what turned out bad, if it may be.

        Raises Refused with the faults of all that could not be made.
        """
        settings, plans = self.settings, self.plan.episodes
        published = Published(settings.output)
        workshop = Workshop(settings.source, settings.encoding, settings.cubes, self.store, published)
        tasks = list(map_tasks(workshop, plans.values(), known))
        digests, made, rejected = {key: dict(files) for key, files in known.items()}, list[Made](), list[Rejected]()
        with self.progress.stage("map", sum(task.cost for task in tasks), "pictures") as meter:
            for result in self.executor.run(run_task, tasks):
                if isinstance(result, Rejected):
                    rejected.append(result)
                    continue
                meter.advance(result.cost)
                made.append(result)
                digests[result.key] |= result.sources
                for file, digest in result.sources.items():
                    path = settings.source.path(result.key, file)
                    index.add(path, plans[result.key].stamps[file], digest.sha256)
        new = sum(result.new for result in made)
        self.progress.note(f"{new} parts made, {sum(result.parts for result in made) - new} there already")
        if rejected and settings.on_bad_run == "refuse":
            raise Refused(faults_of(merged(rejected)), len(plans))
        for fault in faults_of(merged(rejected)):
            self.progress.note(f"not built: {fault}")
        return without(self.plan, rejected, settings) if rejected else self.plan, digests

    def fragments(self, digests: Digests) -> dict[str, tuple[Fragment, ...]]:
        """Split name -> its episodes, in order."""
        plans = self.plan.episodes
        return {
            split.name: tuple(self._fragment(plans[key], digests[key]) for key in split.episodes)
            for split in self.plan.splits
        }

    def _fragment(self, plan: EpisodePlan, digests: dict[str, FileDigest]) -> Fragment:
        source, encoding, rule = self.settings.source, self.settings.encoding, self.settings.cubes
        clips = {
            camera: clip_fingerprint(digests[plan.videos[camera]], plan.frame_digests[camera], encoding)
            for camera in source.cameras
        }
        tracks = {camera: track_fingerprint(clips[camera], rule.thresholds) for camera in rule.cameras} if rule else {}
        return Fragment(self.store, plan, digests, rows_fingerprint(source, plan, digests), clips, tracks)

    def is_published(self, digests: Digests, index: DigestIndex) -> bool:
        """Whether what would be built is what is published, as far as digests are known."""
        plans, output = self.plan.episodes, self.settings.output
        if any({*plan.row_files, *plan.videos.values()} - digests[key].keys() for key, plan in plans.items()):
            return False
        try:
            there = read_provenance(output).get(FINGERPRINT)
        except Refused:
            return False
        members = {name: tuple(Member(f, None) for f in found) for name, found in self.fragments(digests).items()}
        return there == provenance(self.plan, self.settings, members)[FINGERPRINT] and is_whole(output, index)

    def publish(self, digests: Digests, index: DigestIndex) -> None:
        """Everything from parts to the published dataset."""
        members = self.members(self.fragments(digests))
        self.pack(members, self.measure(members))
        take_inventory(self.dataset, self.executor)
        self.verify()
        self.write_log()
        publish(self.dataset, self.settings.output)
        remember(self.settings.output, index)
        if self.plan.rejected:
            for line in split_lines(self.plan, self.settings.source.rate_hz):
                self.progress.note(line)
            left = f"{len(self.plan.rejected)} of {len(self.plan.rejected) + len(self.plan.episodes)} runs"
            self.progress.note(f"left out: {left}; refused_runs in {PROVENANCE} says why")

    def members(self, fragments: Mapping[str, tuple[Fragment, ...]]) -> dict[str, tuple[Member, ...]]:
        """Split name -> its episodes as it packs them, each split with the cubes there is evidence for in it."""
        members, rule = {}, self.settings.cubes
        for name, episodes in fragments.items():
            cubes = None
            if rule:
                tracks = ([fragment.track(camera) for camera in rule.cameras] for fragment in episodes)
                cubes = split_cubes(rule, tracks, self.settings.encoding.picture_px)
                self.progress.note(f"cubes in {name}: {cubes}")
            members[name] = tuple(Member(fragment, cubes) for fragment in episodes)
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
        tasks = [
            PackTask(self.dataset, name, spec, episodes, trainer if pin else measured[name], pin)
            for name, episodes in members.items()
        ]
        with self.progress.stage("pack", sum(map(self.plan.frames, self.plan.splits)), "rows") as meter:
            for rows in self.executor.run(pack, tasks):
                meter.advance(rows)
        constants = normalization(spec, trainer)
        write_json(self.dataset / NORMALIZATION, constants, indent=2)
        write_json(self.dataset / SUMMARY, summary(self.plan, self.settings, constants), indent=2)
        write_json(self.dataset / PROVENANCE, provenance(self.plan, self.settings, members), indent=2)

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
