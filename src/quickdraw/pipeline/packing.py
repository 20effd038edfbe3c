"""The pack stage: one task per split joins its episodes and files the clips as its media."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from quickdraw.core.statistics import Statistics
from quickdraw.formats.lerobot.packer import SplitPlan, pack_split
from quickdraw.formats.lerobot.schema import DatasetSpec
from quickdraw.pipeline.cubes import Member


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
    for number, member in enumerate(task.members):
        for camera in task.spec.cameras:
            place = task.dataset / media_path(camera, task.name, number)
            place.parent.mkdir(parents=True, exist_ok=True)
            member.clip(camera).rename(place)
    return sum(member.frames for member in task.members)


def media_path(camera: str, split: str, number: int) -> str:
    """Where an episode's clip lies, relative to the dataset."""
    return f"media/{camera}/{split}/ep_{number:04d}.mp4"
