"""The pack stage: one task per split joins its fragments and files the clips as its media."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from quickdraw.core.statistics import Statistics
from quickdraw.formats.lerobot.packer import SplitPlan, pack_split
from quickdraw.formats.lerobot.schema import DatasetSpec
from quickdraw.pipeline.fragments import Fragment


@dataclass(frozen=True, slots=True)
class PackTask:
    """Write split `name` of the dataset growing at `dataset`, from `fragments` in episode order."""

    dataset: Path
    name: str
    spec: DatasetSpec
    fragments: tuple[Fragment, ...]
    statistics: Mapping[str, Statistics]
    pin: bool


def pack(task: PackTask) -> int:
    """Write the split; how many frames it has."""
    pack_split(SplitPlan(task.dataset / task.name, task.spec, task.fragments, task.statistics, task.pin))
    for number, fragment in enumerate(task.fragments):
        for camera in task.spec.cameras:
            place = task.dataset / media_path(camera, task.name, number)
            place.parent.mkdir(parents=True, exist_ok=True)
            fragment.clip(camera).rename(place)
    return sum(fragment.frames for fragment in task.fragments)


def media_path(camera: str, split: str, number: int) -> str:
    """Where an episode's clip lies, relative to the dataset."""
    return f"media/{camera}/{split}/ep_{number:04d}.mp4"
