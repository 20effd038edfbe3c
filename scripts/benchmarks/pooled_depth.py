"""The part of `scripts/bench pooled` that records depth: our writer, and bare ffmpeg on the same pictures in a file."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import imageio_ffmpeg
import numpy as np
import numpy.typing as npt

from benchmarks.rates import Rate, rate
from quickdraw.formats.pooled.depth import open_depth
from quickdraw.formats.pooled.depth_codes import quantise
from quickdraw.formats.pooled.recording.depth_writer import DepthWriter, encoder_of

HEIGHT_PX, WIDTH_PX, FPS = 480, 848, 30.0


@dataclass(frozen=True, slots=True)
class Way:
    """One way of recording depth."""

    name: str
    mode: Literal["ffv1", "log12"]
    preview: bool = False


WAYS = (Way("ffv1", "ffv1"), Way("ffv1 and heat map", "ffv1", preview=True), Way("log12", "log12"))


def measure_depth(pictures: int, repeats: int, folder: Path) -> tuple[list[Rate], dict[str, float]]:
    """Rates of writing and reading, and the bytes of a picture by the name of the way."""
    depth_mm = [scene(number) for number in range(pictures)]
    rates, sizes = [], {}
    for way in WAYS:
        path = folder / f"{way.mode}_{way.preview}.{encoder_of(way.mode).extension}"
        rates += list(_rates(way, depth_mm, path, repeats))
        sizes[way.name] = path.stat().st_size / pictures
    return rates, sizes


def scene(number: int) -> npt.NDArray[np.uint16]:
    """A wall at 0.6 to 3 m with a camera's noise of 0.4 % of the distance, a hole that moves, specks without depth."""
    row, column = np.mgrid[0:HEIGHT_PX, 0:WIDTH_PX]
    random = np.random.default_rng(number)
    wall_mm = 600 + 2.0 * column + 1.5 * row + 30 * np.sin(column / 40 + number / 5)
    depth_mm: npt.NDArray[np.uint16] = np.rint(wall_mm * random.normal(1.0, 0.004, wall_mm.shape)).astype(np.uint16)
    depth_mm[200:260, 100 + number % 500 : 180 + number % 500] = 0
    depth_mm[random.random(depth_mm.shape) < 0.02] = 0
    return depth_mm


def _rates(way: Way, depth_mm: list[npt.NDArray[np.uint16]], path: Path, repeats: int) -> Iterator[Rate]:
    encoder, raw, bare = encoder_of(way.mode, preview=way.preview), path.with_suffix(".raw"), path.with_suffix(".bare")
    given = [quantise(each) for each in depth_mm] if way.mode == "log12" else depth_mm
    raw.write_bytes(b"".join(each.astype("<u2").tobytes() for each in given))
    source = ("-f", "rawvideo", "-pix_fmt", encoder.pixel_format, "-s", f"{WIDTH_PX}x{HEIGHT_PX}", "-r", str(FPS))
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y", *source, "-i", str(raw), *encoder.options]

    def plain() -> None:
        subprocess.run([*command, "-f", encoder.container, str(bare)], check=True, capture_output=True)

    def ours() -> None:
        path.unlink(missing_ok=True)
        writer = DepthWriter(
            path, height_px=HEIGHT_PX, width_px=WIDTH_PX, fps=FPS, mode=way.mode, preview=way.preview
        )  # fmt: skip
        for each in depth_mm:
            writer.write(each)
        writer.close()

    yield rate(
        f"record {way.name}", "pictures", len(depth_mm), beside="ffmpeg", plain=plain, ours=ours, repeats=repeats
    )
    stream = ("-map", f"0:v:{encoder.streams - 1}", "-f", "null", "-")

    def decoded() -> None:
        subprocess.run([command[0], "-v", "error", "-i", str(path), *stream], check=True, capture_output=True)

    def read() -> None:
        video = open_depth(path)
        assert video is not None
        assert sum(1 for _ in video.frames()) == len(depth_mm)

    name = f"decode {way.name}"
    yield rate(name, "pictures", len(depth_mm), beside="ffmpeg, all threads", plain=decoded, ours=read, repeats=repeats)
