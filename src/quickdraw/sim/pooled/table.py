"""The data file of an episode: columns in the recorder's order and types, made from truth (contract 7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from quickdraw.sim.pooled import clocks, matrix_codec, truth
from quickdraw.sim.pooled.spec import EpisodeSpec, MatrixStream, TaskSpec

_ROWS_A_GROUP: Final = 32
_EMPTY: Final = np.empty(0)
HAND_POSES: Final = ("observation.left_hand_pose", "observation.right_hand_pose")
# Rows whose window the force sensor missed, and the offset of a force's and a matrix's stamp to the row's.
FORCE_MISSES_EVERY: Final = 11
FORCE_LATE_NS, MATRIX_LATE_NS = -4_000_000, -9_000_000
UNSTAMPED_POINT: Final = 17  # of the trajectory: it has no stamp, and 0 stands in its place


def write_data(path: Path, task: TaskSpec, episode: EpisodeSpec) -> None:
    """Write an episode's rows as zstd Parquet."""
    write_table(path, data_table(task, episode))


def write_table(path: Path, table: pa.Table) -> None:
    """Write a table as the recorder does: zstd, in small row groups."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, compression="zstd", row_group_size=_ROWS_A_GROUP)


def data_table(task: TaskSpec, episode: EpisodeSpec) -> pa.Table:
    """An episode's rows."""
    columns = {
        **_keys(episode),
        **_gloves(task.seed, episode),
        **(_imu(task.seed, episode) if episode.imu_hz else {}),
        **(_glove_imus(task.seed, episode) if episode.glove_imus else {}),
        **dict(sorted(_gripper(task.seed, episode).items())),
        **{name: _vectors(np.zeros((episode.rows, 63))) for name in HAND_POSES},
        f"status.{task.device}": pa.array(["connected"] * episode.rows, pa.string()),
    }
    return pa.table(columns)


def _keys(episode: EpisodeSpec) -> dict[str, pa.Array]:
    rows = episode.rows
    return {
        "episode_index": pa.array([episode.number] * rows, pa.int64()),
        "frame_index": pa.array(clocks.frame_of_row(episode), pa.int64()),
        "timestamp": pa.array(clocks.timestamp(episode), pa.float32()),
        "task_index": pa.array([0] * rows, pa.int64()),
        "wall_time": pa.array(clocks.wall_time(episode), pa.float64()),
        "hardware_ns": pa.array(clocks.hardware_ns(episode), pa.int64()),
        "action": _vectors(np.zeros((rows, 1))),
    }


def glove_rows(seed: int, episode: EpisodeSpec, sensor: str) -> NDArray[np.float32]:
    """One glove's pressure, (T, 256) float32."""
    return np.stack([truth.glove(seed, episode.number, frame, sensor) for frame in clocks.frame_of_row(episode)])


def imu_samples(seed: int, episode: EpisodeSpec) -> list[NDArray[np.float32]]:
    """The IMU samples of each row, (n, 6) float32 each."""
    return [truth.imu(seed, episode.number, stamps) for stamps in clocks.samples_ns(episode, episode.imu_hz)]


def _gloves(seed: int, episode: EpisodeSpec) -> dict[str, pa.Array]:
    return {f"observation.{each}": _vectors(glove_rows(seed, episode, each)) for each in sorted(episode.gloves)}


def _imu(seed: int, episode: EpisodeSpec) -> dict[str, pa.Array]:
    stamps = clocks.samples_ns(episode, episode.imu_hz)
    samples = np.concatenate(imu_samples(seed, episode))
    offsets = _offsets(stamps)
    return {
        "imu_ts_ns": _lists(stamps, pa.int64()),
        "observation.imu": pa.ListArray.from_arrays(offsets, _vectors(samples)),
    }


def _glove_imus(seed: int, episode: EpisodeSpec) -> dict[str, pa.Array]:
    frames = clocks.frame_of_row(episode)
    found = {}
    for sensor in sorted(episode.gloves):
        quaternions = [truth.glove_quaternions(seed, episode.number, frame) for frame in frames]
        valid = [truth.glove_valid(episode.number, frame) for frame in frames]
        found[f"observation.{sensor}_imu_quat"] = _vectors(np.stack(quaternions))
        found[f"observation.{sensor}_imu_valid"] = _vectors(np.stack(valid))
    return found


def _gripper(seed: int, episode: EpisodeSpec) -> dict[str, pa.Array]:
    found: dict[str, pa.Array] = {}
    for stream in episode.matrices:
        found |= _pad(seed, episode, stream)
        if stream.gripper == 1 and stream.side == "left":
            states = [truth.gripper_state(seed, episode.number, row) for row in range(episode.rows)]
            found["observation.gripper_state"] = _vectors(np.stack(states))
    return found | (_trajectory(seed, episode) if episode.trajectory_hz else {})


def _pad(seed: int, episode: EpisodeSpec, stream: MatrixStream) -> dict[str, pa.Array]:
    """A pad's four columns: force in most rows, a matrix in every second, each with the stamp of its own pump."""
    stamps = clocks.true_ns(episode)
    pressed = np.array([row % FORCE_MISSES_EVERY != FORCE_MISSES_EVERY - 1 for row in range(episode.rows)])
    mapped = np.array([row % 2 == 0 for row in range(episode.rows)])
    forces = np.stack([truth.force(seed, episode.number, row, stream.side) for row in range(episode.rows)])
    kind = pa.float32() if stream.spec == "float32" else pa.int16()
    cells = [_matrix(seed, episode, stream, row) if here else _EMPTY for row, here in enumerate(mapped)]
    return {
        stream.force: _vectors(forces * pressed[:, None]),
        f"{stream.force}_ns": pa.array(np.where(pressed, stamps + FORCE_LATE_NS, 0), pa.int64()),
        stream.matrix: _lists(cells, kind),
        f"{stream.matrix}_ns": pa.array(np.where(mapped, stamps + MATRIX_LATE_NS, 0), pa.int64()),
    }


def _matrix(seed: int, episode: EpisodeSpec, stream: MatrixStream, row: int) -> NDArray[Any]:
    return matrix_codec.stored(truth.matrix(seed, episode.number, row, stream.side), stream.spec)


def _trajectory(seed: int, episode: EpisodeSpec) -> dict[str, pa.Array]:
    windows = clocks.samples_ns(episode, episode.trajectory_hz)
    points = [truth.trajectory(seed, episode.number, window).ravel() for window in windows]
    return {
        "observation.slam_trajectory": _lists(points, pa.float64()),
        "observation.slam_trajectory_ns": _lists(list(_with_an_unstamped_point(windows)), pa.int64()),
    }


def _with_an_unstamped_point(windows: Sequence[NDArray[np.int64]]) -> Iterator[NDArray[np.int64]]:
    place = UNSTAMPED_POINT
    for window in windows:
        if 0 <= place < len(window):
            yield np.where(np.arange(len(window)) == place, 0, window)
        else:
            yield window
        place -= len(window)


def _vectors(values: NDArray[Any]) -> pa.Array:
    """(T, D) as fixed lists of D float32."""
    flat = pa.array(np.ascontiguousarray(values, np.float32).ravel())
    return pa.FixedSizeListArray.from_arrays(flat, type=pa.list_(pa.float32(), values.shape[1]))


def _lists(cells: Sequence[NDArray[Any]], kind: Any) -> pa.Array:
    """One variable list a row."""
    flat = pa.array(np.concatenate(cells).astype(kind.to_pandas_dtype()), kind)
    return pa.ListArray.from_arrays(_offsets(cells), flat)


def _offsets(cells: Sequence[NDArray[Any]]) -> pa.Array:
    return pa.array(np.concatenate([[0], np.cumsum([len(each) for each in cells])]), pa.int32())
