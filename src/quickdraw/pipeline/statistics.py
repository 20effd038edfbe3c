"""Statistics of a split, from its episodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from quickdraw.core.normalization import for_training
from quickdraw.core.statistics import LEVELS, Statistics, of_histogram, of_rows
from quickdraw.formats.lerobot.schema import DatasetSpec
from quickdraw.pipeline.cubes import Member


@dataclass(frozen=True, slots=True)
class MeasureTask:
    """Measure one split: its features and cameras, not its bookkeeping."""

    split: str
    spec: DatasetSpec
    members: tuple[Member, ...]


def measure(task: MeasureTask) -> tuple[str, dict[str, Statistics]]:
    """The split's name and its plain statistics by feature, over all rows and all sampled pictures."""
    rows = [member.rows() for member in task.members]
    statistics = {f.name: of_rows(np.concatenate([r[f.name] for r in rows])) for f in task.spec.features}
    for camera in task.spec.cameras:
        counts, pictures = np.zeros((3, LEVELS), np.int64), 0
        for member in task.members:
            more, sampled = member.picture_counts(camera)
            counts += more
            pictures += sampled
        statistics[task.spec.video_key(camera)] = of_histogram(counts, pictures)
    return task.split, statistics


def trainer_statistics(spec: DatasetSpec, train: dict[str, Statistics]) -> dict[str, Statistics]:
    """Train's statistics as every split carries them: pinned where geometry must pass through, bounded everywhere."""
    identity = {feature.name: feature.identity_dims for feature in spec.features}
    return {name: for_training(statistics, identity.get(name, ())) for name, statistics in train.items()}


def normalization(spec: DatasetSpec, trainer: dict[str, Statistics]) -> dict[str, Any]:
    """normalization_stats.json: mean and std per vector feature."""
    return {
        feature.name: {"mean": trainer[feature.name].mean.tolist(), "std": trainer[feature.name].std.tolist()}
        for feature in spec.features
    }
