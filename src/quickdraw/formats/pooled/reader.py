"""A pooled task and its episodes, read lazily: opening a task opens no episode, and each access opens its file anew.

A file may be replaced at any moment, so that nothing of one is kept; what an episode consists of is what was found when
the task was opened. Contract sections 2, 6, 7 and 8.

Matrices need two files, the row for their scale and the data. Where an episode is recorded anew, both are replaced, one
after the other, and the scale of the one would make the other wrong by a factor. So both are taken from before or from
after: the row is read, then whether a recorder is about to replace either, then the data file is opened, and the row
read again, which must be the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from quickdraw.core.depth import Depth
from quickdraw.core.grid import Float64
from quickdraw.errors import Fault, Refused
from quickdraw.formats.pooled import clock, columns, journal, matrices, series
from quickdraw.formats.pooled.align import Side
from quickdraw.formats.pooled.data import DataFile
from quickdraw.formats.pooled.depth import open_depth
from quickdraw.formats.pooled.info import Info, recognise
from quickdraw.formats.pooled.matrices import MatrixSample, Opened, ScaleSource
from quickdraw.formats.pooled.rows import EpisodeRow, read_row
from quickdraw.formats.pooled.scan import EpisodeFiles, scan
from quickdraw.video.decoding import Rgb, as_rgb, pictures
from quickdraw.video.probing import counts, streams

type Kind = Literal["rgb", "depth"]

PATIENCE_S = 2.0  # for a recorder that has begun to replace an episode; it needs milliseconds
PAUSE_S = 0.01


@dataclass(frozen=True, slots=True)
class Video:
    """What one slot of an episode shows: its `kind` by what is in the file, never by its name.

    `stream` is the number of the stream it is in, counted over all of the file.
    """

    slot: str
    kind: Kind
    path: Path
    stream: int

    def picture_count(self) -> int:
        """How many pictures it has; the file is read through, and nothing decoded. Raises VideoError for a bad one."""
        return counts(self.path)[self.stream]


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

    def slots(self) -> dict[str, Video]:
        """Its videos by slot, each probed. Raises Refused where a slot has two, VideoError where one is bad.

        Only mp4 and mkv files are videos; what else lies beside them under the episode's name is passed over.
        """
        faults = [fault for paths in self.files.playable().values() for fault in self._two(paths)]
        if faults:
            raise Refused(faults)
        return {slot: _probed(slot, paths[0]) for slot, paths in self.files.playable().items()}

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

    def scale(self, column: str) -> tuple[int, ScaleSource]:
        """Steps a mN of a matrix column, and who says so. Raises Refused as `matrices` does."""
        return self.scales([column])[column]

    def scales(self, names: Sequence[str]) -> dict[str, tuple[int, ScaleSource]]:
        """`scale` of several columns, by their types in the footer; no matrix is read. Raises Refused as `scale`."""
        if not names:
            return {}
        row, data = self._of_one_recording(names[0], lambda: self.data)
        found, faults = dict[str, tuple[int, ScaleSource]](), list[Fault]()
        for name in names:
            try:
                found[name] = matrices.scale_of(self.info, row, name, matrices.value_type(data, name))
            except Refused as refused:
                faults += refused.faults
        if faults:
            raise Refused(faults)
        return found

    def matrices(self, column: str) -> Iterator[MatrixSample]:
        """(row, stamp [ns], `(250, 250, 3)` float32 [mN]) of each sample, in row order, a few in memory at a time.

        All are of one recording, by its own scale, whatever replaces it meanwhile. Raises Refused as
        `matrices.scale_of` and `matrices.samples` do, and where a recorder that replaces the episode does not get on,
        since it was killed: the next one ends what it began.
        """
        found, scale, _ = self._opened(column)
        yield from found.samples(scale)

    def held_matrices(self, column: str) -> Iterator[npt.NDArray[np.float32] | None]:
        """For each row the latest matrix up to it, read-only; None before the first. Raises Refused as `matrices`."""
        found, scale, _ = self._opened(column)
        yield from found.held(scale)

    def force(self, side: Side, gripper: int = 1) -> series.Force:
        """Each row's force by its own column, else by the sum of the row's matrix, which has that one's stamps.

        Raises Refused where there is neither, and as `matrices` does.
        """
        data, column = self.data, columns.force(side, gripper)
        if column in data:
            return series.force(data, column)
        found, scale, _ = self._opened(columns.matrix(side, gripper))
        return series.force_of_matrices(found, scale)

    def fold(self) -> clock.Fold:
        """Which rows stand for frames, where several slots gave rows of one frame. Raises Refused for missing keys."""
        data = self.data
        data.require(series.KEY_TYPES)
        keys, _ = data.read(["frame_index", "timestamp", "hardware_ns"])
        return clock.fold(keys["frame_index"], keys["timestamp"], keys["hardware_ns"])

    def elapsed_s(self) -> Float64:
        """Seconds since its start of each row, `(T,)` float64, exact in long takes too.

        Raises Refused as `fold`, and where a time is not finite.
        """
        data = self.data
        data.require(series.KEY_TYPES)
        keys, _ = data.read(["timestamp", "wall_time"])
        odd = [name for name, values in keys.items() if not np.isfinite(values).all()]
        if odd:
            raise Refused([self._fault(name, "a value that is not finite", "seconds", data.path) for name in odd])
        return clock.elapsed_s(keys["timestamp"], keys["wall_time"])

    def _opened(self, column: str) -> tuple[Opened, int, ScaleSource]:
        """A column of matrices in an open file, with its scale, both of one recording."""
        row, found = self._of_one_recording(column, lambda: matrices.opened(self.data, column))
        return found, *matrices.scale_of(self.info, row, column, found.value_type)

    def _of_one_recording[T](self, column: str, read: Callable[[], T]) -> tuple[EpisodeRow | None, T]:
        """The episode's row and what is read of its data, both of one recording."""
        layout, until = self.info.layout, time.monotonic() + PATIENCE_S
        places = {layout.row(self.number), layout.data(self.number)}
        while True:
            row = self.row
            # In this order: where this row is new already, the note that it waits for its data is there.
            if not places & journal.awaited(layout):
                found = read()
                if _recording(self.row) == _recording(row):
                    return row, found
            if time.monotonic() > until:
                expected = "one recording; the next change of the task ends a recorder's that was killed"
                raise self._refusal(column, "half replaced", expected, layout.row(self.number))
            time.sleep(PAUSE_S)

    def _two(self, paths: Sequence[Path]) -> Iterator[Fault]:
        if len(paths) > 1:
            found = " and ".join(path.name for path in paths)
            yield self._fault(paths[0].parent.name, found, "one video of an episode and slot", paths[0].parent)

    def _path(self, slot: str) -> Path:
        playable = self.files.playable()
        if slot not in playable:
            known = f"one of {', '.join(playable)}" if playable else "none, for it has no video"
            raise self._refusal(slot, "no such slot", known, self.info.layout.root)
        if faults := [*self._two(playable[slot])]:
            raise Refused(faults)
        return playable[slot][0]

    def _fault(self, key: str, found: str, expected: str, path: Path) -> Fault:
        return Fault(f"{self.info.layout.task} episode {self.number}", key, found, expected, path=str(path))

    def _refusal(self, key: str, found: str, expected: str, path: Path) -> Refused:
        return Refused([self._fault(key, found, expected, path)])


def _probed(slot: str, path: Path) -> Video:
    depth = open_depth(path)
    if depth is not None:
        return Video(slot, "depth", path, depth.index)
    return Video(slot, "rgb", path, streams(path)[0].index)


def _recording(row: EpisodeRow | None) -> object:
    """What no two recordings of an episode have alike. Its JSON as it was found: a NaN in it equals none."""
    return None if row is None else (row.created_at, row.length, row.texts)


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
            raise Refused([Fault(self.info.layout.task, "episode", str(number), known, path=str(root))])
        return Episode(self.info, number, files)

    def episodes(self) -> Iterator[Episode]:
        """Every episode that has files, by N ascending."""
        return (Episode(self.info, number, files) for number, files in self.found.items())
