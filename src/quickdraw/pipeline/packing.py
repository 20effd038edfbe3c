"""The pack stage: of each split two tasks a block of episodes, for its rows and for what is filed beside them, one a
video file, and two for what tells of the whole split.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from quickdraw.core.statistics import Statistics
from quickdraw.formats.lerobot.blocks import Block
from quickdraw.formats.lerobot.files import Place
from quickdraw.formats.lerobot.fingerprints import FINGERPRINTS_PATH, vector_crcs, write_fingerprints
from quickdraw.formats.lerobot.packer import BlockPlan, Contents, pack_block, write_documents
from quickdraw.formats.lerobot.schema import DatasetSpec
from quickdraw.pipeline.cubes import Member
from quickdraw.pipeline.executors import Executor
from quickdraw.pipeline.fragments import Fragment
from quickdraw.pipeline.joining import JoinTask, Written
from quickdraw.pipeline.links import link
from quickdraw.pipeline.members import Members
from quickdraw.pipeline.places import CLIP_PLACE, PICTURES_PLACE, TRACK_PLACE
from quickdraw.pipeline.site import Site

type Crcs = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class PackTask:
    """Write the files of a block of split `name`; `members`, tasks and places are of its episodes alone."""

    site: Site
    name: str
    spec: DatasetSpec
    block: Block
    members: Members
    task_of: Sequence[int]
    places: Mapping[str, Sequence[Place]]
    pin: bool

    def __str__(self) -> str:
        return f"rows of {self.name}, {self.block}"

    def __call__(self) -> Written:
        """Write rows and metadata."""
        plan = BlockPlan(self.spec, self.block, self.members, self.task_of, self.places, self.pin)
        with self.site.filling(self.site.dataset / self.name) as root:
            pack_block(plan, root)
        return Written(self.block.rows)


@dataclass(frozen=True, slots=True)
class Filed:
    """What was made for a block of a split, besides rows and videos, is in its place."""

    split: str


@dataclass(frozen=True, slots=True)
class FileTask:
    """Put what was made for the `members` of a block of split `name`, besides rows and videos, into the dataset."""

    site: Site
    name: str
    cameras: tuple[str, ...]
    block: Block
    members: Members

    def __str__(self) -> str:
        return f"files of {self.name}, {self.block}"

    def __call__(self) -> Filed:
        """Hand clips and measurements on, and keep fingerprints for `FingerprintsTask`."""
        self._make_folders()
        found = [self._filed(*member) for member in enumerate(self.members, self.block.first)]
        names = list(found[0])
        crcs = np.stack([np.concatenate([episode[name] for episode in found]) for name in names])
        kept = _kept(self.site, self.name, self.block)
        with self.site.filling(kept.parent) as folder:
            np.savez(folder / kept.name, names=names, crcs=crcs)
        return Filed(self.name)

    def _make_folders(self) -> None:
        for camera in self.cameras:
            for template in (CLIP_PLACE, PICTURES_PLACE):
                self.site.make(self._place(template, camera, 0).parent)

    def _place(self, template: str, camera: str, number: int) -> Path:
        return self.site.dataset / template.format(camera=camera, split=self.name, number=number)

    def _filed(self, number: int, member: Member) -> dict[str, Crcs]:
        """What each row of an episode is known by: its pictures, and what was read of the raw run for it."""
        fragment = member.fragment
        self._hand_on(number, fragment)
        shown = {camera: fragment.picture_crcs(camera) for camera in self.cameras}
        return shown | {name: vector_crcs(rows) for name, rows in fragment.rows().items()}

    def _hand_on(self, number: int, fragment: Fragment) -> None:
        for camera in self.cameras:
            files = {CLIP_PLACE: fragment.clip(camera), PICTURES_PLACE: fragment.measured(camera)}
            if camera in fragment.tracks:
                files[TRACK_PLACE] = fragment.track_file(camera)
            for template, file in files.items():
                link(file, self._place(template, camera, number), self.site.aside)


def _kept(site: Site, split: str, block: Block) -> Path:
    """Where the fingerprints of a block are until all are there."""
    return site.kept / split / f"{block.number}.npz"


@dataclass(frozen=True, slots=True)
class FingerprintsTask:
    """Write the fingerprints of split `name`, of episodes of these `lengths`, from those of its blocks."""

    site: Site
    name: str
    lengths: tuple[int, ...]
    blocks: tuple[Block, ...]

    def __str__(self) -> str:
        return f"fingerprints of {self.name}"

    def __call__(self) -> Written:
        """Join them."""
        target = self.site.dataset / FINGERPRINTS_PATH.format(split=self.name)
        with self.site.filling(target.parent) as folder:
            write_fingerprints(folder / target.name, self._episodes())
        return Written(0)

    def _episodes(self) -> Iterator[dict[str, Crcs]]:
        for block in self.blocks:
            with np.load(_kept(self.site, self.name, block)) as arrays:
                names, crcs = arrays["names"].tolist(), arrays["crcs"]
            begun = 0
            for length in self.lengths[block.first : block.stop]:
                yield dict(zip(names, crcs[:, begun : begun + length], strict=True))
                begun += length


@dataclass(frozen=True, slots=True)
class DocumentsTask:
    """Write what tells of all of split `name`: its tasks, info.json and stats.json."""

    site: Site
    name: str
    spec: DatasetSpec
    contents: Contents
    statistics: Mapping[str, Statistics]

    def __str__(self) -> str:
        return f"documents of {self.name}"

    def __call__(self) -> Written:
        """Write them."""
        with self.site.filling(self.site.dataset / self.name) as root:
            write_documents(root, self.spec, self.contents, self.statistics)
        return Written(0)


type Task = JoinTask | PackTask | FileTask | FingerprintsTask | DocumentsTask


@dataclass(frozen=True, slots=True)
class Packing:
    """A split about to be put into the dataset growing at `site`, but for its videos.

    `places` is camera -> where the pictures of each member lie in those. `statistics` are those of its stats.json.
    """

    site: Site
    name: str
    spec: DatasetSpec
    members: Members
    places: Mapping[str, Sequence[Place]]
    statistics: Mapping[str, Statistics]
    pin: bool


def pack(packings: Iterable[Packing], joins: Iterable[JoinTask], executor: Executor) -> Iterator[int]:
    """Write splits, and the video files that are not there yet; how many rows, as they are written."""
    missing, last = dict[str, int](), dict[str, FingerprintsTask]()

    def tasks() -> Iterator[Task]:
        yield from joins
        for packing in packings:
            contents = Contents.of((plan.frames, plan.task) for plan in packing.members.plans.values())
            blocks = tuple(contents.blocks(packing.spec))
            missing[packing.name] = len(blocks)
            last[packing.name] = FingerprintsTask(packing.site, packing.name, contents.lengths, blocks)
            yield from _of_blocks(packing, contents, blocks)
            yield DocumentsTask(packing.site, packing.name, packing.spec, contents, packing.statistics)

    def then(result: Written | Filed) -> Iterator[Task]:
        if isinstance(result, Filed):
            missing[result.split] -= 1
            if not missing[result.split]:
                yield last[result.split]

    for result in executor.run(_run, tasks(), then):
        yield result.rows if isinstance(result, Written) else 0


def _of_blocks(packing: Packing, contents: Contents, blocks: Sequence[Block]) -> Iterator[Task]:
    site, name, spec = packing.site, packing.name, packing.spec
    for block, members in zip(blocks, packing.members.parted(block.stop for block in blocks), strict=True):
        some = slice(block.first, block.stop)
        places = {camera: of_camera[some] for camera, of_camera in packing.places.items()}
        yield PackTask(site, name, spec, block, members, contents.task_of[some], places, packing.pin)
        yield FileTask(site, name, spec.cameras, block, members)


def _run(task: Task) -> Written | Filed:
    """In a worker."""
    return task()
