"""What every row and picture of a built pooled episode must be, from its files by plain pyarrow, numpy, scipy, ffmpeg.

No code of ours: files are found by their names, cells by pyarrow, pictures by ffmpeg's binary. Loaded from its path.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

FFMPEG = imageio_ffmpeg.get_ffmpeg_exe()
WRAP, HALF, SECOND = 1 << 32, 1 << 31, 10**9
INVALID_BELOW = 128  # codes of the contract's log mp4 that mean nothing
IDENTITY = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0)

type Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of a build that decide rows."""

    fps: int = 30
    imu: str = "window"
    samples: int = 8
    matrices: str = "sums"
    max_gap_s: float = 0.5
    fold: str = "refuse"
    on_gap: str = "refuse"
    depth: bool = False
    clocks: bool = False
    state: tuple[str, ...] = ()
    action: tuple[str, ...] | str | None = None
    slots: Mapping[str, Sequence[str]] = field(default_factory=dict)


class NotTaken(Exception):
    """An episode that must be refused, and why."""


@dataclass(frozen=True, slots=True)
class Column:
    """One feature of an episode `(n, D)`; `sampled` `(n,)` where a row has a sample; `filled` if anything is there."""

    values: Array
    sampled: Array
    filled: bool
    fill: Array


@dataclass(frozen=True, slots=True)
class Shown:
    """A camera of an episode: its file, whether it is depth, and the picture each row shows (-1: nothing)."""

    path: Path
    depth: bool
    pictures: Array
    slot: str


@dataclass(frozen=True, slots=True)
class Take:
    """One expected episode: the rows of its file, its columns and cameras, and what was trimmed."""

    task: str
    number: int
    piece: int
    pieces: int
    rows: Array
    columns: Mapping[str, Column]
    cameras: Mapping[str, Shown]
    clocks: Mapping[str, Array]
    trimmed_rows: int
    text: str

    @property
    def run(self) -> str:
        """Its name in provenance."""
        return f"episode_{self.number:06d}" + (f".{self.piece:02d}" if self.pieces > 1 else "")


def take(task: Path, number: int, asked: Asked) -> list[Take]:
    """The episodes that come of number N; raises NotTaken."""
    chunk, file = f"chunk-{(number - 1) // 1000:03d}", f"episode-{(number - 1) % 1000:03d}"
    data = task / "data" / chunk / f"{file}.parquet"
    films = {path.parent.name: path for path in sorted((task / "videos" / chunk).glob(f"*/{file}.*"))}
    if not data.exists():
        raise NotTaken("video without data")
    if not films:
        raise NotTaken("data without video")
    table = pq.read_table(data)
    keep = folded(table, asked)
    keep, cameras, trimmed = shown(table, keep, films, asked)
    parts = pieces(table, keep, asked)
    text = json.loads((task / "meta" / "tasks.jsonl").read_text(encoding="utf-8").splitlines()[0])["task"]
    found = []
    for at, part in enumerate(parts):
        where = np.searchsorted(keep, part)
        cut = {name: Shown(c.path, c.depth, c.pictures[where], c.slot) for name, c in cameras.items()}
        clocks = {name: column(table, name)[part] for name in ("hardware_ns", "wall_time")}
        found.append(Take(task.name, number, at + 1, len(parts), part,
                          dict(columns(task, table, part, number, asked)), cut, clocks, trimmed, text))  # fmt: skip
    return found


def numbers(task: Path) -> list[int]:
    """Every N with a file."""
    files = [*task.glob("data/chunk-*/episode-*.parquet"), *task.glob("videos/chunk-*/*/episode-*.m*")]
    return sorted({int(re.findall(r"chunk-(\d+)", str(f))[-1]) * 1000 + int(f.stem[8:]) + 1 for f in files})


def column(table: pa.Table, name: str) -> Array:
    return np.array(table[name].to_pylist())


# Rows


def folded(table: pa.Table, asked: Asked) -> Array:
    frames, times, stamps = (column(table, name) for name in ("frame_index", "timestamp", "hardware_ns"))
    first: dict[int, int] = {}
    for row, frame in enumerate(frames.tolist()):
        first.setdefault(frame, row)
    agree = all(times[r] == times[first[f]] and stamps[r] == stamps[first[f]] for r, f in enumerate(frames.tolist()))
    if len(first) < len(frames) and not agree and asked.fold != "first":
        raise NotTaken("rows of a frame differ")
    keep = np.array(sorted(first.values()))
    if (np.diff(frames[keep]) <= 0).any():
        raise NotTaken("frame_index does not rise")
    return keep


def shown(table: pa.Table, keep: Array, films: Mapping[str, Path], asked: Asked) -> tuple[Array, dict[str, Shown], int]:
    """The rows left, each camera's pictures, and how many rows were trimmed."""
    frames = column(table, "frame_index")
    names = {slot: name for name, slots in asked.slots.items() for slot in slots}
    needed, trimmed = int(frames[keep][-1]) + 1, 0
    kinds = {slot: depth_stream(path) for slot, path in films.items()}
    for slot, path in films.items():
        if kinds[slot] is None:
            count = pictures_of(path)
            if abs(count - needed) > 1:
                raise NotTaken(f"{slot}: {count} pictures for {needed} rows")
            trimmed = max(trimmed, needed - count)
    keep = keep[frames[keep] < needed - trimmed]
    cameras = {}
    for slot, path in films.items():
        depth = kinds[slot] is not None
        if depth and not asked.depth:
            continue
        late = 0
        if depth:
            late = needed - trimmed - pictures_of(path)
            late = 0 if late == -1 else late
            if late < 0 or late >= needed - 1:
                raise NotTaken(f"{slot}: depth has {late} pictures too few")
        cameras[names.get(slot, slot)] = Shown(path, depth, np.maximum(frames[keep] - late, -1), slot)
    return keep, cameras, trimmed


def pieces(table: pa.Table, keep: Array, asked: Asked) -> list[Array]:
    """The kept rows, cut where there is a hole: unstamped rows of a clock count a frame's time each."""
    stamps = [int(stamp) for stamp in column(table, "hardware_ns")[keep]]
    if any(stamps):
        cut = all(abs(stamp) < HALF for stamp in stamps)
        stamped = [at for at, stamp in enumerate(stamps) if stamp]
        holes = []
        for before, after in pairwise(stamped):
            step = (stamps[after] - stamps[before]) % WRAP if cut else stamps[after] - stamps[before]
            if Fraction(step, SECOND) - Fraction(after - before - 1, asked.fps) > Fraction(asked.max_gap_s):
                holes.append(after)
    else:
        holes = (np.flatnonzero(np.diff(column(table, "wall_time")[keep]) > asked.max_gap_s) + 1).tolist()
    if holes and asked.on_gap != "split":
        raise NotTaken("a hole")
    return list(np.split(keep, holes))


# Columns


def columns(task: Path, table: pa.Table, rows: Array, number: int, asked: Asked) -> Iterator[tuple[str, Column]]:
    """Every feature of the rows."""
    for name in table.column_names:
        kind = table.schema.field(name).type
        if not name.startswith("observation."):
            continue
        if name == "observation.imu":
            yield name, imu(table, rows, asked)
        elif name.endswith("slam_trajectory"):
            yield name.replace("slam_trajectory", "slam_pose"), pose(table, name, rows, asked)
        elif name.endswith("_force_matrix"):
            if asked.matrices != "none":
                suffix = "_sum" if asked.matrices == "sums" else ""
                yield name + suffix, matrix(task, table, name, rows, number, asked)
        elif pa.types.is_fixed_size_list(kind):
            values = column(table, name)[rows].astype(np.float32)
            sampled: Array = np.ones(len(rows), bool)
            if f"{name}_ns" in table.column_names:
                sampled = column(table, f"{name}_ns")[rows] > 0
                values[~sampled] = 0
            yield name, Column(values, sampled, bool(values.any()), np.zeros(values.shape[1], np.float32))


def usable(table: pa.Table) -> bool:
    """Whether a clock is whole and never steps back; rows without a stamp, 0, say nothing."""
    stamps = column(table, "hardware_ns")
    return bool(np.abs(stamps).max() >= HALF and (np.diff(stamps[stamps != 0]) >= 0).all())


def imu(table: pa.Table, rows: Array, asked: Asked) -> Column:
    cells, stamps = table["observation.imu"].to_pylist(), table["imu_ts_ns"].to_pylist()
    flat = np.array([sample for cell in cells for sample in cell], np.float32).reshape(-1, 6)
    ts = np.array([stamp for cell in stamps for stamp in cell], np.int64)
    count = asked.samples if asked.imu == "window" else 1
    values: Array = np.zeros((len(rows), count * 6), np.float32)
    sampled: Array = np.zeros(len(rows), bool)
    by_stamp = usable(table) and bool((ts > 0).any())
    order = np.argsort(ts, kind="stable")
    order = order[ts[order] > 0]
    hardware, frames = column(table, "hardware_ns"), column(table, "frame_index")
    for at, row in enumerate(rows):
        if by_stamp:
            own, picked = flat[:0], flat[:0]
            if hardware[row]:
                own, picked = window(flat[order], ts[order], int(hardware[row]), asked, count)
        else:
            mates = np.flatnonzero(frames == frames[row])
            own = np.array([sample for mate in mates for sample in cells[mate]], np.float32).reshape(-1, 6)
            picked = own[[-(-(j + 1) * len(own) // count) - 1 for j in range(count)]] if len(own) else own
        sampled[at] = len(own) > 0
        if len(own):
            instead = {"mean": own.astype(np.float64).mean(axis=0), "last": own[-1]}
            values[at] = instead.get(asked.imu, picked).reshape(-1)
    return Column(values, sampled, bool(sampled.any()), np.zeros(values.shape[1], np.float32))


def window(samples: Array, ts: Array, hw: int, asked: Asked, count: int) -> tuple[Array, Array]:
    """The samples in (hw - 1/fps, hw], and the ones nearest to evenly spaced targets in it, exactly."""
    since = hw - Fraction(SECOND, asked.fps)
    stamps = [int(t) for t in ts]
    own = samples[[since < t <= hw for t in stamps]]
    picked = []
    for j in range(count):
        target = hw - Fraction((count - 1 - j) * SECOND, count * asked.fps)
        near = int(np.searchsorted(ts, int(target)))
        around = range(max(0, near - 2), min(len(ts), near + 3))
        picked.append(samples[min(around, key=lambda n: (abs(stamps[n] - target), n))])
    return own, np.array(picked)


def pose(table: pa.Table, name: str, rows: Array, asked: Asked) -> Column:
    values: Array = np.tile(np.array(IDENTITY), (len(rows), 1))
    sampled: Array = np.zeros(len(rows), bool)
    points = np.array([x for cell in table[name].to_pylist() for x in cell]).reshape(-1, 8)
    if f"{name}_ns" in table.column_names and usable(table) and len(points):
        ns = np.array([x for cell in table[f"{name}_ns"].to_pylist() for x in cell], np.int64)
        known = np.flatnonzero(ns > 0)
        for at, row in enumerate(rows if len(known) else []):
            away = np.abs(ns[known] - int(column(table, "hardware_ns")[row]))
            point = points[known[np.lexsort((ns[known], away))[0]]]
            good = np.isfinite(point[1:]).all() and np.linalg.norm(point[4:]) >= 1e-6
            if away.min() <= asked.max_gap_s * SECOND and good:
                turned = Rotation.from_quat(point[4:]).as_matrix()
                values[at], sampled[at] = np.concatenate([point[1:4], turned[:, 0], turned[:, 1]]), True
    return Column(values.astype(np.float32), sampled, bool(sampled.any()), np.array(IDENTITY, np.float32))


def matrix(task: Path, table: pa.Table, name: str, rows: Array, number: int, asked: Asked) -> Column:
    height, width = [1, 1] if asked.matrices == "sums" else [int(n) for n in asked.matrices.split("x")]
    values: Array = np.zeros((len(rows), height * width * 3), np.float32)
    sampled: Array = np.zeros(len(rows), bool)
    if usable(table) and f"{name}_ns" in table.column_names:
        cells, ns = table[name], column(table, f"{name}_ns")
        there = [row for row in range(len(cells)) if len(cells[row]) == 187_500 and ns[row] > 0]
        stamps = np.sort(ns[there])
        bound = int(np.median(np.diff(stamps))) // 2 if len(there) > 1 else 0
        scale = written_scale(task, name, number)
        for at, row in enumerate(rows if there else []):
            hw = int(column(table, "hardware_ns")[row])
            best = min(there, key=lambda n: (abs(int(ns[n]) - hw), ns[n], n))
            if stamps[0] <= hw <= stamps[-1] and abs(int(ns[best]) - hw) <= bound:
                full = decoded(cells[best].values.to_numpy(), scale).astype(np.float64)
                patches = full.reshape(height, 250 // height, width, 250 // width, 3).sum(axis=(1, 3))
                values[at], sampled[at] = patches.reshape(-1), True
    return Column(values, sampled, bool(sampled.any()), np.zeros(values.shape[1], np.float32))


def written_scale(task: Path, name: str, number: int) -> int:
    """The episode's own row, then info.json, then 1."""
    rows = [r for p in sorted((task / "meta/episodes").rglob("*.parquet")) for r in pq.read_table(p).to_pylist()]
    row: dict[str, Any] = next((r for r in rows if r["episode_index"] == number), {})
    info = json.loads((task / "meta/info.json").read_text(encoding="utf-8"))
    own = json.loads(row.get("force_matrix_specs") or "{}").get(name, {}).get("scale")
    return int(own or info.get("features", {}).get(name, {}).get("scale") or 1)


def decoded(flat: Array, scale: int) -> Array:
    """One matrix (250, 250, 3) [mN] float32 of its cell."""
    if flat.dtype == np.float32:
        return flat.reshape(250, 250, 3)
    sums = np.cumsum(flat.astype(np.int64).reshape(250, 750), axis=1)
    wrapped = (sums + 2**15) % 2**16 - 2**15
    return (wrapped.astype(np.float32) / np.float32(scale)).reshape(250, 250, 3)


# A build of several episodes


def features(takes: Sequence[Take], asked: Asked) -> list[dict[str, Array]]:
    """Of each episode every feature that is no picture, as float32 or int64 `(n, D)`."""
    filled = {name for one in takes for name, c in one.columns.items() if c.filled}
    width = {name: c.fill for one in takes for name, c in one.columns.items()}
    doubtful = {
        name for name in filled for one in takes if name not in one.columns or not one.columns[name].sampled.all()
    }
    found = []
    for one in takes:
        rows, n = {}, len(one.rows)
        for name in filled:
            c = one.columns.get(name)
            rows[named(name)] = np.tile(width[name], (n, 1)) if c is None else c.values
            if name in doubtful:
                sampled = np.zeros(n, bool) if c is None else c.sampled
                rows[named(name) + "_valid"] = sampled.astype(np.float32)[:, None]
        if asked.clocks:
            rows["hardware_ns"] = one.clocks["hardware_ns"].astype(np.int64)[:, None]
            rows["wall_time_ns"] = np.round(one.clocks["wall_time"] * 1e9).astype(np.int64)[:, None]
        composed(rows, asked)
        found.append(rows)
    return found


def named(name: str) -> str:
    """A feature's name: `image` is for pictures."""
    return name.replace("image", "img").replace("/", "_")


def composed(rows: dict[str, Array], asked: Asked) -> None:
    if asked.state:
        rows["observation.state"] = joined(rows, asked.state)
    if asked.action == "next_state":
        state = rows["observation.state"]
        rows["action"] = np.concatenate([state[1:], state[-1:]])
    elif asked.action:
        rows["action"] = joined(rows, asked.action)


def joined(rows: Mapping[str, Array], names: Sequence[str]) -> Array:
    return np.concatenate([rows[f"observation.{name.removeprefix('observation.')}"] for name in names], axis=1)


# Pictures


def told(path: Path) -> list[str]:
    """What `ffmpeg -i` prints of each stream; without output it fails, by design."""
    said = subprocess.run([FFMPEG, "-hide_banner", "-i", str(path)], capture_output=True, text=True, check=False)
    return [line for line in said.stderr.splitlines() if re.match(r"\s*Stream #0:\d", line)]


def depth_stream(path: Path) -> tuple[str, int] | None:
    for number, line in enumerate(told(path)):
        if "ffv1" in line and "gray16le" in line:
            return "gray16le", number
        if "hevc" in line and "gray12le" in line:
            return "gray12le", number
    return None


def size_of(path: Path) -> tuple[int, int]:
    found = re.search(r" (\d{2,5})x(\d{2,5})[ ,\[]", told(path)[0])
    assert found is not None, path
    return int(found[2]), int(found[1])


def raw(path: Path, pixels: str, stream: int = 0) -> bytes:
    command = [FFMPEG, "-v", "error", "-i", str(path), "-map", f"0:{stream}", "-fps_mode", "passthrough"]
    command += ["-f", "rawvideo", "-pix_fmt", pixels, "-"]
    return subprocess.run(command, capture_output=True, check=True, stdin=subprocess.DEVNULL).stdout


def pictures_of(path: Path) -> int:
    return len(depth_mm(path)) if depth_stream(path) else len(rgb(path))


def rgb(path: Path) -> Array:
    """Every picture `(P, H, W, 3)` uint8."""
    return np.frombuffer(raw(path, "rgb24"), np.uint8).reshape(-1, *size_of(path), 3)


def depth_mm(path: Path) -> Array:
    """Every depth picture `(P, H, W)` uint16 [mm], 0 where nothing was measured."""
    found = depth_stream(path)
    assert found is not None, path
    plain: Array = np.frombuffer(raw(path, *found), "<u2").reshape(-1, *size_of(path))
    return np.take(metric(), plain) if found[0] == "gray12le" else plain


def log_mm(path: Path) -> Array:
    """The contract's codes, all of them taken for a distance `(P, H, W)` uint16 [mm]."""
    codes = np.frombuffer(raw(path, "gray12le"), "<u2").reshape(-1, *size_of(path))
    return np.take(metric(0), codes)


def metric(invalid_below: int = INVALID_BELOW) -> Array:
    """The contract's table of codes: nothing, or round(exp(ln 100 + code / step)) [mm]."""
    step = 4095 / (np.log(5000.0) - np.log(100.0))
    table: Array = np.round(np.exp(np.log(100.0) + np.arange(4096) / step)).astype(np.uint16)
    table[:invalid_below] = 0
    return table


def rows_of(film: Shown, read: Callable[[Path], Array]) -> Array:
    """The picture of each row, zeros where there is none."""
    every = read(film.path)
    empty = np.zeros((1, *every.shape[1:]), every.dtype)
    return np.take(np.concatenate([every, empty]), film.pictures, axis=0)
