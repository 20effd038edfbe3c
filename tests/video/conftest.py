"""Small source videos whose every picture carries its number, made with ffmpeg's binary and read back the same way."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import imageio_ffmpeg
import numpy as np
import numpy.typing as npt
import pytest

Pictures = npt.NDArray[np.uint8]
HEIGHT, WIDTH, BITS, BLOCK = 96, 160, 8, 20
X264 = ("-c:v", "libx264", "-pix_fmt", "yuv420p", "-preset", "ultrafast")
# What can be copied: a keyframe every 12 pictures, nowhere else, and no B-frames.
WAYS = {
    "h264": ("-c:v", "libx264", "-pix_fmt", "yuv420p", "-preset", "veryfast", "-g", "12", "-bf", "0",
             "-sc_threshold", "0"),
    "hevc": ("-c:v", "libx265", "-pix_fmt", "yuv420p", "-preset", "ultrafast", "-tag:v", "hvc1", "-x265-params",
             "keyint=12:min-keyint=12:bframes=0:scenecut=0:open-gop=0:log-level=error"),
    "av1": ("-c:v", "libsvtav1", "-pix_fmt", "yuv420p", "-preset", "12", "-g", "12", "-svtav1-params", "scd=0:lp=1"),
}  # fmt: skip


def ffmpeg(*arguments: str, data: bytes = b"") -> bytes:
    """Runs the binary: what it wrote to stdout."""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-hide_banner", "-v", "error", "-y", *arguments]
    result = subprocess.run(command, input=data, capture_output=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr.decode()
    return result.stdout


def numbered(count: int, height: int = HEIGHT, width: int = WIDTH) -> Pictures:
    """`(count, H, W, 3)`: eight blocks across the upper half are the bits of the number; a texture moves below."""
    pictures = np.full((count, height, width, 3), 40, np.uint8)
    block = width // BITS
    for number in range(count):
        for bit in range(BITS):
            if number >> bit & 1:
                pictures[number, : height // 2, bit * block : (bit + 1) * block] = 220
        x = (number * 7) % (width - 20)
        pictures[number, height // 2 :, x : x + 20] = (200, 90, 60)
    return pictures


def read_numbers(pictures: Pictures) -> list[int]:
    """The number in each of `(N, H, W, 3)`, whatever the size."""
    height, width = pictures.shape[1:3]
    block = width / BITS
    columns = [int((bit + 0.5) * block) for bit in range(BITS)]
    bits = pictures[:, height // 4, columns].mean(axis=-1) > 128
    return [int(number) for number in bits @ (1 << np.arange(BITS))]


def encode(path: Path, pictures: Pictures, *options: str, rate: str = "30", pix_fmt: str = "rgb24") -> Path:
    """Pipes raw pictures into ffmpeg; `options` follow the input."""
    height, width = pictures.shape[1:3]
    source = ("-f", "rawvideo", "-pix_fmt", pix_fmt, "-s", f"{width}x{height}", "-r", rate, "-i", "-")
    ffmpeg(*source, *options, str(path), data=pictures.tobytes())
    return path


def timed(path: Path, pictures: Pictures, pts: str, *options: str, timescale: int = 90_000) -> Path:
    """A video whose picture N stands at the time `pts` (an ffmpeg expression of N, in seconds)."""
    filters = f"settb=1/{timescale},setpts='round(({pts})*{timescale})'"
    return encode(path, pictures, "-vf", filters, "-fps_mode", "passthrough", "-enc_time_base", f"1/{timescale}",
                  *X264, "-bf", "0", "-g", "10", "-video_track_timescale", str(timescale), *options)  # fmt: skip


def decode(path: Path, height: int, width: int) -> Pictures:
    """Every picture as ffmpeg's binary reads it, RGB by the file's own tags."""
    raw = ffmpeg("-noautorotate", "-i", str(path), "-fps_mode", "passthrough", "-f", "rawvideo", "-sws_flags",
                 "accurate_rnd+full_chroma_int", "-pix_fmt", "rgb24", "-")  # fmt: skip
    return np.frombuffer(raw, np.uint8).reshape(-1, height, width, 3)


class Tools:
    """The functions of this file, for test modules, which cannot import one another."""

    height, width, x264, ways = HEIGHT, WIDTH, X264, WAYS
    ffmpeg = staticmethod(ffmpeg)
    numbered = staticmethod(numbered)
    read_numbers = staticmethod(read_numbers)
    encode = staticmethod(encode)
    timed = staticmethod(timed)
    decode = staticmethod(decode)


@pytest.fixture(scope="session")
def tools() -> type[Tools]:
    return Tools


@pytest.fixture(scope="session")
def hundred(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """A plain 30 Hz video of 100 numbered pictures, made once a worker."""
    made: list[Path] = []

    def path() -> Path:
        if not made:
            target = tmp_path_factory.mktemp("hundred") / "cfr.mp4"
            made.append(encode(target, numbered(100), *X264, "-bf", "0", "-g", "10"))
        return made[0]

    return path


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """`recorded(codec, extension)`: 36 numbered pictures, a keyframe every 12; made once."""
    folder = tmp_path_factory.mktemp("recorded")

    def path(codec: str = "h264", extension: str = "mp4") -> Path:
        target = folder / f"{codec}.{extension}"
        if not target.exists():
            encode(target, numbered(36), *WAYS[codec])
        return target

    return path
