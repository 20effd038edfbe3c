"""A tiny pooled task written by hand, by plain pyarrow, json and ffmpeg's binary: sound, to plant faults in."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

FRAMES, FPS = 10, 30.0
WIDTH, HEIGHT = 64, 48
MATRIX = "observation.gripper_left_force_matrix"
STEP_NS = 33_333_333
ROW = [("episode_index", pa.int64()), ("task_index", pa.int64()), ("start_frame_index", pa.int64()),
       ("end_frame_index", pa.int64()), ("length", pa.int64()), ("created_at", pa.float64()),
       ("duration_sec", pa.float64()), ("drop_stats", pa.string()), ("video_codec", pa.string()),
       ("calibration", pa.string()), ("force_matrix_specs", pa.string())]  # fmt: skip
SPEC = {"dtype": "int16", "shape": [250, 250, 3], "encoding": "row_diff_quantized", "scale": 100}


@cache
def film(arguments: tuple[str, ...], frames: int = FRAMES, pixels: str = "rgb24") -> bytes:
    """A video by the ffmpeg binary, of moving noise; `arguments` name its encoder, then its container."""
    shape = (frames, HEIGHT, WIDTH, 3) if pixels == "rgb24" else (frames, HEIGHT, WIDTH)
    noise = np.random.default_rng(7).integers(0, 256 if pixels == "rgb24" else 4000, shape)
    raw = noise.astype(np.uint8 if pixels == "rgb24" else "<u2").tobytes()
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-f", "rawvideo", "-pix_fmt", pixels,
               "-s", f"{WIDTH}x{HEIGHT}", "-r", "30", "-i", "-", *arguments[:-1]]  # fmt: skip
    if arguments[-1] == "mp4":  # whose head is written last, so that it goes to no pipe
        command += ["-movflags", "frag_keyframe+empty_moov"]
    return subprocess.run([*command, "-f", arguments[-1], "-"], input=raw, capture_output=True, check=True).stdout


def rgb(frames: int = FRAMES) -> bytes:
    """An mp4 of colour."""
    return film(("-c:v", "libx264", "-crf", "30", "-pix_fmt", "yuv420p", "mp4"), frames)


def ffv1(frames: int = FRAMES) -> bytes:
    """A Matroska file of depth."""
    return film(("-c:v", "ffv1", "-level", "3", "-pix_fmt", "gray16le", "matroska"), frames, "gray16le")


def fixed(values: Any, width: int) -> pa.Array:
    """Rows of `width` float32 each."""
    return pa.FixedSizeListArray.from_arrays(pa.array(np.asarray(values, np.float32).reshape(-1)), width)


def ragged(rows: list[Any], kind: pa.DataType) -> pa.Array:
    """Rows of different lengths."""
    return pa.array([list(row) for row in rows], pa.list_(kind))


def columns(number: int, frames: int = FRAMES, *, matrices: bool = False) -> dict[str, pa.Array]:
    """Every column of an episode: glove, IMU at 3 samples a frame, glove IMU, gripper, trajectory, poses, status."""
    k = np.arange(frames)
    hw = 5_000_000_000_000 + number * 100_000_000_000 + k * STEP_NS
    imu_ns = [[int(ns) - 20_000_000, int(ns) - 10_000_000, int(ns)] for ns in hw]
    rng = np.random.default_rng(number)
    imu = pa.FixedSizeListArray.from_arrays(pa.array(rng.normal(size=frames * 18).astype(np.float32)), 6)
    offsets = pa.array(np.arange(frames + 1, dtype=np.int32) * 3)
    found = {
        "episode_index": pa.array(np.full(frames, number, np.int64)),
        "frame_index": pa.array(k.astype(np.int64)),
        "timestamp": pa.array((k / FPS).astype(np.float32)),
        "task_index": pa.array(np.zeros(frames, np.int64)),
        "wall_time": pa.array(1.79e9 + number * 100 + k / FPS),
        "hardware_ns": pa.array(hw),
        "action": fixed(np.zeros(frames), 1),
        "observation.left_glove": fixed(rng.random((frames, 256)), 256),
        "imu_ts_ns": ragged(imu_ns, pa.int64()),
        "observation.imu": pa.ListArray.from_arrays(offsets, imu),
        "observation.left_glove_imu_quat": fixed(np.zeros((frames, 64)), 64),
        "observation.left_glove_imu_valid": fixed(np.ones((frames, 16)), 16),
        "observation.gripper_left_force": fixed(np.full((frames, 3), 6250.0), 3),
        "observation.gripper_left_force_ns": pa.array(hw - 1_000_000),
        "observation.gripper_state": fixed(np.full((frames, 3), 50.0), 3),
        "observation.slam_trajectory": ragged([rng.random(16) for _ in k], pa.float64()),
        "observation.slam_trajectory_ns": ragged([[ns - 9_000_000, ns - 1_000_000] for ns in hw.tolist()], pa.int64()),
        "observation.left_hand_pose": fixed(np.zeros((frames, 63)), 63),
        "observation.right_hand_pose": fixed(np.zeros((frames, 63)), 63),
        "status.cam0": pa.array(["connected"] * frames),
    }
    if matrices:
        found[MATRIX] = matrix_column(frames)
        found[f"{MATRIX}_ns"] = pa.array(np.where(k % 4 == 1, 0, hw - 2_000_000))
    return found


def matrix_column(frames: int, scale: int = 100, fz_mn: float = 0.1, *, samples: int | None = None) -> pa.Array:
    """Matrices of one fz everywhere (62,500 of 0.1 mN make 6,250), in all rows but each fourth's second."""
    steps = np.zeros((250, 250, 3), np.int16)
    steps[..., 2] = round(fz_mn * scale) if scale > 1 else int(fz_mn)
    flat = np.diff(steps.reshape(250, 750), axis=1, prepend=np.int16(0)).astype(np.int16).reshape(-1)
    with_one = [k % 4 != 1 for k in range(frames)]
    if samples is not None:
        with_one = [k < samples for k in range(frames)]
    lengths = np.array(with_one) * len(flat)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    return pa.ListArray.from_arrays(offsets, pa.array(np.tile(flat, sum(with_one))))


def row(number: int, frames: int = FRAMES, specs: dict[str, Any] | None = None) -> dict[str, Any]:
    """The row of an episode."""
    return {
        "episode_index": number, "task_index": 0, "start_frame_index": 0, "end_frame_index": frames - 1,
        "length": frames, "created_at": 1.79e9 + number * 100, "duration_sec": frames / FPS,
        "drop_stats": '{"ext:cam": 0}', "video_codec": "{}", "calibration": "{}",
        "force_matrix_specs": json.dumps(specs or {}),
    }  # fmt: skip


def info(episodes: int, names: list[str]) -> dict[str, Any]:
    """info.json, with an entry for each column of `names` that has one."""
    shapes = {"observation.left_glove": [16, 16], "observation.imu": [6], "observation.left_glove_imu_quat": [16, 4],
              "observation.left_glove_imu_valid": [16], "observation.gripper_left_force": [3], "action": [1],
              "observation.gripper_state": [3], "observation.left_hand_pose": [21, 3],
              "observation.right_hand_pose": [21, 3]}  # fmt: skip
    features: dict[str, Any] = {name: {"dtype": "float32", "shape": shapes[name]} for name in names if name in shapes}
    for name in names:
        if name.endswith("_ns") and name.startswith("observation"):
            features[name] = {"dtype": "int64", "shape": [1], "encoding": "host_monotonic_ns"}
    if "observation.slam_trajectory" in names:
        features["observation.slam_trajectory"] = {"dtype": "float64", "shape": [8]}
    if MATRIX in names:
        features[MATRIX] = SPEC
    return {
        "format": "pooled_episodes_v1", "chunks_size": 1000,
        "data_path": "data/chunk-{c:03d}/episode-{f:03d}.parquet",
        "video_path": "videos/chunk-{c:03d}/{image_key}/episode-{f:03d}.{ext}",
        "episodes_path": "meta/episodes/chunk-{c:03d}/episode-{f:03d}.parquet",
        "codebase_version": "v3.0", "app_version": "1.3.11", "fps": FPS, "video": True, "task_name": "tiny",
        "features": features, "cameras": {"cam": {"height": HEIGHT, "width": WIDTH}}, "devices": [],
        "device_names": {"cam": "head"}, "sensors": ["left_glove"], "sensor_dim": 256, "created_at": 1.79e9,
        "calibration": {}, "total_episodes": episodes, "video_extensions": {"cam": "mp4", "depth": "mkv"},
    }  # fmt: skip


def block(tables: list[np.ndarray]) -> dict[str, Any]:
    """A block of statistics, of rows `(n, D)`."""
    x = np.concatenate(tables).astype(np.float64)
    lists = {"mean": x.mean(0), "std": x.std(0), "min": x.min(0), "max": x.max(0)}
    return {"count": len(x), **{name: values.tolist() for name, values in lists.items()}}


@dataclass
class Tiny:
    """A task on disk, and how to plant a fault in it. Numbers are N."""

    root: Path

    def data(self, number: int) -> Path:
        return self.root / f"data/chunk-000/episode-{number - 1:03d}.parquet"

    def row(self, number: int) -> Path:
        return self.root / f"meta/episodes/chunk-000/episode-{number - 1:03d}.parquet"

    def video(self, number: int, slot: str = "cam") -> Path:
        extension = "mkv" if slot == "depth" else "mp4"
        return self.root / f"videos/chunk-000/{slot}/episode-{number - 1:03d}.{extension}"

    def edit(self, name: str, change: Callable[[dict[str, Any]], object]) -> None:
        """Change a JSON document of meta/."""
        path = self.root / "meta" / name
        document = json.loads(path.read_text(encoding="utf-8"))
        change(document)
        path.write_text(json.dumps(document, indent=2, ensure_ascii=False), encoding="utf-8")

    def edit_table(self, path: Path, change: Callable[[dict[str, Any]], object], **options: Any) -> None:
        """Change the columns of a Parquet file, as a dictionary of name and array."""
        table = pq.read_table(path)
        held = {name: table.column(name).combine_chunks() for name in table.column_names}
        change(held)
        pq.write_table(pa.table(held), path, **{"compression": "zstd", **options})

    def set_row(self, number: int, **values: Any) -> None:
        """Change values of an episode's row."""
        (found,) = pq.read_table(self.row(number)).to_pylist()
        self.write_rows(self.row(number), [{**found, **values}])

    def write_rows(self, path: Path, rows: list[dict[str, Any]]) -> None:
        """A file of rows in the contract's schema."""
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows, schema=pa.schema(ROW)), path, compression="zstd")

    def bytes_of_all(self) -> dict[str, bytes]:
        """Every file's bytes, by its path in the task."""
        files = (path for path in sorted(self.root.rglob("*")) if path.is_file())
        return {path.relative_to(self.root).as_posix(): path.read_bytes() for path in files}


def write_tiny(root: Path, episodes: int = 3) -> None:
    """A sound task; episode 2 has force matrices, every one a colour and a depth video."""
    tiny, gloves, imus, names = Tiny(root), [], [], list[str]()
    for number in range(1, episodes + 1):
        held = columns(number, matrices=number == 2)
        names = list(dict.fromkeys([*names, *held]))
        for path in (tiny.data(number), tiny.row(number), tiny.video(number), tiny.video(number, "depth")):
            path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(held), tiny.data(number), compression="zstd")
        tiny.write_rows(tiny.row(number), [row(number, specs={MATRIX: SPEC} if number == 2 else None)])
        tiny.video(number).write_bytes(rgb())
        tiny.video(number, "depth").write_bytes(ffv1())
        gloves.append(held["observation.left_glove"].values.to_numpy().reshape(-1, 256))
        imus.append(held["observation.imu"].values.values.to_numpy().reshape(-1, 6))
    action = {"count": 0, "mean": [0.0], "std": [1.0], "min": [0.0], "max": [0.0]}
    stats = {"observation.left_glove": block(gloves), "observation.imu": block(imus), "action": action}
    for name, document in (("info.json", info(episodes, names)), ("stats.json", stats)):
        (root / "meta" / name).write_text(json.dumps(document, indent=2), encoding="utf-8")
    (root / "meta/tasks.jsonl").write_text('{"task_index": 0, "task": "tiny"}\n', encoding="utf-8")
    (root / "meta/episodes/.lock").touch()


@pytest.fixture(scope="session")
def tiny_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sound tiny task, not to be changed."""
    root = tmp_path_factory.mktemp("tiny") / "tiny"
    write_tiny(root)
    return root


@pytest.fixture
def tiny(tiny_template: Path, tmp_path: Path) -> Tiny:
    """A copy of the sound tiny task, to plant faults in."""
    return Tiny(shutil.copytree(tiny_template, tmp_path / "tiny"))


@dataclass(frozen=True)
class Making:
    """The pieces a tiny task is made of, for tests that make another one."""

    columns: Callable[..., dict[str, pa.Array]] = columns
    matrix_column: Callable[..., pa.Array] = matrix_column
    row: Callable[..., dict[str, Any]] = row
    info: Callable[..., dict[str, Any]] = info
    rgb: Callable[..., bytes] = rgb
    ffv1: Callable[..., bytes] = ffv1
    film: Callable[..., bytes] = film
    fixed: Callable[..., pa.Array] = fixed
    ragged: Callable[..., pa.Array] = ragged
    matrix: str = MATRIX
    schema: list[tuple[str, Any]] = field(default_factory=lambda: ROW)


@pytest.fixture(scope="session")
def making() -> Making:
    return Making()


@pytest.fixture
def pooled_copy(tmp_path: Path) -> Callable[[Path], Path]:
    """`pooled_copy(task)`: a copy of a task, free to change."""
    return lambda task: shutil.copytree(task, tmp_path / "copy" / task.name)


@pytest.fixture
def pooled_sample(sample_pooled: Path, tmp_path: Path) -> Callable[[str], Tiny]:
    """`pooled_sample(name)`: a copy of a task of the sample, free to change."""

    def copied(name: str) -> Tiny:
        return Tiny(shutil.copytree(sample_pooled / "recordings" / name, tmp_path / name))

    return copied
