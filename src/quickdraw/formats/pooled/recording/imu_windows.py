"""Which row an inertial sample belongs to: previous hardware_ns < its stamp <= the row's own (contract 7.3).

Samples and frames arrive by different roads, so a row is settled some frames after it was made: whoever calls `settle`
decides how long a sample may take.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from typing import Any

import numpy as np
import numpy.typing as npt

from quickdraw.core.grid import Int64
from quickdraw.formats.pooled.clock import NONE, imu_rows
from quickdraw.formats.pooled.columns import IMU, IMU_AXES
from quickdraw.formats.pooled.recording.samples import REJECTED, delivered
from quickdraw.formats.pooled.recording.stamps import whole_ns_array

type Float32 = npt.NDArray[np.float32]

NS = 1_000_000_000
MOST_WAITING = 1 << 16  # samples, a minute at 1000 Hz


class ImuWindows:
    """Samples that wait for their row. They may come from any thread; ones between episodes are dropped.

    `counts` tells what no row got: `imu_before_count` earlier than a frame's time before the first row's stamp,
    `imu_after_count` later than the last one's, `imu_late_count` when its row was settled already, and
    `imu_overflow_count` the oldest ones where rows bear no stamps that would claim them. `kept` have their row.
    """

    def __init__(self, fps: float) -> None:
        self._frame_ns = round(NS / fps)
        self._lock = threading.Lock()
        self._open = False
        self._waiting: deque[tuple[Int64, Float32]] = deque()
        self._count = 0  # of samples that wait
        self._last_ns = 0  # the highest stamp of a settled row
        self.counts: Counter[str] = Counter()
        self.kept = 0

    def start(self) -> None:
        """An episode begins: whatever came before it is none of its samples."""
        with self._lock:
            self._open, self._last_ns, self.counts, self.kept = True, 0, Counter(), 0
            self._wait([])

    def add(self, ts_ns: Any, values: Any) -> None:
        """Samples `(n, 6)` [gx gy gz ax ay az] and their stamps `(n,)` [ns], copied.

        Ones of a non-finite value or without a stamp are dropped and counted, all of them where the shape is another.
        """
        stamps, found, bad = _sound(ts_ns, values)
        with self._lock:
            if not self._open:
                return
            self.counts[f"{IMU}{REJECTED}"] += bad
            late = stamps <= self._last_ns
            self.counts["imu_late_count"] += int(late.sum())
            self._waiting.append((stamps[~late], found[~late]))
            self._count += len(self._waiting[-1][0])
            self._drop_oldest(self._count - MOST_WAITING)

    def settle(self, hardware_ns: int) -> tuple[Int64, Float32]:
        """The samples of the next row, `(n,)` and `(n, 6)` by stamp; none where its stamp is no later than the last."""
        with self._lock:
            if hardware_ns <= self._last_ns or not self._waiting:
                self._last_ns = max(self._last_ns, hardware_ns)
                return np.empty(0, np.int64), np.empty((0, IMU_AXES), np.float32)
            stamps = np.concatenate([each for each, _ in self._waiting])
            values = np.concatenate([each for _, each in self._waiting])
            first = None if self._last_ns else self._frame_ns
            taken = imu_rows(np.array([hardware_ns]), stamps, first_window_ns=first) != NONE
            later = stamps > hardware_ns
            self.kept += int(taken.sum())
            self.counts["imu_before_count"] += int((~taken & ~later).sum())
            self._wait([(stamps[later], values[later])])
            self._last_ns = hardware_ns
        stamps, values = stamps[taken], values[taken]
        order = np.argsort(stamps, kind="stable")
        return stamps[order], values[order]

    def close(self) -> None:
        """The last row is settled: what waits still is later than it, and what comes now is dropped."""
        with self._lock:
            self._open = False
            self.counts["imu_after_count"] += self._count
            self._wait([])

    def _drop_oldest(self, excess: int) -> None:
        """Of all that waits, the first ones by arrival; none where `excess` is below 1."""
        self.counts["imu_overflow_count"] += max(excess, 0)
        while excess > 0:
            stamps, values = self._waiting.popleft()
            if len(stamps) > excess:
                self._waiting.appendleft((stamps[excess:], values[excess:]))
            self._count -= min(excess, len(stamps))
            excess -= len(stamps)

    def _wait(self, samples: list[tuple[Int64, Float32]]) -> None:
        self._waiting, self._count = deque(samples), sum(len(each) for each, _ in samples)


def _sound(ts_ns: Any, values: Any) -> tuple[Int64, Float32, int]:
    stamps, found = whole_ns_array(ts_ns), delivered(values, np.float32)
    if found is None or found.shape != (len(stamps), IMU_AXES):
        return np.empty(0, np.int64), np.empty((0, IMU_AXES), np.float32), len(stamps)
    sound = np.isfinite(found).all(axis=1) & (stamps > 0)
    return stamps[sound], found[sound], int((~sound).sum())
