"""Which row an inertial sample belongs to: previous hardware_ns < its stamp <= the row's own (contract 7.3).

Samples and frames arrive by different roads, so a row is settled some frames after it was made: whoever calls `settle`
decides how long a sample may take.
"""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt

from quickdraw.formats.pooled.columns import IMU, IMU_AXES
from quickdraw.formats.pooled.recording.deliveries import delivered
from quickdraw.formats.pooled.recording.stamps import Int64, whole_ns_array

type Float32 = npt.NDArray[np.float32]

NS = 1_000_000_000
MOST_WAITING = 1 << 16  # samples, a minute at 1000 Hz


class ImuWindows:
    """Samples that wait for their row. They may come from any thread; ones between episodes are dropped.

    `counts` tells what no row got: `imu_before_count` earlier than a frame's time before the first row's stamp,
    `imu_after_count` later than the last one's, `imu_late_count` when its row was settled already, and
    `imu_overflow_count` the oldest ones where rows bear no stamps that would claim them.
    """

    def __init__(self, fps: float) -> None:
        self._frame_ns = round(NS / fps)
        self._lock = threading.Lock()
        self._open = False
        self._waiting: list[tuple[Int64, Float32]] = []
        self._count = 0  # of samples that wait
        self._last_ns = 0  # the highest stamp of a settled row
        self.counts: Counter[str] = Counter()

    def start(self) -> None:
        """An episode begins: whatever came before it is none of its samples."""
        with self._lock:
            self._open, self._last_ns, self.counts = True, 0, Counter()
            self._wait([])

    def add(self, ts_ns: Any, values: Any) -> None:
        """Samples `(n, 6)` [gx gy gz ax ay az] and their stamps `(n,)` [ns], copied.

        Ones of a non-finite value or without a stamp are dropped and counted, all of them where the shape is another.
        """
        stamps, found, bad = _sound(ts_ns, values)
        with self._lock:
            if not self._open:
                return
            self.counts[f"{IMU}_rejected_count"] += bad
            late = stamps <= self._last_ns
            self.counts["imu_late_count"] += int(late.sum())
            self._waiting.append((stamps[~late], found[~late]))
            self._count += len(self._waiting[-1][0])
            while self._count > MOST_WAITING:
                lost = len(self._waiting.pop(0)[0])
                self._count -= lost
                self.counts["imu_overflow_count"] += lost

    def settle(self, hardware_ns: int) -> tuple[Int64, Float32]:
        """The samples of the next row, `(n,)` and `(n, 6)` by stamp; none where its stamp is no later than the last."""
        with self._lock:
            if hardware_ns <= self._last_ns or not self._waiting:
                self._last_ns = max(self._last_ns, hardware_ns)
                return np.empty(0, np.int64), np.empty((0, IMU_AXES), np.float32)
            stamps = np.concatenate([each for each, _ in self._waiting])
            values = np.concatenate([each for _, each in self._waiting])
            taken = stamps <= hardware_ns
            self._wait([(stamps[~taken], values[~taken])])
            first, self._last_ns = self._last_ns == 0, hardware_ns
            if first:
                before = stamps <= hardware_ns - self._frame_ns
                self.counts["imu_before_count"] += int(before.sum())
                taken &= ~before
        stamps, values = stamps[taken], values[taken]
        order = np.argsort(stamps, kind="stable")
        return stamps[order], values[order]

    def close(self) -> None:
        """The last row is settled: what waits still is later than it, and what comes now is dropped."""
        with self._lock:
            self._open = False
            self.counts["imu_after_count"] += self._count
            self._wait([])

    def _wait(self, samples: list[tuple[Int64, Float32]]) -> None:
        self._waiting, self._count = samples, sum(len(each) for each, _ in samples)


def _sound(ts_ns: Any, values: Any) -> tuple[Int64, Float32, int]:
    stamps, found = whole_ns_array(ts_ns), delivered(values, np.float32)
    if found is None or found.shape != (len(stamps), IMU_AXES):
        return np.empty(0, np.int64), np.empty((0, IMU_AXES), np.float32), len(stamps)
    sound = np.isfinite(found).all(axis=1) & (stamps > 0)
    return stamps[sound], found[sound], int((~sound).sum())
