"""LeRobot v3.0 on disk: names of files, features and columns, exactly as lerobot 0.6 writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from quickdraw.core.features import FeatureSpec
from quickdraw.core.statistics import Statistics

CODEBASE_VERSION = "v3.0"
DATA_PATH = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
VIDEO_PATH = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
EPISODES_PATH = "meta/episodes/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
INFO_PATH = "meta/info.json"
STATS_PATH = "meta/stats.json"
TASKS_PATH = "meta/tasks.parquet"

# The bookkeeping columns every dataset ends with, in this order.
BOOKKEEPING = {"timestamp": "float32", "frame_index": "int64", "episode_index": "int64", "index": "int64",
               "task_index": "int64"}  # fmt: skip
STATISTICS = ("min", "max", "mean", "std", "count", "q01", "q10", "q50", "q90", "q99")

MB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one file may hold. A video file ends by size or by length, whichever comes first.

    lerobot's reader compares times as float32: past 1024 s into a file the spacing of float32 exceeds its tolerance of
    1e-4 s, so a file stops at 1000 s.
    """

    files_per_chunk: int = 1000
    data_mb: int = 100
    video_mb: int = 200
    video_s: int = 1000


@dataclass(frozen=True, slots=True)
class CameraSpec:
    """One camera: its pictures' size, 3 `channels` of colour or 1 of depth, and what info.json says of the encoding."""

    name: str
    height_px: int
    width_px: int
    channels: int
    video_info: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DatasetSpec:
    """What every split of one build has in common."""

    rate_hz: int
    robot_type: str
    features: tuple[FeatureSpec, ...]
    camera_specs: tuple[CameraSpec, ...]
    limits: Limits = Limits()

    @property
    def cameras(self) -> tuple[str, ...]:
        """Names of the cameras."""
        return tuple(camera.name for camera in self.camera_specs)

    def video_key(self, camera: str) -> str:
        """Feature name of a camera."""
        return f"observation.images.{camera}"

    @property
    def video_keys(self) -> tuple[str, ...]:
        """Feature names of the cameras."""
        return tuple(self.video_key(camera) for camera in self.cameras)

    def columns(self) -> tuple[str, ...]:
        """Features with statistics, in the order of info.json."""
        return (*(feature.name for feature in self.features), *self.video_keys, *BOOKKEEPING)


def feature_dicts(spec: DatasetSpec) -> dict[str, dict[str, Any]]:
    """`features` of info.json: vectors, cameras, bookkeeping."""
    vectors = {f.name: {"dtype": f.dtype, "shape": [f.width], "names": list(f.names)} for f in spec.features}
    cameras = {
        spec.video_key(camera.name): {
            "dtype": "video",
            "shape": [camera.height_px, camera.width_px, camera.channels],
            "names": ["height", "width", "channels"],
            "info": dict(camera.video_info),
        }
        for camera in spec.camera_specs
    }
    bookkeeping = {name: {"dtype": dtype, "shape": [1], "names": None} for name, dtype in BOOKKEEPING.items()}
    return {**vectors, **cameras, **bookkeeping}


def info_dict(spec: DatasetSpec, *, episodes: int, frames: int, tasks: int) -> dict[str, Any]:
    """meta/info.json, keys in lerobot's order."""
    return {
        "codebase_version": CODEBASE_VERSION,
        "fps": spec.rate_hz,
        "features": feature_dicts(spec),
        "total_episodes": episodes,
        "total_frames": frames,
        "total_tasks": tasks,
        "chunks_size": spec.limits.files_per_chunk,
        "data_files_size_in_mb": spec.limits.data_mb,
        "video_files_size_in_mb": spec.limits.video_mb,
        "data_path": DATA_PATH,
        "video_path": VIDEO_PATH,
        "robot_type": spec.robot_type,
        "splits": {"train": f"0:{episodes}"},
    }


def data_schema(features: Sequence[FeatureSpec]) -> pa.Schema:
    """Arrow schema of the data files, with the `huggingface` metadata that `datasets` writes."""
    vectors = [pa.field(f.name, _column_type(f)) for f in features]
    scalars = [pa.field(name, pa.type_for_alias(dtype)) for name, dtype in BOOKKEEPING.items()]
    described: dict[str, Any] = {
        f.name: {"feature": {"dtype": f.dtype, "_type": "Value"}, "length": f.width, "_type": "List"}
        if f.width > 1
        else {"dtype": f.dtype, "_type": "Value"}
        for f in features
    }
    described |= {name: {"dtype": dtype, "_type": "Value"} for name, dtype in BOOKKEEPING.items()}
    metadata = {"huggingface": json.dumps({"info": {"features": described}})}
    return pa.schema([*vectors, *scalars], metadata=metadata)


def _column_type(feature: FeatureSpec) -> pa.DataType:
    """A scalar column for one dimension, a fixed-size list for more."""
    value = pa.type_for_alias(feature.dtype)
    return value if feature.width == 1 else pa.list_(pa.field("element", value), feature.width)


def episodes_schema(spec: DatasetSpec) -> pa.Schema:
    """Arrow schema of meta/episodes: fixed before the first episode, so that all files have the same columns."""
    integer, number = pa.int64(), pa.float64()
    fields = [("episode_index", integer), ("tasks", pa.list_(pa.field("element", pa.string()))), ("length", integer)]
    fields += [(f"data/{name}", integer) for name in ("chunk_index", "file_index")]
    fields += [("dataset_from_index", integer), ("dataset_to_index", integer)]
    for key in spec.video_keys:
        fields += [(f"videos/{key}/{name}", integer) for name in ("chunk_index", "file_index")]
        fields += [(f"videos/{key}/{name}", number) for name in ("from_timestamp", "to_timestamp")]
    for column in spec.columns():
        depth = 3 if column in spec.video_keys else 1
        for name in STATISTICS:
            kind = _nested(integer, 1) if name == "count" else _nested(number, depth)
            fields.append((f"stats/{column}/{name}", kind))
    fields += [(f"meta/episodes/{name}", integer) for name in ("chunk_index", "file_index")]
    return pa.schema(fields)


def _nested(value: pa.DataType, depth: int) -> pa.DataType:
    for _ in range(depth):
        value = pa.list_(pa.field("element", value))
    return value


def statistics_lists(statistics: Statistics, picture: bool) -> dict[str, Any]:
    """Statistics as JSON lists: `(D,)` for vectors, `(C, 1, 1)` for pictures, `count` always of length 1."""
    lists: dict[str, Any] = {}
    for name, value in statistics.items().items():
        numbers = [value] if isinstance(value, int) else value.tolist()
        lists[name] = [[[number]] for number in numbers] if picture and name != "count" else numbers
    return lists
