"""`scripts/bench pooled`: pooled tasks read, opened and checked, beside the shortest script that does the same."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from rich.table import Table

from benchmarks.rates import Rate, rate
from benchmarks.tables import table
from quickdraw.formats.pooled.check import check
from quickdraw.formats.pooled.data import DataFile
from quickdraw.formats.pooled.force_matrix import SHAPE, SPECS, Flat, Spec, decode, encode
from quickdraw.formats.pooled.matrices import samples
from quickdraw.formats.pooled.reader import Task
from quickdraw.formats.pooled.scan import scan
from quickdraw.formats.pooled.stats_rescan import rebuild
from quickdraw.formats.pooled.writer import Recorder, Slot

MATRICES = 64
COLUMN = "observation.gripper_left_force_matrix"
OF_SPECS = ("int16x100", "float32")


def measure_pooled(episodes: int, rows: int, repeats: int, folder: Path) -> list[Rate]:
    """All of it, plain and ours in turn. `episodes` are what is opened and checked, `rows` what each of them has."""
    found = [*_decoding(repeats), *_parquet(repeats, folder)]
    root = _recordings(folder, episodes, rows)
    return [*found, _checking(root, repeats), _opening(root, repeats)]


def pooled_table(rates: list[Rate]) -> Table:
    """One line a kind of work."""
    lines = (
        (
            each.name,
            each.unit,
            each.plain,
            f"{each.units / median(each.plain_s):,.0f}",
            f"{each.units / median(each.ours_s):,.0f}",
            f"{each.ratio:.2f}",
        )
        for each in rates
    )
    return table("pooled tasks", ("work", "unit", "beside", "its units/s", "ours/s", "ratio"), lines)


def sizes_table(sizes: dict[str, float]) -> Table:
    """How many bytes a picture of depth takes by each way of recording it."""
    lines = ((name, f"{size / 1e3:,.0f}") for name, size in sizes.items())
    return table("depth of 848x480", ("recorded as", "kB a picture"), lines)


def matrix(number: int) -> npt.NDArray[np.float32]:
    """A press whose place moves with `number`, with a sensor's noise of 0.3 mN."""
    row, column = np.mgrid[0:250, 0:250]
    press = 20.0 * np.exp(-((row - 60 - number) ** 2 + (column - 125) ** 2) / 400)
    noise = np.random.default_rng(number).normal(0.0, 0.3, SHAPE)
    return np.asarray(press[:, :, None] * (0.1, 0.2, 1.0) + noise, np.float32)


def _decoding(repeats: int) -> Iterator[Rate]:
    for spec in (SPECS[name] for name in OF_SPECS):
        flats = [encode(matrix(number), spec) for number in range(MATRICES)]

        def plain(spec: Spec = spec, flats: Sequence[Flat] = flats) -> None:
            for flat in flats:
                _plainly(flat, spec)

        def ours(spec: Spec = spec, flats: Sequence[Flat] = flats) -> None:
            for flat in flats:
                decode(flat, encoding=spec.encoding, scale=spec.scale)

        beside = "a copy" if spec.dtype == "float32" else "np.cumsum in int32"
        yield rate(f"decode {spec.name}", "matrices", MATRICES, beside=beside, plain=plain, ours=ours, repeats=repeats)


def _plainly(flat: npt.NDArray[Any], spec: Spec) -> npt.NDArray[Any]:
    if spec.dtype == "float32":
        return np.reshape(np.array(flat, np.float32), SHAPE)
    steps = np.cumsum(flat.reshape(250, 750), axis=1, dtype=np.int32).astype(np.int16)
    return np.asarray(steps / np.float32(spec.scale)).reshape(SHAPE)


def _parquet(repeats: int, folder: Path) -> Iterator[Rate]:
    for spec in (SPECS[name] for name in OF_SPECS):
        path = folder / f"{spec.name}.parquet"
        flats = [encode(matrix(number), spec) for number in range(MATRICES)]
        cells = pa.array(flats, pa.list_(pa.type_for_alias(spec.dtype)))
        pq.write_table(pa.table({COLUMN: cells, f"{COLUMN}_ns": range(1, MATRICES + 1)}), path, compression="zstd")

        def plain(spec: Spec = spec, path: Path = path) -> None:
            for row in pq.read_table(path, use_threads=False).to_pylist():
                _plainly(np.array(row[COLUMN], spec.dtype), spec)

        def ours(spec: Spec = spec, path: Path = path) -> None:
            for _ in samples(DataFile(path), COLUMN, scale=spec.scale):
                pass

        yield rate(
            f"read {spec.name}",
            "matrices",
            MATRICES,
            beside="to_pylist, NumPy",
            plain=plain,
            ours=ours,
            repeats=repeats,
        )


def _recordings(folder: Path, episodes: int, rows: int) -> Path:
    """A task of one recorded episode, and files of its own for all others: its bytes, N put right."""
    root = folder / "bench"
    if (root / "meta").exists():
        return root
    slot = Slot("cam", height_px=48, width_px=64)
    with Recorder(folder, "bench", slots=[slot], app_version="bench") as recorder:
        recorder.begin()
        for row in range(rows):
            recorder.add_glove("left_glove", np.full(256, row, np.float32))
            picture = np.full((48, 64, 3), row % 256, np.uint8)
            recorder.add_frame({"cam": picture}, hardware_ns=(row + 90) * 33_333_333, wall_time=1.79e9 + row / 30)
        recorder.end()
    _multiply(root, episodes)
    return root


def _multiply(root: Path, episodes: int) -> None:
    layout = Task.open(root).info.layout
    data, row = pq.read_table(layout.data(1)), pq.read_table(layout.row(1))
    film = layout.video(1, "cam", "mp4").read_bytes()
    for number in range(2, episodes + 1):
        for path, whole in ((layout.data(number), data), (layout.row(number), row)):
            path.parent.mkdir(parents=True, exist_ok=True)
            numbers = pa.array(np.full(whole.num_rows, number), pa.int64())
            pq.write_table(whole.set_column(0, "episode_index", numbers), path, compression="zstd")
        path = layout.video(number, "cam", "mp4")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(film)
    document = json.loads(layout.info.read_bytes())
    layout.info.write_text(json.dumps({**document, "total_episodes": episodes}), encoding="utf-8")
    rebuild(layout, apply=True)


def _checking(root: Path, repeats: int) -> Rate:
    episodes = len(Task.open(root).numbers)

    def plain() -> None:
        layout = Task.open(root).info.layout
        for number in range(1, episodes + 1):
            pq.read_table(layout.row(number))
            pq.read_table(layout.data(number), columns=["episode_index", "frame_index", "hardware_ns"])

    def ours() -> None:
        check(root)

    return rate(
        "check", "episodes", episodes, beside="pq.read_table of row and keys", plain=plain, ours=ours, repeats=repeats
    )


def _opening(root: Path, repeats: int) -> Rate:
    task = Task.open(root)

    def plain() -> None:
        scan(task.info.layout)

    return rate(
        "open",
        "episodes",
        len(task.numbers),
        beside="the listing alone",
        plain=plain,
        ours=lambda: Task.open(root),
        repeats=repeats,
    )
