"""Camera films as the collector writes them: H.264 through imageio-ffmpeg, and long ones by repeating a short clip."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import imageio_ffmpeg
import numpy as np

from quickdraw.errors import VideoError
from quickdraw.sim.barcode import Rgb

# What the collector passes; quality 8 becomes crf 10. Group of pictures and B-frames stay x264's defaults.
FPS: Final = 30
_QUALITY: Final = 8
# A clip that is to be repeated must end where a picture may begin: no B-frames, closed groups.
_REPEATABLE: Final = ("-bf", "0", "-flags", "+cgop")


def write_film(path: Path, pictures: Iterable[Rgb], size_px: tuple[int, int]) -> int:
    """Encode `pictures` (H, W, 3) uint8 RGB of `size_px` (width, height); return how many the file holds."""
    _encode(path, pictures, size_px, ())
    return count_pictures(path)


def write_repeated_film(path: Path, clip: Iterable[Rgb], size_px: tuple[int, int], *, count: int) -> int:
    """Encode `clip` once and repeat it by stream copy up to `count` pictures; return how many the file holds.

    Raises VideoError if ffmpeg fails or the file does not hold exactly `count`.
    """
    with tempfile.TemporaryDirectory() as folder:
        short = Path(folder) / "clip.mp4"
        _encode(short, clip, size_px, _REPEATABLE)
        command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y", "-stream_loop", "-1", "-i", str(short)]
        command += ["-c", "copy", "-frames:v", str(count), str(path)]
        _run_ffmpeg(command, path)
    held = count_pictures(path)
    if held != count:
        raise VideoError(str(path), f"{held} pictures", f"{count} pictures")
    return held


def count_pictures(path: Path) -> int:
    """Coded pictures in the file, counted without decoding them. Raises VideoError if ffmpeg cannot read it."""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-i", str(path), "-map", "0:v:0", "-c", "copy"]
    command += ["-progress", "pipe:1", "-f", "null", "-"]
    report = _run_ffmpeg(command, path)
    counts = [line.partition("=")[2] for line in report.splitlines() if line.startswith("frame=")]
    return int(counts[-1]) if counts else 0


def _run_ffmpeg(command: list[str], path: Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise VideoError(str(path), done.stderr.strip() or f"ffmpeg exit code {done.returncode}", "a readable film")
    return done.stdout


def _encode(path: Path, pictures: Iterable[Rgb], size_px: tuple[int, int], options: tuple[str, ...]) -> None:
    writer = imageio_ffmpeg.write_frames(
        str(path),
        size_px,
        fps=FPS,
        codec="libx264",
        quality=_QUALITY,
        macro_block_size=1,
        output_params=list(options),
        ffmpeg_log_level="error",
    )
    writer.send(None)
    try:
        for picture in pictures:
            writer.send(np.ascontiguousarray(picture))
    finally:
        writer.close()
