"""Reading films with nothing of ours: ffmpeg's binary and its raw pictures."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import imageio_ffmpeg
import numpy as np
import pytest
from numpy.typing import NDArray


@pytest.fixture(scope="session")
def pictures() -> Callable[[Path, tuple[int, int]], list[NDArray[np.uint8]]]:
    """Every picture of a film, in file order; the size is (height, width)."""

    def decode(path: Path, size: tuple[int, int] = (480, 640)) -> list[NDArray[np.uint8]]:
        command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-i", str(path), "-fps_mode", "passthrough"]
        command += ["-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
        data = subprocess.run(command, capture_output=True, check=True, stdin=subprocess.DEVNULL).stdout
        return list(np.frombuffer(data, np.uint8).reshape(-1, *size, 3))

    return decode
