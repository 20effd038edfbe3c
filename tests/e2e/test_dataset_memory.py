"""A worker's memory does not grow with the length of its run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import imageio_ffmpeg
import pytest

RATE = 30
SCRIPT = Path(__file__).resolve().parent / "scripts" / "map_pictures.py"


def looped(gop: Path, times: int, target: Path) -> Path:
    """A closed GOP repeated by stream copy, by ffmpeg's binary."""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-stream_loop", str(times - 1), "-i", str(gop),
               "-c", "copy", str(target)]  # fmt: skip
    subprocess.run(command, check=True)
    return target


def peak_kb(video: Path, seconds: int, folder: Path) -> int:
    """Peak resident memory of a process that maps one camera of a run of so many seconds."""
    command = [sys.executable, str(SCRIPT), str(video), str(seconds * RATE), str(RATE), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return int(done.stdout.splitlines()[-1])


def test_a_worker_needs_as_much_memory_for_two_minutes_as_for_20_seconds(
    sample_tree: Path, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    source = sorted(sample_tree.glob("*/*/video/scene_left.mp4"))[0]
    gop = tmp_path / "gop.mp4"
    encode = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-i", str(source), "-frames:v", "60", "-c:v", "libx264",
              "-crf", "23", "-preset", "veryfast", "-g", "60", "-bf", "0", "-pix_fmt", "yuv420p", str(gop)]  # fmt: skip
    subprocess.run(encode, check=True)
    peaks = {s: peak_kb(looped(gop, s * RATE // 60, tmp_path / f"{s}.mp4"), s, tmp_path / f"f{s}") for s in (20, 120)}
    record_property("peak memory [kB] by seconds", peaks)
    print(peaks)
    assert peaks[120] == pytest.approx(peaks[20], rel=0.1), peaks
