"""A long take with a force matrix in every row, measured. A script, run by a test.

measured_recorder.py RECORDINGS ROWS SPEC SIDES [RATE_HZ]: prints JSON: memory [MB], and times [ms, s]. `RATE_HZ` paces
the rows as a camera does; without it they come as fast as they are taken.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

import numpy as np

from quickdraw.formats.pooled.writer import Recorder, Slot

MATRICES = 4


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def children() -> list[str]:
    return [pid for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()]


def peak_mb(pid: str) -> float:
    """The most memory a process had since its exec; `getrusage` would count what its parent had before."""
    (line,) = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024 / 1e6


def main(recordings: Path, rows: int, spec: str, sides: list[str], rate_hz: float) -> None:
    noise = np.random.default_rng(0)
    matrices = [(noise.random((250, 250, 3), np.float32) - 0.5) * np.float32(0.05) for _ in range(MATRICES)]
    picture = noise.integers(0, 255, (96, 128, 3), np.uint8)
    resident, matrix_ms, frame_ms = [], [], []
    with Recorder(recordings, "long", slots=[Slot("rgb", 96, 128)], app_version="1", force_spec=spec) as recorder:
        recorder.begin()
        began = time.perf_counter()
        for k in range(rows):
            hardware_ns = 10**12 + k * 33_333_333
            start = time.perf_counter()
            for side in sides:
                recorder.add_force_matrix(side, matrices[k % MATRICES], hardware_ns)
            middle = time.perf_counter()
            recorder.add_imu([hardware_ns - 1000], np.ones((1, 6)))
            recorder.add_frame({"rgb": picture}, hardware_ns=hardware_ns, wall_time=1.79e9 + k / 30)
            matrix_ms.append(1e3 * (middle - start))
            frame_ms.append(1e3 * (time.perf_counter() - middle))
            if rate_hz:
                time.sleep(max(0.0, began + (k + 1) / rate_hz - time.perf_counter()))
            if k % 100 == 99:
                resident.append(resident_mb())
        ffmpeg_mb = [peak_mb(pid) for pid in children()]
        taken, start = time.perf_counter() - began, time.perf_counter()
        recorder.end()
        ended = time.perf_counter() - start
    told = {
        "rows_per_s": rows / taken,
        "end_s": ended,
        "matrix_ms": np.percentile(matrix_ms, [50, 99]).tolist(),
        "frame_ms": np.percentile(frame_ms, [50, 99, 100]).tolist(),
        "resident_mb": resident,
        "peak_mb": peak_mb("self"),
        "ffmpeg_mb": ffmpeg_mb,
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4].split(","), float((sys.argv[5:] or ["0"])[0]))
