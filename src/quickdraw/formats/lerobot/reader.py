"""A built split without torch: rows as NumPy or pandas, pictures through imageio, depth in millimetres.

Works on any LeRobot v3.0 folder whose pictures are evenly timed from 0, ours or not.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from quickdraw.core.grid import Float64
from quickdraw.errors import Fault, Refused, VideoError
from quickdraw.formats.lerobot import schema
from quickdraw.formats.lerobot.data_files import DataFiles
from quickdraw.formats.lerobot.depth import depth_levels, is_depth
from quickdraw.formats.lerobot.info import (
    PLACE,
    dimension_names,
    is_count,
    is_number,
    read_info,
    split_fault,
    video_file,
)
from quickdraw.formats.lerobot.split_metadata import read_episodes, read_statistics, read_tasks

if TYPE_CHECKING:
    import pandas as pd

KEYS = ("episode_index", "frame_index")
BLOCK_ROWS, BLOCK_VALUES = 32_768, 4_000_000
MOST_S = 1e9  # into a file


def splits_of(dataset: Path) -> dict[str, SplitReader]:
    """The splits of a dataset folder by name, sorted. Raises Refused where it holds none."""
    roots = sorted(path.parent.parent for path in dataset.glob(f"*/{schema.INFO_PATH}"))
    if not roots:
        expected = f"a dataset folder, with <split>/{schema.INFO_PATH} in it"
        raise Refused([Fault(str(dataset), "splits", "none", expected)])
    return {root.name: SplitReader(root) for root in roots}


@dataclass(frozen=True)
class SplitReader:
    """One split folder, such as `datasets/block_stack/train`. Nothing is read before it is asked for."""

    root: Path

    @cached_property
    def info(self) -> dict[str, Any]:
        """meta/info.json. Raises Refused where it is not that of a LeRobot v3.0 split."""
        return read_info(self.root)

    @property
    def rate_hz(self) -> int:
        """Rows a second."""
        rate_hz: float = self.info["fps"]  # others write 30.0
        return int(rate_hz)

    @property
    def cameras(self) -> tuple[str, ...]:
        """Camera names, without `observation.images.`."""
        videos = [name for name, feature in self.info["features"].items() if feature["dtype"] == "video"]
        return tuple(name.removeprefix("observation.images.") for name in videos)

    @cached_property
    def episodes(self) -> list[dict[str, Any]]:
        """meta/episodes, a dict an episode, without statistics. Raises Refused where they cannot be read."""
        return read_episodes(self.root)

    def length(self, episode: int) -> int:
        """How many rows an episode has. Raises Refused where there is no such episode, or it is not told."""
        length = self._episode(episode).get("length")
        if not is_count(length) or length == 0:
            raise Refused([self._odd_episode(f"length {length!r} of episode {episode}")])
        return length

    def task_texts(self, episode: int) -> tuple[str, ...]:
        """What an episode's tasks are. Raises Refused where there is no such episode."""
        told = self._episode(episode).get("tasks")
        return tuple(map(str, told if isinstance(told, list) else [] if told is None else [told]))

    def _episode(self, episode: int) -> dict[str, Any]:
        self._refuse_unknown("episode", episode, range(len(self.episodes)))
        return self.episodes[episode]

    def _odd_episode(self, found: str) -> Fault:
        return split_fault(self.root, self.root / "meta/episodes", "episodes", found)

    @cached_property
    def tasks(self) -> list[str]:
        """Task texts, by task_index. Raises Refused where they cannot be read."""
        return read_tasks(self.root)

    @cached_property
    def statistics(self) -> dict[str, dict[str, Any]]:
        """meta/stats.json: feature -> statistic -> nested lists. Raises Refused where it cannot be read."""
        return read_statistics(self.root)

    @cached_property
    def rows(self) -> int:
        """How many rows the data files hold. Raises Refused where one cannot be read."""
        return DataFiles(self.root, {}).rows

    def array(self, feature: str, episode: int | None = None) -> npt.NDArray[Any]:
        """A column as `(T, D)`, or `(T,)` for scalars, in its dtype; of one episode where asked.

        Raises Refused where the split has no such column, a data file cannot be read, or it holds something else than
        info.json says.
        """
        return self._data([feature]).column(feature, episode)

    def times_s(self, episode: int) -> Float64:
        """`(T,)` float64 [s]: the times of an episode's rows. Raises Refused where these are not as many as it has."""
        times_s = self.array("timestamp", episode).astype(np.float64).ravel()
        where, length = f"{self.root}, episode {episode}", self.length(episode)
        if len(times_s) != length:
            path = str(self.root / "data")
            raise Refused([Fault(where, "rows", str(len(times_s)), f"{length}, its length", path=path)])
        if not np.isfinite(times_s).all():
            raise Refused([Fault(where, "timestamp", "no number", "a time in each row", path=str(self.root / "data"))])
        return times_s

    def blocks(self, features: Sequence[str]) -> Iterator[dict[str, npt.NDArray[Any]]]:
        """All rows in order, some thousands at a time: each feature as `array` gives it, and always `KEYS`.

        For what is too long to be held at once. Raises Refused as `array` does.
        """
        yield from self._data(features).blocks(list(dict.fromkeys([*features, *KEYS])), BLOCK_ROWS, BLOCK_VALUES)

    def _data(self, features: Sequence[str]) -> DataFiles:
        columns = {name: each for name, each in self.info["features"].items() if each["dtype"] != "video"}
        for feature in features:
            self._refuse_unknown("feature", feature, list(columns))
        return DataFiles(self.root, columns)

    def frame(self) -> pd.DataFrame:
        """All rows as a table: one column per dimension (`observation.state.ee_x_mm`), and the task's text."""
        import pandas as pd

        columns: dict[str, Any] = {}
        for name, described in self.info["features"].items():
            if described["dtype"] != "video":
                values = self.array(name)
                if values.ndim == 1:
                    columns[name] = values
                else:
                    dims = dimension_names(described.get("names"), values.shape[1])
                    columns |= {f"{name}.{dim}": values[:, i] for i, dim in enumerate(dims)}
        columns["task"] = [self.tasks[index] for index in columns["task_index"]]
        return pd.DataFrame(columns)

    def pictures(self, episode: int, camera: str) -> Iterator[npt.NDArray[np.uint8]]:
        """The pictures of one episode in row order, each `(H, W, 3)` uint8 RGB, one in memory at a time.

        Raises Refused where there is no such camera, or it is one of depth, VideoError where the file ends before the
        episode does.
        """
        import imageio.v3 as iio

        from quickdraw.video.decoding import opened as film

        self._refuse_unknown("camera", camera, self.cameras)
        if self.is_depth(camera):
            expected = f"one of colour; depth({episode}, {camera!r}) tells what this one shows"
            raise Refused([Fault(str(self.root), "camera", f"{camera}, of depth", expected)])
        path, first, length = self.place(episode, camera)
        with film(path):  # what is none is said in a word, where ffmpeg has pages
            pass
        # Half a picture early, so that no rounding of the time can skip the first one; ffmpeg drops what lies before.
        seek = ["-ss", f"{(first - 0.5) / self.rate_hz:.6f}"] if first else []
        options: dict[str, Any] = {"input_params": seek, "output_params": ["-frames:v", str(length)]}
        shown = 0
        try:
            for picture in iio.imiter(path, plugin="FFMPEG", **options):
                yield picture
                shown += 1
        except (OSError, RuntimeError) as error:  # the first line: what follows is all that ffmpeg says of itself
            said = error.strerror if isinstance(error, OSError) else None
            found = f"unreadable ({said or str(error).partition(chr(10))[0]})"
            raise VideoError(str(path), found, "a playable video file") from error
        if shown != length:
            raise VideoError(str(path), f"{shown} pictures of episode {episode}", f"{length}, one per row")

    def depth(self, episode: int, camera: str) -> Iterator[npt.NDArray[np.uint16]]:
        """The depth of one episode in row order, each `(H, W)` uint16 [mm], one in memory at a time: as lerobot has it.

        Raises Refused where there is no such camera, it is none of depth, or info.json does not tell its scale;
        VideoError where the file is damaged, or ends before the episode does.
        """
        from quickdraw.formats.lerobot.depth_codes import codes_of
        from quickdraw.video.checksums import read_packets
        from quickdraw.video.decoding import pictures, pictures_at

        known = [name for name in self.cameras if self.is_depth(name)]
        self._refuse_unknown("depth camera", camera, known)
        path, first, length = self.place(episode, camera)
        depth_mm = self._depth_levels(camera).astype(np.uint16)
        ordered = bool((np.diff(read_packets(path).pts) > 0).all())
        wanted = range(first, first + length)
        # Only what others wrote may show pictures in another order than it stores them.
        shown = pictures_at(path, wanted) if ordered else islice(enumerate(pictures(path)), wanted.start, wanted.stop)
        found = 0
        for _, picture in shown:
            yield depth_mm[codes_of(picture)]
            found += 1
        if found != length:
            raise VideoError(str(path), f"{found} pictures of episode {episode}", f"{length}, one per row")

    def pictures_at(
        self, episode: int, camera: str, rows: Collection[int]
    ) -> Iterator[tuple[int, npt.NDArray[np.uint8] | npt.NDArray[np.uint16]]]:
        """Some rows of one episode, each with its picture, rising: colour as `pictures` has it, depth as `depth` has.

        Sought by their time, so that of a long episode little is decoded. Raises Refused where there is no such camera
        or row, VideoError where a picture is not there or damaged.
        """
        from quickdraw.formats.lerobot.depth_codes import codes_of
        from quickdraw.video.decoding import as_rgb
        from quickdraw.video.seeking import pictures_by_time

        self._refuse_unknown("camera", camera, self.cameras)
        path, first, length = self.place(episode, camera)
        wanted = sorted(set(rows))
        for row in wanted:
            self._refuse_unknown("row", row, range(length))
        depth_mm = self._depth_levels(camera).astype(np.uint16) if self.is_depth(camera) else None
        shown = pictures_by_time(path, [first + row for row in wanted], self.rate_hz)
        for row, picture in zip(wanted, shown, strict=True):
            yield row, as_rgb(picture) if depth_mm is None else depth_mm[codes_of(picture)]

    def dimensions(self, feature: str) -> tuple[str, ...]:
        """Names of a feature's dimensions, or else their numbers. Raises Refused where there is no such feature."""
        self._refuse_unknown("feature", feature, list(self.info["features"]))
        described = self.info["features"][feature]
        return tuple(map(str, dimension_names(described.get("names"), math.prod(described["shape"]))))

    def is_depth(self, camera: str) -> bool:
        """Whether a camera shows depth."""
        return is_depth(self._video_info(camera))

    def _video_info(self, camera: str) -> dict[str, Any]:
        return self.info["features"][self.key(camera)].get("info") or {}

    def key(self, camera: str) -> str:
        """The name of a camera's feature: others have one of just `observation.image`, whose name is the camera's."""
        key = f"observation.images.{camera}"
        return key if key in self.info["features"] else camera

    def _depth_levels(self, camera: str) -> Float64:
        try:
            return depth_levels(self._video_info(camera))
        except ValueError as error:
            path = str(self.root / schema.INFO_PATH)
            raise Refused([Fault(str(self.root), camera, str(error), "a scale of depth", path=path)]) from error

    def place(self, episode: int, camera: str) -> tuple[Path, int, int]:
        """The file that shows an episode, the number of its first picture in it, and how many there are.

        Raises Refused where there is no such episode, or its place is not told or out of the split.
        """
        key, row, length = self.key(camera), self._episode(episode), self.length(episode)
        indices = {name: row.get(f"videos/{key}/{name}") for name in PLACE}
        start_s = row.get(f"videos/{key}/from_timestamp")
        if not (all(map(is_count, indices.values())) and is_number(start_s) and 0 <= start_s <= MOST_S):
            told = ", ".join(f"{name} {value!r}" for name, value in {**indices, "from_timestamp": start_s}.items())
            raise Refused([self._odd_episode(f"nothing of {camera} in episode {episode} ({told})")])
        try:
            path = self.root / video_file(self.info.get("video_path"), key, indices)
        except ValueError as error:
            expected = "a place of video files in the split, by video_key, chunk_index and file_index"
            place = str(self.root / schema.INFO_PATH)
            raise Refused([Fault(str(self.root), "video_path", str(error), expected, path=place)]) from error
        return path, round(start_s * self.rate_hz), length

    def _refuse_unknown[T](self, kind: str, name: T, known: Sequence[T]) -> None:
        if name not in known:
            expected = str(known) if isinstance(known, range) else ", ".join(map(str, known))
            raise Refused([Fault(str(self.root), kind, str(name), f"one of {expected}")])
