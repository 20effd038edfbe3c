"""The floor: camera files through bare ffmpeg processes, decode -> area scale -> encode, and nothing else."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import imageio_ffmpeg

from benchmarks.measuring import Measured, run
from quickdraw.video.codecs import CODECS
from quickdraw.video.encoding import PIXEL_FORMAT, Encoding


def ffmpeg_command(source: Path, target: Path, encoding: Encoding) -> list[str]:
    """One thread each for decoder, filter and encoder; every picture once, whatever its time."""
    codec = CODECS[encoding.codec]
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-nostdin", "-y", "-threads", "1", "-i", str(source)]
    command += ["-map", "0:v:0", "-an", "-filter_threads", "1", "-fps_mode", "passthrough"]
    command += ["-vf", f"scale={encoding.width_px}:{encoding.height_px}:flags=area+accurate_rnd"]
    command += ["-c:v", codec.encoder, "-threads", "1", "-pix_fmt", PIXEL_FORMAT]
    for name, value in codec.options(encoding.crf, encoding.preset, encoding.gop).items():
        command += [f"-{name}", value]
    return [*command, "-movflags", "faststart", str(target)]


def run_floor(sources: Sequence[Path], folder: Path, encoding: Encoding, workers: int) -> tuple[Measured, list[Path]]:
    """The cost of all files, as many at a time as there are workers, in the order given; and the clips."""
    folder.mkdir(parents=True, exist_ok=True)
    targets = [folder / f"{number:04d}.mp4" for number in range(len(sources))]
    commands = [ffmpeg_command(*files, encoding) for files in zip(sources, targets, strict=True)]
    begun_s = time.perf_counter()
    with ThreadPoolExecutor(workers) as threads:
        costs = [ran.cost for ran in threads.map(run, commands)]
    wall_s = time.perf_counter() - begun_s
    peak_mb = max(cost.parent_peak_mb for cost in costs)
    return Measured(wall_s, sum(cost.cpu_s for cost in costs), 0.0, peak_mb), targets
