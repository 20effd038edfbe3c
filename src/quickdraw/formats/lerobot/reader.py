"""A built split without torch: rows as NumPy or pandas, pictures through imageio, depth in millimetres.

Works on any LeRobot v3.0 folder whose pictures are evenly timed from 0, ours or not.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from quickdraw.core.grid import Float64
from quickdraw.errors import Fault, Refused, VideoError
from quickdraw.formats.lerobot import schema
from quickdraw.formats.lerobot.depth import depth_levels, is_depth

if TYPE_CHECKING:
    import pandas as pd

KEYS = ("episode_index", "frame_index")
BLOCK_ROWS, BLOCK_VALUES = 32_768, 4_000_000


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
        """meta/info.json. Raises Refused where the folder is not a LeRobot v3.0 split."""
        path = self.root / schema.INFO_PATH
        try:
            info = json.loads(path.read_bytes())
            version = info["codebase_version"]
            if version == schema.CODEBASE_VERSION:
                _ = int(info["fps"]), [described["dtype"] for described in info["features"].values()]
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise Refused([self._fault(path, "info.json", f"unreadable ({error})")]) from error
        if version != schema.CODEBASE_VERSION:
            raise Refused([self._fault(path, "codebase_version", repr(version))])
        return dict(info)

    def _fault(self, path: Path, name: str, found: str) -> Fault:
        return Fault(str(self.root), name, found, f"a LeRobot {schema.CODEBASE_VERSION} split", path=str(path))

    @property
    def rate_hz(self) -> int:
        """Rows a second."""
        return int(self.info["fps"])

    @property
    def cameras(self) -> tuple[str, ...]:
        """Camera names, without `observation.images.`."""
        videos = [name for name, feature in self.info["features"].items() if feature["dtype"] == "video"]
        return tuple(name.removeprefix("observation.images.") for name in videos)

    @cached_property
    def episodes(self) -> list[dict[str, Any]]:
        """meta/episodes, a dict an episode, without statistics. Raises Refused where they cannot be read."""
        folder = self.root / "meta/episodes"
        try:
            files = sorted(folder.glob("*/*.parquet"))
            names = [name for name in pq.read_schema(files[0]).names if not name.startswith("stats/")]
            tables = [pq.read_table(file, columns=names) for file in files]
            rows: list[dict[str, Any]] = pa.concat_tables(tables).to_pylist()
        except (OSError, IndexError, pa.ArrowException) as error:
            raise Refused([self._fault(folder, "episodes", f"unreadable ({error})")]) from error
        return rows

    @cached_property
    def tasks(self) -> list[str]:
        """Task texts, by task_index."""
        table = pq.read_table(self.root / schema.TASKS_PATH).sort_by("task_index")
        names: list[str] = table["task"].to_pylist()
        return names

    @cached_property
    def statistics(self) -> dict[str, dict[str, Any]]:
        """meta/stats.json: feature -> statistic -> nested lists. Raises Refused where it cannot be read."""
        path = self.root / schema.STATS_PATH
        try:
            return dict(json.loads(path.read_bytes()))
        except (OSError, ValueError, TypeError) as error:
            raise Refused([self._fault(path, "stats.json", f"unreadable ({error})")]) from error

    @cached_property
    def rows(self) -> int:
        """How many rows the data files hold. Raises Refused where one cannot be read."""
        try:
            return sum(pq.read_metadata(file).num_rows for file in sorted((self.root / "data").glob("*/*.parquet")))
        except (OSError, pa.ArrowException) as error:
            raise Refused([self._fault(self.root / "data", "data files", f"unreadable ({error})")]) from error

    def array(self, feature: str, episode: int | None = None) -> npt.NDArray[Any]:
        """A column as `(T, D)`, or `(T,)` for scalars, in its dtype; of one episode where asked.

        Raises Refused where the split has no such column.
        """
        columns = [name for name, described in self.info["features"].items() if described["dtype"] != "video"]
        self._refuse_unknown("feature", feature, columns)
        files = sorted((self.root / "data").glob("*/*.parquet"))
        # One row group an episode: this filter reads one.
        filters = None if episode is None else [("episode_index", "=", episode)]
        tables = [pq.read_table(file, columns=[feature], filters=filters) for file in files]
        return _values(pa.concat_tables(tables)[feature].combine_chunks())

    def blocks(self, features: Sequence[str]) -> Iterator[dict[str, npt.NDArray[Any]]]:
        """All rows in order, some thousands at a time: each feature as `array` gives it, and always `KEYS`.

        For what is too long to be held at once. Raises Refused where the split has no such column, or a data file
        cannot be read.
        """
        columns = [name for name, described in self.info["features"].items() if described["dtype"] != "video"]
        for feature in features:
            self._refuse_unknown("feature", feature, columns)
        wanted = list(dict.fromkeys([*features, *KEYS]))
        width = sum(math.prod(self.info["features"][name].get("shape") or [1]) for name in wanted)
        rows = max(1, min(BLOCK_ROWS, BLOCK_VALUES // max(1, width)))
        try:
            for file in sorted((self.root / "data").glob("*/*.parquet")):
                with pq.ParquetFile(file) as opened:
                    for groups in _together(opened.metadata, rows):
                        for batch in opened.iter_batches(rows, groups, wanted, use_threads=False):
                            yield {name: _values(batch[name]) for name in wanted}
        except (OSError, KeyError, pa.ArrowException) as error:
            raise Refused([self._fault(self.root / "data", "data files", f"unreadable ({error})")]) from error

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
                    dims = _dimension_names(described["names"], values.shape[1])
                    columns |= {f"{name}.{dim}": values[:, i] for i, dim in enumerate(dims)}
        columns["task"] = [self.tasks[index] for index in columns["task_index"]]
        return pd.DataFrame(columns)

    def pictures(self, episode: int, camera: str) -> Iterator[npt.NDArray[np.uint8]]:
        """The pictures of one episode in row order, each `(H, W, 3)` uint8 RGB, one in memory at a time.

        Raises Refused where there is no such camera, or it is one of depth, VideoError where the file ends before the
        episode does.
        """
        import imageio.v3 as iio

        self._refuse_unknown("camera", camera, self.cameras)
        if self.is_depth(camera):
            expected = f"one of colour; depth({episode}, {camera!r}) tells what this one shows"
            raise Refused([Fault(str(self.root), "camera", f"{camera}, of depth", expected)])
        path, first, length = self.place(episode, camera)
        # Half a picture early, so that no rounding of the time can skip the first one; ffmpeg drops what lies before.
        seek = ["-ss", f"{(first - 0.5) / self.rate_hz:.6f}"] if first else []
        options: dict[str, Any] = {"input_params": seek, "output_params": ["-frames:v", str(length)]}
        shown = 0
        for picture in iio.imiter(path, plugin="FFMPEG", **options):
            yield picture
            shown += 1
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
        from quickdraw.video.glances import pictures_by_time

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
        return tuple(map(str, _dimension_names(described.get("names"), math.prod(described.get("shape") or [1]))))

    def is_depth(self, camera: str) -> bool:
        """Whether a camera shows depth."""
        return is_depth(self._video_info(camera))

    def _video_info(self, camera: str) -> dict[str, Any]:
        return self.info["features"][self._key(camera)].get("info") or {}

    def _key(self, camera: str) -> str:
        """A camera's feature: others have one of just `observation.image`, whose name is the camera's."""
        key = f"observation.images.{camera}"
        return key if key in self.info["features"] else camera

    def _depth_levels(self, camera: str) -> Float64:
        try:
            return depth_levels(self._video_info(camera))
        except ValueError as error:
            path = str(self.root / schema.INFO_PATH)
            raise Refused([Fault(str(self.root), camera, str(error), "a scale of depth", path=path)]) from error

    def place(self, episode: int, camera: str) -> tuple[Path, int, int]:
        """The file that shows an episode, the number of its first picture in it, and how many there are."""
        self._refuse_unknown("episode", episode, range(len(self.episodes)))
        key, row = self._key(camera), self.episodes[episode]
        try:
            indices = {name: row[f"videos/{key}/{name}"] for name in ("chunk_index", "file_index")}
            path = self.root / self.info["video_path"].format(video_key=key, **indices)
            return path, round(row[f"videos/{key}/from_timestamp"] * self.rate_hz), row["length"]
        except (KeyError, TypeError) as error:
            found = f"nothing of {camera} in episode {episode} ({error})"
            raise Refused([self._fault(self.root / "meta/episodes", "episodes", found)]) from error

    def _refuse_unknown[T](self, kind: str, name: T, known: Sequence[T]) -> None:
        if name not in known:
            expected = str(known) if isinstance(known, range) else ", ".join(map(str, known))
            raise Refused([Fault(str(self.root), kind, str(name), f"one of {expected}")])


def _together(metadata: pq.FileMetaData, rows: int) -> Iterator[list[int]]:
    """Row groups that hold about so many rows each time: all at once they would all be prepared for."""
    upto = np.cumsum([metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)])
    for _, groups in groupby(range(len(upto)), key=lambda number: int(upto[number] - 1) // rows):
        yield list(groups)


def _values(column: pa.Array) -> npt.NDArray[Any]:
    """A column as `(T, D)`, or `(T,)` for scalars."""
    if pa.types.is_fixed_size_list(column.type):
        return np.asarray(column.flatten().to_numpy(zero_copy_only=False).reshape(-1, column.type.list_size))
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _dimension_names(names: Any, width: int) -> Sequence[object]:
    """Names of a feature's dimensions: a list, or a list inside a dict (`{"motors": [...]}`), or else their numbers."""
    if isinstance(names, dict):
        names = [name for part in names.values() for name in part]
    return names if names and len(names) == width else range(width)
