"""Our core alone: `quickdraw.video.transcode.transcode` of every camera file, on as many processes as a build has.

Run as a command, `python -m benchmarks.core <tasks> <workers>`, so that its cost is taken as every other's is.
"""

from __future__ import annotations

import json
import multiprocessing
import pickle
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from quickdraw.core.episode import FramePlan
from quickdraw.video.encoding import Encoding


@dataclass(frozen=True, slots=True)
class Clip:
    """One camera file to be transcoded."""

    plan: FramePlan
    target: Path
    encoding: Encoding


def transcoded(clip: Clip) -> float:
    """In a worker: the CPU seconds it took, without the worker's start and its imports."""
    from quickdraw.video.transcode import transcode

    begun_s = time.process_time()
    transcode(clip.plan, clip.target, clip.encoding)
    return time.process_time() - begun_s


def write_tasks(clips: Sequence[Clip], path: Path) -> None:
    """Clips, in the order they are to be begun, for the command to read."""
    path.write_bytes(pickle.dumps(list(clips)))


def core_command(tasks: Path, workers: int) -> list[str]:
    """Transcode them all; prints one line of JSON."""
    return [sys.executable, "-m", "benchmarks.core", str(tasks), str(workers)]


def tasks_cpu_s(stdout: str) -> float:
    """CPU of the transcoding alone, as the command told it [s]."""
    return float(json.loads(stdout.splitlines()[-1])["tasks_cpu_s"])


def main(tasks: Path, workers: int) -> None:
    """The command."""
    clips: list[Clip] = pickle.loads(tasks.read_bytes())
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        print(json.dumps({"tasks_cpu_s": sum(pool.map(transcoded, clips))}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
