"""Tiny pooled tasks with what samples lack: holes, cut clocks, trims, late depth, two slots with IMU in both.

Written with plain pyarrow and ffmpeg's binary. Loaded from its path.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

FFMPEG = imageio_ffmpeg.get_ffmpeg_exe()
HEIGHT, WIDTH = 48, 64
LOGS = "depth_log"  # the slot of logarithmic codes
BEGAN_NS = 7_000_000_000_000
TO_THE_WRAP_NS = (2**31 - 500_000_000 - BEGAN_NS) % 2**32  # cut stamps turn negative half a second later

__all__ = ["clock", "depths", "painted", "plain", "replace", "write_all", "write_task"]

type Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Episode:
    """One take. `stamps_ns` and `wall_s` of every row; `films` slot -> pictures `(P, H, W[, 3])`; `imu` lists."""

    number: int
    frame_index: Array
    stamps_ns: Array
    wall_s: Array
    films: Mapping[str, Array]
    imu: tuple[tuple[tuple[int, Array], ...], ...] = ()
    columns: Mapping[str, Array] = field(default_factory=dict)
    lists: Mapping[str, tuple[tuple[float, ...], ...]] = field(default_factory=dict)


def write_task(root: Path, name: str, episodes: list[Episode], fps: int) -> Path:
    task = root / name
    extensions = {}
    for one in episodes:
        chunk, file = f"chunk-{(one.number - 1) // 1000:03d}", f"episode-{(one.number - 1) % 1000:03d}"
        data = task / "data" / chunk / f"{file}.parquet"
        data.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table(one), data, compression="zstd")
        for slot, pictures in one.films.items():
            extensions[slot] = "mkv" if pictures.ndim == 3 and slot != LOGS else "mp4"
            path = task / "videos" / chunk / slot / f"{file}.{extensions[slot]}"
            path.parent.mkdir(parents=True, exist_ok=True)
            film(path, pictures, fps)
    info = {"format": "pooled_episodes_v1", "chunks_size": 1000, "fps": float(fps), "task_name": name,
            "data_path": "data/chunk-{c:03d}/episode-{f:03d}.parquet", "codebase_version": "v3.0", "video": True,
            "video_path": "videos/chunk-{c:03d}/{image_key}/episode-{f:03d}.{ext}", "app_version": "1.3.11",
            "episodes_path": "meta/episodes/chunk-{c:03d}/episode-{f:03d}.parquet", "features": {},
            "cameras": {s: {"height": HEIGHT, "width": WIDTH} for s, e in extensions.items() if e == "mp4"},
            "devices": [], "device_names": {}, "sensors": [], "sensor_dim": 256, "created_at": 1.79e9,
            "total_episodes": len(episodes), "video_extensions": extensions}  # fmt: skip
    (task / "meta").mkdir()
    (task / "meta" / "info.json").write_text(json.dumps(info, indent=2, ensure_ascii=False), encoding="utf-8")
    told = json.dumps({"task_index": 0, "task": f"do {name}"}, ensure_ascii=False)
    (task / "meta" / "tasks.jsonl").write_text(told + "\n", encoding="utf-8")
    return task


def table(one: Episode) -> pa.Table:
    n = len(one.frame_index)
    zeros = pa.array(np.zeros(n, np.int64))
    columns: dict[str, pa.Array] = {
        "episode_index": pa.array(np.full(n, one.number, np.int64)),
        "frame_index": pa.array(one.frame_index.astype(np.int64)),
        "timestamp": pa.array((one.wall_s - one.wall_s[0]).astype(np.float32)),
        "task_index": zeros,
        "wall_time": pa.array(one.wall_s.astype(np.float64)),
        "hardware_ns": pa.array(one.stamps_ns.astype(np.int64)),
        "action": fixed(np.zeros((n, 1))),
    }
    if one.imu:
        columns["imu_ts_ns"] = pa.array([[ts for ts, _ in row] for row in one.imu], pa.list_(pa.int64()))
        samples = [[sample.tolist() for _, sample in row] for row in one.imu]
        columns["observation.imu"] = pa.array(samples, pa.list_(pa.list_(pa.float32(), 6)))
    for name, values in one.columns.items():
        columns[name] = pa.array(values) if values.ndim == 1 else fixed(values)
    for name, cells in one.lists.items():
        inner = pa.int64() if name.endswith("_ns") else pa.float64()
        columns[name] = pa.array([list(cell) for cell in cells], pa.list_(inner))
    for side in ("left", "right"):
        columns.setdefault(f"observation.{side}_hand_pose", fixed(np.zeros((n, 63))))
    return pa.table(columns)


def fixed(values: Array) -> pa.Array:
    return pa.array(values.astype(np.float32).tolist(), pa.list_(pa.float32(), values.shape[1]))


def film(path: Path, pictures: Array, fps: int) -> None:
    """Colour as H.264 with a keyframe every fifth picture and no B-frames, depth as FFV1, codes as HEVC."""
    x265 = "log-level=none:qp=6:range=full:bframes=0:keyint=5:min-keyint=5:scenecut=0:open-gop=0"
    if path.suffix == ".mkv":
        pixels, codec = "gray16le", ["-c:v", "ffv1", "-level", "3"]
    elif pictures.ndim == 3:
        pixels = "gray12le"
        codec = ["-c:v", "libx265", "-x265-params", x265, "-color_range", "pc", "-tag:v", "hvc1"]
    else:
        pixels, codec = "rgb24", ["-c:v", "libx264", "-crf", "12", "-g", "5", "-bf", "0", "-sc_threshold", "0"]
        codec += ["-pix_fmt", "yuv420p", "-colorspace", "smpte170m", "-color_range", "tv"]
    size = f"{pictures.shape[2]}x{pictures.shape[1]}"
    command = [FFMPEG, "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", pixels, "-s", size, "-r", str(fps)]
    command += ["-i", "-", *codec, str(path)]
    subprocess.run(command, input=np.ascontiguousarray(pictures).tobytes(), check=True, capture_output=True)


def painted(count: int, seed: int, height: int = HEIGHT, width: int = WIDTH) -> Array:
    """Pictures that differ from each other everywhere: a drifting wave of colours, and a block that walks."""
    y, x = np.mgrid[:height, :width]
    shown = []
    for k in range(count):
        wave = [128 + 90 * np.sin((x * (1 + c) + y * 2) / 11 + 0.5 * k + c + seed) for c in range(3)]
        picture = np.stack(wave, axis=-1)
        at = (5 * k) % (width - 8)
        picture[8:24, at : at + 8] = (250, 20, 20)
        shown.append(picture.astype(np.uint8))
    return np.stack(shown)


def depths(count: int, seed: int, height: int = HEIGHT, width: int = WIDTH) -> Array:
    """Millimetres from 1 to 60,000, a strip of nothing, moving."""
    random = np.random.default_rng(seed)
    found = random.integers(200, 9_000, (count, height, width)).astype(np.uint16)
    found[:, 0] = np.arange(width) + 1
    found[:, 1] = 9_960 + np.arange(width)
    found[:, 2, :8] = (10_000, 10_001, 12_000, 60_000, 65_535, 999, 1_000, 1_001)
    for k in range(count):
        found[k, 5:20, k : k + 9] = 0
    return found


def clock(frames: int, fps: int, *, holes: Mapping[int, float] | None = None, jitter_ns: int = 0) -> Array:
    """Stamps [ns] of frames that come at their rate, `holes[k]` seconds later after frame k."""
    steps = np.full(frames, 1e9 / fps)
    for after, late_s in (holes or {}).items():
        steps[after + 1] += late_s * 1e9
    stamps = np.round(np.cumsum(steps)).astype(np.int64) + BEGAN_NS
    random = np.random.default_rng(frames)
    return np.sort(stamps + random.integers(-jitter_ns, jitter_ns + 1, frames))


def cut(stamps_ns: Array) -> Array:
    """The low 32 bits, as a signed number."""
    return stamps_ns.astype(np.int64).astype(np.uint64).astype(np.uint32).astype(np.int32).astype(np.int64)


def imu(stamps_ns: Array, rate_hz: float, seed: int, *, shuffled: bool = False) -> tuple[Any, ...]:
    """Samples at a rate, on the row in whose window they lie; `shuffled`: on a row a few later."""
    random = np.random.default_rng(seed)
    ts = np.arange(stamps_ns[0] - 30_000_000, stamps_ns[-1] + 1, int(1e9 / rate_hz)) + 1_234
    rows: list[list[tuple[int, Array]]] = [[] for _ in stamps_ns]
    for stamp in ts.tolist():
        row = int(np.searchsorted(stamps_ns, stamp))
        row = min(row + (int(random.integers(0, 3)) if shuffled else 0), len(rows) - 1)
        rows[row].append((stamp, random.normal(size=6).astype(np.float32)))
    return tuple(tuple(row) for row in rows)


def glove(rows: int, seed: int) -> Array:
    return np.random.default_rng(seed).random((rows, 256)).astype(np.float32)


def plain(number: int, stamps_ns: Array, *, seed: int, missing: int = 0, **more: Any) -> Episode:
    """A take of one glove and one colour camera, a row a frame; the camera lacks `missing` pictures at its end."""
    n = len(stamps_ns)
    wall_s = 1.79e9 + 100 * number + np.arange(n) / 30 + 0.02
    return Episode(number, np.arange(n), stamps_ns, more.pop("wall_s", wall_s), {"cam": painted(n - missing, seed)},
                   columns={"observation.left_glove": glove(n, seed)} | more.pop("columns", {}), **more)  # fmt: skip


def doubled(number: int, stamps_ns: Array, *, seed: int, apart: bool = False) -> Episode:
    """Two rows a frame, IMU lists in both of them; `apart`: the second has its own stamps."""
    n = len(stamps_ns)
    one = plain(number, stamps_ns, seed=seed, imu=imu(clock(n, 30), 200, seed))
    lists: list[Any] = []
    for row in one.imu:
        lists += [row[: len(row) // 2], row[len(row) // 2 :]]
    late = np.where(np.arange(2 * n) % 2, 3_000_000, 0) if apart else 0
    return Episode(number, np.repeat(np.arange(n), 2), np.repeat(stamps_ns, 2) + late,
                   np.repeat(one.wall_s, 2) + late * 1e-9, one.films, tuple(lists),
                   {"observation.left_glove": glove(2 * n, seed)})  # fmt: skip


def write_all(root: Path) -> None:
    """`rows`: tasks `clocks`, `gaps`, `twice`, `odd` at 30 Hz. `deep`: one of colour and depth at 15 Hz."""
    even, shaken = clock(30, 30), clock(25, 30, jitter_ns=4_000_000)
    holes = clock(26, 30, holes={7: 0.9, 17: 0.31}, jitter_ns=2_000_000)
    paused = 1.79e9 + 3 + np.arange(20) / 30 + np.where(np.arange(20) > 11, 2.0, 0.0)
    write_task(root / "rows", "clocks", [
        plain(1, even, seed=1, imu=imu(even, 400, 1)),
        plain(2, cut(clock(30, 30) + TO_THE_WRAP_NS), seed=2, imu=imu(even, 230, 2)),
        plain(3, np.zeros(18, np.int64), seed=3, imu=imu(even[:18], 150, 3)),
        plain(1001, shaken, seed=4, missing=1, imu=imu(clock(25, 30), 333, 4, shuffled=True)),
        plain(1002, clock(22, 30), seed=5, missing=-1),
    ], 30)  # fmt: skip
    write_task(root / "rows", "gaps", [
        plain(1, holes, seed=6, imu=imu(holes, 400, 6)),
        plain(2, np.zeros(20, np.int64), seed=7, wall_s=paused),
        plain(3, cut(clock(20, 30, holes={4: 2.5}) + TO_THE_WRAP_NS), seed=8),
        plain(4, clock(9, 30, holes={0: 1.0, 7: 1.0}), seed=12),
    ], 30)  # fmt: skip
    write_task(root / "rows", "edges", edges(), 30)
    write_task(root / "rows", "odd", [doubled(1, clock(16, 30), seed=9, apart=True)], 30)
    write_task(root / "rows", "twice", [
        doubled(1, clock(18, 30), seed=10),
        doubled(2, np.zeros(14, np.int64), seed=11),
    ], 30)  # fmt: skip
    (root / "rows" / "_not_a_task").mkdir()
    (root / "rows" / "notes").mkdir()
    write_task(root, "logs", logs(), 30)
    write_task(root / "deep", "deep", [deep(1, 14, 0), deep(2, 18, 3), deep(3, 12, -1)], 15)


def edges() -> list[Episode]:
    """Frames that are passed over, that begin late, and stamps that are missing here and there."""
    even = clock(14, 30)
    one = plain(1, even, seed=13, missing=-1, imu=imu(even, 400, 13))
    passed = np.array([*range(3), *range(4, 15)])
    two = plain(2, clock(12, 30), seed=14, missing=-5)
    found = [replace(one, frame_index=passed), replace(two, frame_index=np.arange(5, 17))]
    for number, row in ((3, 0), (4, 6), (5, 11)):
        stamps = clock(12 + number, 30)
        holed = plain(number, stamps, seed=14 + number, imu=imu(stamps, 300, number))
        stamps = stamps.copy()
        stamps[row] = 0
        found.append(replace(holed, stamps_ns=stamps))
    return found


def logs() -> list[Episode]:
    """Depth as the contract's logarithmic codes, without B-frames."""
    found = []
    for number in (1, 2):
        codes = np.round(np.log(np.clip(depths(11, number), 100, 5000) / 100.0) / np.log(50.0) * 4095).astype(np.uint16)
        codes[depths(11, number) == 0] = 0
        one = plain(number, clock(11, 30), seed=30 + number)
        found.append(replace(one, films={"cam": one.films["cam"], LOGS: codes}))
    return found


def deep(number: int, frames: int, late: int) -> Episode:
    """Colour and depth, which begins `late` frames late, or ends one too late."""
    stamps = clock(frames, 15)
    one = plain(number, stamps, seed=20 + number, wall_s=1.79e9 + np.arange(frames) / 15)
    films = {"cam": one.films["cam"], "depth_0": depths(frames - late, 20 + number, HEIGHT + 1, WIDTH + 1)}
    columns, lists = trajectory_columns(frames, stamps, number), trajectory(stamps, number)
    return Episode(number, one.frame_index, stamps, one.wall_s, films, columns=columns, lists=lists)


def trajectory(stamps_ns: Array, seed: int) -> dict[str, tuple[tuple[float, ...], ...]]:
    """Points at 40 Hz with what goes wrong: no stamp, no number, no rotation; none at all in the last frames."""
    random = np.random.default_rng(seed)
    points: list[tuple[float, ...]] = []
    stamps: list[tuple[float, ...]] = []
    for row, stamp in enumerate(stamps_ns.tolist()):
        count = 0 if row > len(stamps_ns) - 9 else int(random.integers(0, 4))
        flat, ns = [], []
        for k in range(count):
            ns.append(
                0 if random.random() < 0.1 else stamp - 60_000_000 + 20_000_000 * k + int(random.integers(0, 9_999))
            )
            quaternion = random.normal(size=4) * (0 if random.random() < 0.15 else 2.0)
            place = random.normal(size=3) * (np.nan if random.random() < 0.1 else 1.0)
            flat += [float(row), *place.tolist(), *quaternion.tolist()]
        points.append(tuple(flat))
        stamps.append(tuple(ns))
    name = "observation.gripper_2_slam_trajectory"
    return {name: tuple(points), f"{name}_ns": tuple(stamps)}


def trajectory_columns(frames: int, stamps_ns: Array, seed: int) -> dict[str, Array]:
    """A second gripper's force, every third of which is no sample, and its state."""
    random = np.random.default_rng(seed)
    ns = np.where(np.arange(frames) % 3 == 2, 0, stamps_ns + 5_000_000)
    force = np.where(ns[:, None] > 0, random.normal(size=(frames, 3)) * 900, 0.0)
    return {"observation.gripper_2_gripper_right_force": force, "observation.gripper_2_gripper_right_force_ns": ns,
            "observation.gripper_2_gripper_state": random.random((frames, 3)) * 100}  # fmt: skip
