"""What the stamps of an episode's rows are worth: which clock they are of, which rows are one frame, which takes what.

Times are int64 nanoseconds; 0 is no stamp. Contract sections 7.1 and 7.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from quickdraw.core.grid import Float64, Int64

NONE = -1  # no row
HALF, WRAP = 1 << 31, 1 << 32  # of 32-bit nanoseconds: 2.147 s and 4.295 s


class ClockClass(StrEnum):
    """What `hardware_ns` is: nothing, a clock cut to signed 32 bits, or a whole one."""

    NONE = "none"
    TRUNC32 = "trunc32"
    HW64 = "hw64"


def classify(hardware_ns: Int64) -> ClockClass:
    """The class of an episode's clock `(T,)` int64 [ns]: all zero, 0 < max |hw| < 2^31, or more."""
    most = max((abs(int(end)) for end in (hardware_ns.min(), hardware_ns.max())), default=0) if len(hardware_ns) else 0
    return ClockClass.NONE if most == 0 else ClockClass.TRUNC32 if most < HALF else ClockClass.HW64


def unwrap32(hardware_ns: Int64) -> Int64:
    """A clock cut to 32 bits as one that never steps back, `(T,)` int64 [ns]; rows without a stamp stay 0.

    Each step is taken forward, modulo 2^32: a queue on a monotonic clock cannot step back. It begins in 0 .. 2^32 - 1,
    so that only differences mean anything, and a gap of 4.295 s or more is not seen whole. For looking at gaps only,
    never for alignment. Raises ValueError for stamps that 32 bits do not hold.
    """
    if len(hardware_ns) and not (int(hardware_ns.min()) >= -HALF and int(hardware_ns.max()) < HALF):
        raise ValueError("stamps beyond 32 bits: this clock was not cut")
    found = np.zeros(len(hardware_ns), np.int64)
    stamped = hardware_ns != 0
    found[stamped] = np.cumsum(np.diff(hardware_ns[stamped], prepend=0) % WRAP)
    return found


def steps_back(hardware_ns: Int64) -> Int64:
    """The rows whose stamp is before that of the last stamped row before them, of `(T,)` int64 [ns]; 0 is no stamp."""
    stamped = np.flatnonzero(hardware_ns)
    stamps = hardware_ns[stamped]
    return stamped[1:][stamps[1:] < stamps[:-1]].astype(np.int64)


@dataclass(frozen=True, slots=True)
class Fold:
    """Which rows stand for the frames of an episode.

    `keep` `(F,)` int64 is the row of each frame: the first of those that share its number. `first` `(T,)` int64 is that
    row for each row. `rows_per_frame` is the most rows of one frame. Where rows of one frame differ in a stamp,
    `agrees` is False and `keep` is every row.
    """

    keep: Int64
    first: Int64
    rows_per_frame: int
    agrees: bool


def fold(frame_index: Int64, timestamp: npt.NDArray[Any], hardware_ns: Int64) -> Fold:
    """Frames of an episode whose rows, all `(T,)`, may come once for each of several slots (0, 0, 1, 1, ...).

    Rows are one frame only where number, `timestamp` and `hardware_ns` are all the same, throughout the episode. What
    hangs on the rows a fold drops, IMU samples above all, is still to be read from every row.
    """
    _, first, frame, rows = np.unique(frame_index, return_index=True, return_inverse=True, return_counts=True)
    most = int(rows.max(initial=0))
    leader = first[frame].astype(np.int64)
    agrees = bool(((timestamp == timestamp[leader]) & (hardware_ns == hardware_ns[leader])).all())
    keep = np.sort(first) if agrees else np.arange(len(frame_index))
    return Fold(keep.astype(np.int64), leader, most, agrees or most < 2)


def imu_rows(hardware_ns: Int64, ts_ns: Int64, *, first_window_ns: int | None = None) -> Int64:
    """The row each IMU sample belongs to, `(n,)` int64: previous row's stamp < ts <= the row's own; -1 for none.

    `hardware_ns` `(T,)` int64 must not step back; rows without a stamp (0) take no sample, and of rows with one stamp
    the first takes them. The first row has no previous one: it takes what is at most `first_window_ns` older, a
    frame's time, and everything up to its stamp where that is None. Samples after the last row are of none.
    """
    stamped = np.flatnonzero(hardware_ns)
    stamps = hardware_ns[stamped]
    if not len(stamps):
        return np.full(len(ts_ns), NONE, np.int64)
    at = np.searchsorted(stamps, ts_ns, "left")
    row = np.append(stamped, NONE)[at]
    if first_window_ns is not None:
        row[ts_ns <= stamps[0] - first_window_ns] = NONE
    return row.astype(np.int64)


def elapsed_s(timestamp: npt.NDArray[Any], wall_time: Float64) -> Float64:
    """Seconds since an episode's start of its rows `(T,)` float64, by `wall_time` [Unix s].

    `timestamp` is float32, half a millisecond wide after two hours; only its first is used, where it is exact enough.
    """
    return wall_time - wall_time[:1] + timestamp[:1].astype(np.float64)
