"""Pooled tasks to plan episodes of: simulated, some spoiled, and key columns written by plain pyarrow."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import imageio_ffmpeg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quickdraw.data.pooled_episodes.source import PooledEpisodes
from quickdraw.data.processor import source_of
from quickdraw.sim.pooled.files import write_task
from quickdraw.sim.pooled.spec import EpisodeSpec, SlotSpec, TaskSpec

OPTIONS: Final[dict[str, Any]] = {
    "target_hz": 30,
    "cameras": [],
    "slots": {},
    "hw": None,
    "depth": {"mode": "none"},
    "video": {"mode": "encode", "codec": "h264", "crf": 15, "preset": "veryfast", "gop": 5},
    "fold": "refuse",
    "on_gap": "refuse",
    "max_gap_s": 0.5,
    "imu": {"mode": "window", "samples": 8},
    "force_matrices": "sums",
    "clocks": False,
    "state": [],
    "action": None,
}
CAM, LEFT, RIGHT = SlotSpec("cam"), SlotSpec("left"), SlotSpec("right")


@pytest.fixture(scope="session")
def pooled() -> Callable[..., PooledEpisodes]:
    """`pooled(tree, **options)`: the source a build with these options would have."""

    def made(tree: Path, **options: Any) -> PooledEpisodes:
        depth = options.pop("depth", "none")
        found = source_of("pooled_episodes", OPTIONS | {"depth": {"mode": depth}} | options, tree)
        assert isinstance(found, PooledEpisodes)
        return found

    return made


@pytest.fixture(scope="session")
def simulated(once: Callable[[str, Callable[[Path], None]], Path]) -> Path:
    """Tasks `plain` (cam), `pair` (left, right; 20 frames) and `deep` (cam and depth in each coding, 12 frames)."""
    depth = (
        SlotSpec("depth"),
        SlotSpec("depth", "log12"),
        SlotSpec("depth", "ffv1"),
        SlotSpec("depth", "ffv1", head=3),
    )

    def make(root: Path) -> None:
        plain = tuple(EpisodeSpec(number, 20, (CAM,), gloves=("glove",), imu_hz=400) for number in (1, 2))
        pair = (
            EpisodeSpec(1, 20, (LEFT, RIGHT), rows_per_frame=2),
            EpisodeSpec(2, 20, (LEFT, SlotSpec("right", tail=1))),
            EpisodeSpec(3, 20, (LEFT, RIGHT), rows_per_frame=2, apart=True),
            EpisodeSpec(4, 20, (LEFT, RIGHT), hole_after=9),
            EpisodeSpec(5, 20, (LEFT, RIGHT), hole_after=9, truncated=True),
        )
        deep = tuple(EpisodeSpec(number, 12, (CAM, each)) for number, each in enumerate(depth[1:], start=1))
        for name, episodes in (("plain", plain), ("pair", pair), ("deep", deep)):
            write_task(root, TaskSpec(name, "device", "uvc", episodes))

    return once("pooled-plans", make)


@pytest.fixture
def spoiled(simulated: Path, tmp_path: Path) -> Callable[[str], Path]:
    """`spoiled(task)`: a copy of a simulated task's folder, below a tree of its own, to change at will."""

    def copied(task: str) -> Path:
        shutil.copytree(simulated / task, tmp_path / "tree" / task)
        return tmp_path / "tree" / task

    return copied


@pytest.fixture(scope="session")
def put() -> Callable[..., None]:
    """`put(path, column=values)`: other values in columns of a data file; None drops the column."""

    def changed(path: Path, **columns: Any) -> None:
        table = pq.read_table(path)
        for name, values in columns.items():
            at = table.column_names.index(name)
            table = table.remove_column(at)
            if values is not None:
                table = table.add_column(at, name, values if isinstance(values, pa.Array) else pa.array(values))
        pq.write_table(table, path)

    return changed


@pytest.fixture
def key_file(tmp_path: Path) -> Callable[..., Path]:
    """`key_file(frame_index, hardware_ns=, wall_time=, timestamp=)`: a data file of key columns alone, at 30 Hz."""

    def written(frame_index: list[int], **columns: Any) -> Path:
        count = len(frame_index)
        told = {
            "frame_index": pa.array(frame_index, pa.int64()),
            "timestamp": pa.array(columns.get("timestamp", [each / 30 for each in frame_index]), pa.float32()),
            "wall_time": pa.array(columns.get("wall_time", [1e9 + each / 30 for each in frame_index]), pa.float64()),
            "hardware_ns": pa.array(columns.get("hardware_ns", [0] * count), pa.int64()),
            "task_index": pa.array(columns.get("task_index", [0] * count), pa.int64()),
        }
        pq.write_table(pa.table(told), tmp_path / "episode-000.parquet")
        return tmp_path / "episode-000.parquet"

    return written


class Films:
    """Videos made by ffmpeg's binary."""

    recorder = ("-c:v", "libx264", "-bf", "0", "-g", "5", "-pix_fmt", "yuv420p")

    @staticmethod
    def ffmpeg(*arguments: str) -> None:
        subprocess.run([imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y", *arguments], check=True)

    @classmethod
    def film(cls, path: Path, *coding: str, rate: int = 30, seconds: float = 0.4) -> Path:
        """A test card, coded as told."""
        cls.ffmpeg("-f", "lavfi", "-i", f"testsrc=s=64x48:r={rate}:d={seconds}", *coding, str(path))
        return path


@pytest.fixture(scope="session")
def films() -> type[Films]:
    return Films


@dataclass(frozen=True, slots=True)
class Take:
    """Episode 1 of a copied task, `plain`: its folder, and its files."""

    root: Path

    @property
    def data(self) -> Path:
        return self.root / "data/chunk-000/episode-000.parquet"

    @property
    def cam(self) -> Path:
        return self.root / "videos/chunk-000/cam/episode-000.mp4"

    def put(self, **columns: Any) -> None:
        table = pq.read_table(self.data)
        for name, values in columns.items():
            at = table.column_names.index(name)
            table = table.remove_column(at)
            table = table if values is None else table.add_column(at, name, values)
        pq.write_table(table, self.data)

    def keep(self, rows: int) -> None:
        pq.write_table(pq.read_table(self.data).slice(0, rows), self.data)

    def info(self, **keys: Any) -> None:
        path = self.root / "meta/info.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | keys))

    def film(self, *options: str) -> None:
        kept = shutil.move(self.cam, self.root / "kept.mp4")
        command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y", "-i", str(kept), *options, str(self.cam)]
        subprocess.run(command, check=True)


@pytest.fixture
def take(spoiled: Callable[[str], Path]) -> Take:
    return Take(spoiled("plain"))
