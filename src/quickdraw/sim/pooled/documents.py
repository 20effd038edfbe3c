"""What a task tells of itself: info.json, tasks.jsonl and a row an episode (contract sections 3, 5 and 6)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from quickdraw.sim.pooled import matrix_codec
from quickdraw.sim.pooled.spec import (
    CHUNKS_SIZE,
    CREATED_UNIX,
    FPS,
    HEIGHT_PX,
    WIDTH_PX,
    EpisodeSpec,
    MatrixStream,
    TaskSpec,
)
from quickdraw.sim.pooled.videos import video_codec

ROW_SCHEMA: Final = pa.schema(
    [
        ("episode_index", pa.int64()),
        ("task_index", pa.int64()),
        ("start_frame_index", pa.int64()),
        ("end_frame_index", pa.int64()),
        ("length", pa.int64()),
        ("created_at", pa.float64()),
        ("duration_sec", pa.float64()),
        ("drop_stats", pa.string()),
        ("video_codec", pa.string()),
        ("calibration", pa.string()),
        ("force_matrix_specs", pa.string()),
    ]
)
_STAMP: Final = {"dtype": "int64", "shape": [1], "encoding": "host_monotonic_ns"}
_LENS: Final = {"intrinsic": [112.0, 112.0, 80.0, 60.0], "distortion": [0.0] * 5}
_CALIBRATION: Final[dict[str, Any]] = {
    "head_stereo": {
        "type": "stereo",
        "name": "head",
        "resolution": [WIDTH_PX, HEIGHT_PX],
        "fps": FPS,
        "baseline": 0.05,
        "left_camera": _LENS,
        "right_camera": _LENS,
        "depth_scale": 0.001,
        "cam_imu_timeshift": 0.0,
    }
}


def write_json(path: Path, document: Any, *, indent: int | None = 2) -> None:
    """Write one JSON document, other scripts' letters as they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, ensure_ascii=False, indent=indent) + "\n", encoding="utf-8")


def info(task: TaskSpec) -> dict[str, Any]:
    """info.json after the task's last episode: features, cameras and slots of all, later values over earlier ones."""
    slots = {slot.name: slot for episode in task.episodes for slot in episode.slots}
    camera = {"height": HEIGHT_PX, "width": WIDTH_PX}
    device = {"key": task.device, "kind": task.kind, "name": "head", "slots": sorted(slots)}
    return {
        "format": "pooled_episodes_v1",
        "chunks_size": CHUNKS_SIZE,
        "data_path": "data/chunk-{c:03d}/episode-{f:03d}.parquet",
        "video_path": "videos/chunk-{c:03d}/{image_key}/episode-{f:03d}.{ext}",
        "episodes_path": "meta/episodes/chunk-{c:03d}/episode-{f:03d}.parquet",
        "codebase_version": "v3.0",
        "app_version": "simulation",
        "fps": float(FPS),
        "video": any(slot.coding == "rgb" for slot in slots.values()),
        "task_name": task.name,
        "features": {name: entry for episode in task.episodes for name, entry in _features(episode).items()},
        "cameras": {name: camera for name, slot in slots.items() if slot.coding == "rgb"},
        "devices": [device],
        "device_names": dict.fromkeys(slots, "head"),
        "sensors": sorted({glove for episode in task.episodes for glove in episode.gloves}),
        "sensor_dim": 256,
        "created_at": CREATED_UNIX,
        "calibration": _CALIBRATION,
        "total_episodes": len(task.episodes),
        "video_extensions": {name: slot.extension for name, slot in slots.items()},
    }


def _features(episode: EpisodeSpec) -> dict[str, Any]:
    found = {"action": _floats(1)}
    for glove in sorted(episode.gloves):
        found[f"observation.{glove}"] = _floats(16, 16)
        if episode.glove_imus:
            found[f"observation.{glove}_imu_quat"] = _floats(16, 4)
            found[f"observation.{glove}_imu_valid"] = _floats(16)
    if episode.imu_hz:
        found["observation.imu"] = _floats(6)
    for stream in episode.matrices:
        found |= _pad_features(stream)
    if episode.trajectory_hz:
        points = {"dtype": "float64", "shape": [8], "encoding": "flat_points_8_txyz_qxyzw"}
        stamps = {"dtype": "int64", "shape": [1], "encoding": "flat_parallel_to_slam_trajectory"}
        found["observation.slam_trajectory"] = points
        found["observation.slam_trajectory_ns"] = {**stamps, "clock": "host_monotonic_ns"}
    return found | {f"observation.{side}_hand_pose": _floats(21, 3) for side in ("left", "right")}


def _pad_features(stream: MatrixStream) -> dict[str, Any]:
    state = {"observation.gripper_state": _floats(3)} if (stream.gripper, stream.side) == (1, "left") else {}
    return {
        stream.force: _floats(3),
        f"{stream.force}_ns": _STAMP,
        stream.matrix: matrix_codec.entry(stream.spec),
        f"{stream.matrix}_ns": _STAMP,
        **state,
    }


def _floats(*shape: int) -> dict[str, Any]:
    return {"dtype": "float32", "shape": list(shape)}


def task_line(task: TaskSpec) -> str:
    """The one line of tasks.jsonl."""
    return json.dumps({"task_index": 0, "task": task.name}, ensure_ascii=False) + "\n"


def row(episode: EpisodeSpec) -> dict[str, Any]:
    """The eleven columns of an episode's row; `length` is rows of the data file."""
    dropped = {f"ext:{slot.name}": 0 for slot in episode.slots}
    return {
        "episode_index": episode.number,
        "task_index": 0,
        "start_frame_index": 0,
        "end_frame_index": episode.frames - 1,
        "length": episode.rows,
        "created_at": episode.created_unix,
        "duration_sec": episode.frames / FPS,
        "drop_stats": json.dumps({**dropped, "gap_ms": 0, "imu_overflow": 0}),
        "video_codec": json.dumps(video_codec(episode)),
        "calibration": json.dumps(_CALIBRATION),
        "force_matrix_specs": json.dumps(
            {stream.matrix: matrix_codec.entry(stream.spec) for stream in episode.matrices}
        ),
    }


def write_rows(path: Path, rows: list[dict[str, Any]], schema: Any = ROW_SCHEMA) -> None:
    """Write rows of meta/episodes as one zstd Parquet file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path, compression="zstd")
