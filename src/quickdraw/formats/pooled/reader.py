"""A pooled task and its episodes, read lazily: opening a task opens no episode, and each access opens its file anew.

A file may be replaced at any moment, so that nothing of one is kept; what an episode consists of is what was found when
the task was opened. Contract sections 2, 6, 7 and 8.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from quickdraw.core.grid import Float64
from quickdraw.errors import Fault, Refused
from quickdraw.formats.pooled import clock, matrices, series
from quickdraw.formats.pooled.align import Side, prefix
from quickdraw.formats.pooled.data import DataFile
from quickdraw.formats.pooled.depth import open_depth
from quickdraw.formats.pooled.info import Info, recognise
from quickdraw.formats.pooled.rows import EpisodeRow, read_row
from quickdraw.formats.pooled.scan import EpisodeFiles, scan
from quickdraw.video.decoding import Rgb, as_rgb, pictures

type SlotKind = Literal["rgb", "depth"]
type Depth = npt.NDArray[np.uint16]


@dataclass(frozen=True, slots=True)
class Slot:
    """One video of an episode: its `kind` by what is in the file, never by its name."""

    name: str
    kind: SlotKind
    path: Path


@dataclass(frozen=True, slots=True)
class Episode:
    """One episode by its `number` N: the `files` it had when its task was opened, read when asked for."""

    info: Info = field(repr=False)
    number: int
    files: EpisodeFiles

    @property
    def row(self) -> EpisodeRow | None:
        """Its row in meta/episodes, read anew; None where it has none."""
        return read_row(self.info.layout, self.number)

    @property
    def data(self) -> DataFile:
        """Its data file, opened anew. Raises Refused where it has none, or one that is damaged."""
        if self.files.data is None:
            raise self._refusal("data", "no data file", "one beside its videos", self.info.layout.data(self.number))
        return DataFile(self.files.data)

    def slots(self) -> dict[str, Slot]:
        """Its videos by slot, each probed. Raises Refused where a slot has two files, VideoError where one is bad."""
        paths = self._paths()
        return {name: Slot(name, "rgb" if open_depth(path) is None else "depth", path) for name, path in paths.items()}

    def frames(self, slot: str) -> Iterator[Rgb]:
        """The pictures of a colour slot in order, each `(H, W, 3)` uint8 RGB; picture k is that of frame k.

        Raises Refused for an unknown slot and for one of depth; VideoError where a picture is damaged.
        """
        path = self._path(slot)
        if open_depth(path) is not None:
            raise self._refusal(slot, "depth", "a slot of colour", path)
        yield from (as_rgb(picture) for picture in pictures(path))

    def depth(self, slot: str) -> Iterator[Depth]:
        """The frames of a depth slot in order, each `(H, W)` uint16 [mm], 0 where nothing is known.

        Raises Refused for an unknown slot and for one of colour; VideoError where a frame is damaged.
        """
        path = self._path(slot)
        video = open_depth(path)
        if video is None:
            raise self._refusal(slot, "colour", "a slot of depth", path)
        yield from video.frames()

    def imu(self) -> series.Imu:
        """Every IMU sample of every row, also of rows a fold drops. Raises Refused as `series.imu` does."""
        return series.imu(self.data)

    def trajectory(self, gripper: int = 1) -> series.Trajectory:
        """Every point of a gripper's path. Raises Refused as `series.trajectory` does."""
        return series.trajectory(self.data, gripper)

    def scale(self, column: str) -> tuple[int, matrices.ScaleSource]:
        """Steps a mN of a matrix column, and who says so. Raises Refused as `matrices.scale_of` does."""
        return matrices.scale_of(self.info, self.row, column, matrices.value_type(self.data, column))

    def matrices(self, column: str) -> Iterator[matrices.MatrixSample]:
        """(row, stamp [ns], `(250, 250, 3)` float32 [mN]) of each sample, in row order, a few in memory at a time.

        Raises Refused as `matrices.scale_of` and `matrices.samples` do.
        """
        scale, _ = self.scale(column)
        yield from matrices.samples(self.data, column, scale=scale)

    def held_matrices(self, column: str) -> Iterator[npt.NDArray[np.float32] | None]:
        """For each row the latest matrix up to it, read-only; None before the first. Raises Refused as `matrices`."""
        scale, _ = self.scale(column)
        yield from matrices.held(self.data, column, scale=scale)

    def force(self, side: Side, gripper: int = 1) -> series.Force:
        """Each row's force by its own column, else by the sum of the row's matrix, which has that one's stamps.

        Raises Refused where there is neither, and as `matrices` does.
        """
        data, column = self.data, f"observation.{prefix(gripper)}gripper_{side}_force"
        if column in data:
            return series.force(data, column)
        matrix = f"{column}_matrix"
        scale, _ = self.scale(matrix)
        return series.force_of_matrices(data, matrix, scale=scale)

    def fold(self) -> clock.Fold:
        """Which rows stand for frames, where several slots gave rows of one frame. Raises Refused for missing keys."""
        data = self.data
        data.require(series.KEY_TYPES)
        keys, _ = data.read(["frame_index", "timestamp", "hardware_ns"])
        return clock.fold(keys["frame_index"], keys["timestamp"], keys["hardware_ns"])

    def elapsed_s(self) -> Float64:
        """Seconds since its start of each row, `(T,)` float64, exact in long takes too. Raises Refused as `fold`."""
        data = self.data
        data.require(series.KEY_TYPES)
        keys, _ = data.read(["timestamp", "wall_time"])
        return clock.elapsed_s(keys["timestamp"], keys["wall_time"])

    def _paths(self) -> dict[str, Path]:
        faults = []
        for slot, paths in self.files.videos.items():
            if len(paths) > 1:
                found = " and ".join(path.name for path in paths)
                faults.append(self._fault(slot, found, "one video of an episode and slot", paths[0].parent))
        if faults:
            raise Refused(faults)
        return {slot: paths[0] for slot, paths in self.files.videos.items()}

    def _path(self, slot: str) -> Path:
        paths = self._paths()
        if slot not in paths:
            known = f"one of {', '.join(paths)}" if paths else "none, for it has no video"
            raise self._refusal(slot, "no such slot", known, self.info.layout.root)
        return paths[slot]

    def _fault(self, key: str, found: str, expected: str, path: Path) -> Fault:
        return Fault(f"{self.info.layout.root.name} episode {self.number}", key, found, expected, path=str(path))

    def _refusal(self, key: str, found: str, expected: str, path: Path) -> Refused:
        return Refused([self._fault(key, found, expected, path)])


@dataclass(frozen=True, slots=True)
class Task:
    """A pooled task: what it says of itself, and which episodes have files."""

    info: Info
    found: Mapping[int, EpisodeFiles] = field(repr=False)

    @classmethod
    def open(cls, path: Path) -> Task:
        """The task in a folder, by its info.json and the names in `data/` and `videos/`; no episode is opened.

        Raises Refused where the folder is no pooled task.
        """
        info = recognise(path)
        return cls(info, scan(info.layout))

    @property
    def numbers(self) -> tuple[int, ...]:
        """The number N of every episode that has files, ascending."""
        return tuple(self.found)

    def episode(self, number: int) -> Episode:
        """Episode N. Raises Refused where none of its files is there."""
        files = self.found.get(number)
        if files is None:
            root = self.info.layout.root
            known = f"one of {len(self.found)} from {min(self.found)} to {max(self.found)}" if self.found else "none"
            raise Refused([Fault(root.name, "episode", str(number), known, path=str(root))])
        return Episode(self.info, number, files)

    def episodes(self) -> Iterator[Episode]:
        """Every episode that has files, by N ascending."""
        return (Episode(self.info, number, files) for number, files in self.found.items())
