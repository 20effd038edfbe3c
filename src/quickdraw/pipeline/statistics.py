"""Statistics of a split, from its episodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from quickdraw.core.cubes import CUBE
from quickdraw.core.episode import Float32
from quickdraw.core.normalization import for_training
from quickdraw.core.passes import of_passes
from quickdraw.core.statistics import Statistics, of_histogram
from quickdraw.formats.lerobot.schema import DatasetSpec
from quickdraw.pipeline.cubes import SplitCubes
from quickdraw.pipeline.fragments import read_track
from quickdraw.pipeline.members import Members
from quickdraw.pipeline.part_files import ROWS

type Files = tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class MeasureTask:
    """Measure one column of a split, in the `files` its episodes have it in, one tuple an episode.

    A task knows files alone, for the plans of all episodes are many megabytes to hand to a worker.
    """

    split: str
    column: str
    files: tuple[Files, ...]

    def statistics(self) -> Statistics:
        """Over all rows, or all sampled pictures."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class VectorTask(MeasureTask):
    """A feature as it was read from the raw run; `files` are of rows."""

    dtype: str

    def statistics(self) -> Statistics:
        """Over all rows."""
        return of_passes(self._read, np.float32 if self.dtype == "float32" else np.float64)

    def _read(self) -> Iterator[npt.NDArray[Any]]:
        for (file,) in self.files:
            with np.load(file) as arrays:
                yield arrays[self.column]


@dataclass(frozen=True, slots=True)
class CubesTask(MeasureTask):
    """The cubes; `files` are the tracks of each view."""

    cubes: SplitCubes

    def statistics(self) -> Statistics:
        """Over all rows."""
        return of_passes(self._read)

    def _read(self) -> Iterator[Float32]:
        for files in self.files:
            yield self.cubes.rows([read_track(file) for file in files])


@dataclass(frozen=True, slots=True)
class PicturesTask(MeasureTask):
    """A camera; `files` are what was measured of its clips."""

    def statistics(self) -> Statistics:
        """Over all sampled pictures."""
        counts, pictures, levels = np.zeros(1, np.int64), 0, np.zeros(0)
        for (file,) in self.files:
            with np.load(file) as arrays:
                counts = counts + arrays["counts"]
                pictures += int(arrays["pictures"])
                levels = arrays["levels"]
        return of_histogram(counts, pictures, levels)


def measure_tasks(split: str, spec: DatasetSpec, members: Members) -> list[MeasureTask]:
    """A task for each feature and each camera of a split, none for its bookkeeping; the widest first."""
    rows, tracks, cubes = list[Files](), list[Files](), members.cubes
    measured: dict[str, list[Files]] = {camera: [] for camera in spec.cameras}
    for fragment in (member.fragment for member in members):
        rows.append((fragment.store.folder(fragment.rows_part) / ROWS,))
        tracks.append(tuple(map(fragment.track_file, cubes.rule.cameras)) if cubes else ())
        for camera in spec.cameras:
            measured[camera].append((fragment.measured(camera),))
    tasks: list[MeasureTask] = []
    for feature in sorted(spec.features, key=lambda feature: -feature.width):
        if cubes is not None and feature.name == CUBE.name:
            tasks.append(CubesTask(split, feature.name, tuple(tracks), cubes))
        else:
            tasks.append(VectorTask(split, feature.name, tuple(rows), feature.dtype))
    return tasks + [PicturesTask(split, spec.video_key(camera), tuple(files)) for camera, files in measured.items()]


def measure(task: MeasureTask) -> tuple[str, str, Statistics]:
    """The split, the feature, and its plain statistics."""
    return task.split, task.column, task.statistics()


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
