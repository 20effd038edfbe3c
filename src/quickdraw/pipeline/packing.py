"""The pack stage: two tasks a split, for its rows and for what is filed beside them, and one a video file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from quickdraw.core.statistics import Statistics
from quickdraw.formats.lerobot.files import Place
from quickdraw.formats.lerobot.fingerprints import FINGERPRINTS_PATH, vector_crcs, write_fingerprints
from quickdraw.formats.lerobot.packer import SplitPlan, pack_split
from quickdraw.formats.lerobot.schema import DatasetSpec
from quickdraw.pipeline.cubes import Member
from quickdraw.pipeline.fragments import Fragment
from quickdraw.pipeline.joining import JoinTask, Written
from quickdraw.pipeline.links import link
from quickdraw.pipeline.members import Members
from quickdraw.pipeline.places import CLIP_PLACE, PICTURES_PLACE, TRACK_PLACE


@dataclass(frozen=True, slots=True)
class PackTask:
    """Write split `name` of the dataset growing at `dataset`, from `members` in episode order, but for its videos.

    `places` is camera -> where the pictures of each member lie in those.
    """

    dataset: Path
    name: str
    spec: DatasetSpec
    members: Members
    places: Mapping[str, Sequence[Place]]
    statistics: Mapping[str, Statistics]
    pin: bool

    def __call__(self) -> Written:
        """Write rows and metadata."""
        root = self.dataset / self.name
        return Written(pack_split(SplitPlan(root, self.spec, self.members, self.places, self.statistics, self.pin)))


@dataclass(frozen=True, slots=True)
class FileTask:
    """Put what was made for the `members` of split `name` besides rows and videos into the dataset at `dataset`."""

    dataset: Path
    name: str
    cameras: tuple[str, ...]
    members: Members

    def __call__(self) -> Written:
        """Hand clips and measurements on, note fingerprints."""
        path = self.dataset / FINGERPRINTS_PATH.format(split=self.name)
        write_fingerprints(path, (self._filed(*member) for member in enumerate(self.members)))
        return Written(0)

    def _filed(self, number: int, member: Member) -> dict[str, npt.NDArray[np.uint32]]:
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
                link(file, self.dataset / template.format(camera=camera, split=self.name, number=number))


def pack(task: PackTask | FileTask | JoinTask) -> Written:
    """Run a task in a worker."""
    return task()
