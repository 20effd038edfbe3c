"""Statistics of a split, from its episodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from quickdraw.core.cubes import CUBE, EVERY_COLUMN
from quickdraw.core.episode import Float32
from quickdraw.core.normalization import for_training
from quickdraw.core.passes import Size, beside, of_passes
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

    A task knows files alone, for the plans of all episodes are many megabytes to hand to a worker. `share` are the
    column's dimensions it is about, None for all: of many rows a column is several tasks.
    """

    split: str
    column: str
    share: slice | None
    files: tuple[Files, ...]

    @property
    def number(self) -> int:
        """Which dimension it begins with."""
        return self.share.start if self.share else 0

    def statistics(self) -> Statistics:
        """Over all rows, or all sampled pictures."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Share:
    """Plain statistics of a feature of a split, from dimension `number` on."""

    split: str
    column: str
    number: int
    statistics: Statistics


@dataclass(frozen=True, slots=True)
class VectorTask(MeasureTask):
    """A feature as it was read from the raw run; `files` are of rows."""

    dtype: str
    size: Size

    def statistics(self) -> Statistics:
        """Over all rows."""
        dtype = np.float32 if self.dtype == "float32" else np.float64
        return of_passes(self._read, dtype, self.size, self.share)

    def _read(self) -> Iterator[npt.NDArray[Any]]:
        for (file,) in self.files:
            with np.load(file) as arrays:
                yield arrays[self.column] if self.share is None else arrays[self.column][:, self.share]


@dataclass(frozen=True, slots=True)
class CubesTask(MeasureTask):
    """The cubes; `files` are the tracks of each view."""

    cubes: SplitCubes
    size: Size

    def statistics(self) -> Statistics:
        """Over all rows."""
        return of_passes(self._read, size=self.size, share=self.share)

    def _read(self) -> Iterator[Float32]:
        for files in self.files:
            yield self.cubes.rows([read_track(file) for file in files], self.share or EVERY_COLUMN)


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
    """Tasks for each feature and each camera of a split, none for its bookkeeping; the widest first."""
    rows, tracks, cubes, length = list[Files](), list[Files](), members.cubes, 0
    measured: dict[str, list[Files]] = {camera: [] for camera in spec.cameras}
    for fragment in (member.fragment for member in members):
        length += fragment.frames
        rows.append((fragment.store.folder(fragment.rows_part) / ROWS,))
        tracks.append(tuple(map(fragment.track_file, cubes.rule.cameras)) if cubes else ())
        for camera in spec.cameras:
            measured[camera].append((fragment.measured(camera),))
    tasks: list[MeasureTask] = []
    for feature in sorted(spec.features, key=lambda feature: -feature.width):
        size = Size(length, feature.width)
        for share in size.shares():
            if cubes is not None and feature.name == CUBE.name:
                tasks.append(CubesTask(split, feature.name, share, tuple(tracks), cubes, size))
            else:
                tasks.append(VectorTask(split, feature.name, share, tuple(rows), feature.dtype, size))
    pictures = ((spec.video_key(camera), tuple(files)) for camera, files in measured.items())
    return tasks + [PicturesTask(split, key, None, files) for key, files in pictures]


def measure(task: MeasureTask) -> Share:
    """What a task found."""
    return Share(task.split, task.column, task.number, task.statistics())


def put_together(shares: Iterable[Share]) -> dict[str, dict[str, Statistics]]:
    """Split and feature -> the statistics of all of it."""
    parts: dict[str, dict[str, dict[int, Statistics]]] = {}
    for share in shares:
        parts.setdefault(share.split, {}).setdefault(share.column, {})[share.number] = share.statistics
    return {
        split: {column: beside([found[number] for number in sorted(found)]) for column, found in columns.items()}
        for split, columns in parts.items()
    }


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
