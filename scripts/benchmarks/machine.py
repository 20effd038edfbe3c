"""What a benchmark was run on, for whoever reads its numbers later."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import imageio_ffmpeg


def cores() -> int:
    """Cores this process may run on."""
    return len(os.sched_getaffinity(0))


def machine() -> dict[str, str | int | float]:
    """Processor, cores, load and versions. The load is the last minute's before anything was measured."""
    return {
        "processor": _processor(),
        "cores": cores(),
        "load_1_min": os.getloadavg()[0],
        "python": platform.python_version(),
        "ffmpeg": imageio_ffmpeg.get_ffmpeg_version(),
        "system": platform.platform(),
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
