"""Data files written with plain pyarrow, and the frames of them, chosen by plain NumPy."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quickdraw.core.episode import EpisodeKey, EpisodePlan
from quickdraw.core.grid import Grid
from quickdraw.data.pooled_episodes.frames import Frames
from quickdraw.formats.pooled.clock import ClockClass
from quickdraw.formats.pooled.reader import Episode, Task

START_NS = 5_000_000_000_000


def fixed(rows: Any) -> Any:
    """Rows `(T, D)` as a column of fixed-size lists of float32."""
    table = np.asarray(rows, np.float32)
    return pa.FixedSizeListArray.from_arrays(pa.array(table.ravel()), table.shape[1])


def frames_of(hardware_ns: Sequence[int], rate_hz: int = 30, frame_index: Sequence[int] | None = None) -> Frames:
    """Every frame of rows with these stamps, the first row of each number; the class is told by the largest stamp."""
    number = np.arange(len(hardware_ns)) if frame_index is None else np.asarray(frame_index)
    rows = np.array(sorted({int(np.flatnonzero(number == each)[0]) for each in number}), np.int64)
    hardware = np.asarray(hardware_ns, np.int64)
    most = int(np.abs(hardware).max(initial=0))
    clock = ClockClass.NONE if most == 0 else ClockClass.TRUNC32 if most < 2**31 else ClockClass.HW64
    picture = number[rows].astype(np.int64)
    order = {int(each): at for at, each in enumerate(picture)}
    return Frames(
        rows=rows,
        picture=picture,
        frame_of_row=np.array([order[int(each)] for each in number], np.int64),
        hardware_ns=hardware[rows],
        wall_time_s=1.79e9 + picture / rate_hz,
        clock=clock,
        rate_hz=rate_hz,
    )


def write_episode(
    root: Path,
    columns: Mapping[str, Any],
    *,
    number: int = 1,
    specs: Mapping[str, Any] | None = None,
    features: Mapping[str, Any] | None = None,
    group: int | None = None,
) -> Episode:
    """An episode of a task in `root`: key columns that are not given are those of frames 1/30 s apart."""
    rows = len(next(iter(columns.values())))
    keys = {
        "episode_index": pa.array(np.full(rows, number, np.int64)),
        "frame_index": pa.array(np.arange(rows, dtype=np.int64)),
        "timestamp": pa.array((np.arange(rows) / 30).astype(np.float32)),
        "task_index": pa.array(np.zeros(rows, np.int64)),
        "wall_time": pa.array(1.79e9 + np.arange(rows) / 30),
        "hardware_ns": pa.array(START_NS + np.arange(rows, dtype=np.int64) * 33_333_333),
        "action": fixed(np.zeros((rows, 1))),
    }
    for folder in ("data/chunk-000", "meta/episodes/chunk-000"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    document = {"format": "pooled_episodes_v1", "fps": 30.0, "features": dict(features or {})}
    (root / "meta/info.json").write_text(json.dumps(document))
    name = f"chunk-000/episode-{number - 1:03d}.parquet"
    pq.write_table(pa.table({**keys, **columns}), root / "data" / name, compression="zstd", row_group_size=group)
    if specs is not None:
        row = pa.table({"episode_index": [number], "force_matrix_specs": [json.dumps(specs)]})
        pq.write_table(row, root / "meta/episodes" / name)
    return Task.open(root).episode(number)


def held(column: str, width: int, *, filled: bool = True, missing: int = 0, **more: Any) -> dict[str, Any]:
    """What an episode holds of a column."""
    return {"column": column, "width": width, "filled": filled, "missing": missing, **more}


def planned(
    held: Mapping[str, Any], run: str = "episode_000001", cameras: Mapping[str, Any] | None = None
) -> EpisodePlan:
    """A plan that holds these columns, and one camera of colour unless told."""
    shown = {"top": {"kind": "rgb", "height_px": 48, "width_px": 64, "slot": "top"}} if cameras is None else cameras
    return EpisodePlan(
        key=EpisodeKey("task", run),
        task="a task",
        grid=Grid(0, 30, 4),
        t_hi_s=0.1,
        displacement={},
        row_files=(),
        videos={},
        stamps={},
        frame_digests={},
        provenance={},
        holds={"columns": json.loads(json.dumps(dict(held))), "cameras": shown},
    )


@pytest.fixture(scope="session")
def made() -> SimpleNamespace:
    """The makers of this file, by name."""
    return SimpleNamespace(
        fixed=fixed, frames=frames_of, episode=write_episode, plan=planned, held=held, start=START_NS
    )


@pytest.fixture
def episode(tmp_path: Path) -> Callable[..., Episode]:
    """`write_episode` in a folder of the test's own."""

    def write(columns: Mapping[str, Any], **more: Any) -> Episode:
        return write_episode(tmp_path / "task", columns, **more)

    return write
