"""Measures the usual path on some camera files of one run, and how its video compares with ours of the same files."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.measuring import Measured, run
from benchmarks.ours import CameraFile, Task, environment
from benchmarks.residuals import residual


@dataclass(frozen=True, slots=True)
class Video:
    """Encoded pictures of some camera files: how many, in how many bytes, and how far from their source (0..255)."""

    pictures: int
    bytes: int
    residual: float

    @property
    def picture_bytes(self) -> float:
        """Bytes a picture."""
        return self.bytes / self.pictures


@dataclass(frozen=True, slots=True)
class Usual:
    """The usual path at one setting: the whole command, the same without imports, and the video it made."""

    command: Measured
    wall_s: float
    cpu_s: float
    video: Video


def files_of_one_run(task: Task, cameras: int) -> list[CameraFile]:
    """Some camera files of one of the shortest runs."""
    shortest = min(task.files, key=lambda file: (file.rows, file.run))
    return [file for file in task.files if file.run == shortest.run][:cameras]


def measure_usual(setting: str, files: Sequence[CameraFile], task: Task, folder: Path) -> Usual:
    """Run it once, in a process of its own."""
    root = folder / f"usual-{setting}"
    shutil.rmtree(root, ignore_errors=True)
    size = [str(task.encoding.height_px), str(task.encoding.width_px)]
    command = [sys.executable, "-m", "benchmarks.usual_path", setting, str(task.rate_hz), *size, str(root)]
    ran = run([*command, *(str(file.path) for file in files)], env=_offline(folder / "hf"))
    spent = json.loads(ran.stdout.splitlines()[-1])
    videos = [_video_of(root, file) for file in files]
    rows = np.arange(spent["rows"])
    video = Video(
        pictures=len(files) * len(rows),
        bytes=sum(path.stat().st_size for path in videos),
        residual=float(np.mean([residual(path, file.path, rows) for path, file in zip(videos, files, strict=True)])),
    )
    return Usual(ran.cost, spent["wall_s"], spent["cpu_s"], video)


def our_video(files: Sequence[CameraFile], clips: Sequence[Path]) -> Video:
    """The same of our clips of these files."""
    pairs = list(zip(files, clips, strict=True))
    return Video(
        pictures=sum(file.rows for file in files),
        bytes=sum(clip.stat().st_size for clip in clips),
        residual=float(np.mean([residual(clip, file.path, file.plan.frame_index) for file, clip in pairs])),
    )


def _video_of(root: Path, file: CameraFile) -> Path:
    (path,) = (root / "videos").glob(f"observation.images.{file.path.stem}/**/*.mp4")
    return path


def _offline(home: Path) -> dict[str, str]:
    """An environment in which lerobot reaches for no network."""
    home.mkdir(parents=True, exist_ok=True)
    kept = {name: value for name, value in environment().items() if name != "PYTHONWARNINGS"}
    caches = {"HF_HOME": str(home), "HF_DATASETS_CACHE": str(home / "datasets"), "HF_LEROBOT_HOME": str(home / "lr")}
    return kept | caches | {"HF_HUB_OFFLINE": "1"}
