"""The pack stage: one task per split joins its episodes and files their clips and what was measured in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from quickdraw.core.statistics import Statistics
from quickdraw.formats.lerobot.fingerprints import FINGERPRINTS_PATH, vector_crcs, write_fingerprints
from quickdraw.formats.lerobot.packer import SplitPlan, pack_split
from quickdraw.formats.lerobot.schema import DatasetSpec
from quickdraw.pipeline.cubes import Member
from quickdraw.pipeline.fragments import Fragment
from quickdraw.pipeline.links import link
from quickdraw.pipeline.places import CLIP_PLACE, PICTURES_PLACE, TRACK_PLACE


@dataclass(frozen=True, slots=True)
class PackTask:
    """Write split `name` of the dataset growing at `dataset`, from `members` in episode order."""

    dataset: Path
    name: str
    spec: DatasetSpec
    members: tuple[Member, ...]
    statistics: Mapping[str, Statistics]
    pin: bool


def pack(task: PackTask) -> int:
    """Write the split; how many frames it has."""
    pack_split(SplitPlan(task.dataset / task.name, task.spec, task.members, task.statistics, task.pin))
    fragments = [member.fragment for member in task.members]
    for number, fragment in enumerate(fragments):
        for camera in task.spec.cameras:
            files = {CLIP_PLACE: fragment.clip(camera), PICTURES_PLACE: fragment.measured(camera)}
            if camera in fragment.tracks:
                files[TRACK_PLACE] = fragment.track_file(camera)
            for template, file in files.items():
                link(file, task.dataset / template.format(camera=camera, split=task.name, number=number))
    crcs = (_crcs(fragment, task.spec.cameras) for fragment in fragments)
    write_fingerprints(task.dataset / FINGERPRINTS_PATH.format(split=task.name), crcs)
    return sum(fragment.frames for fragment in fragments)


def _crcs(fragment: Fragment, cameras: Sequence[str]) -> dict[str, npt.NDArray[np.uint32]]:
    """What each row of an episode is known by: its pictures, and what was read of the raw run for it."""
    shown = {camera: fragment.picture_crcs(camera) for camera in cameras}
    return shown | {name: vector_crcs(rows) for name, rows in fragment.rows().items()}
