"""The tick grid of an episode, in exact integer arithmetic.

Stamps are int64 nanoseconds. Tick k stands at `t0 + k / rate`, which is rarely a whole nanosecond, so times are
compared after multiplying by the rate: in units of `1 / rate_hz` ns, relative to t0, everything is an integer. On a rig
whose stamps lie on a 4 ms grid two or three rows in a hundred are exact ties, and floats would decide those at random.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from quickdraw.core.pickling import Brief

NS_PER_S = 1_000_000_000

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]


def to_ns(t_s: npt.ArrayLike) -> Int64:
    """Seconds to the nearest nanosecond: any shape, float64 [s] -> int64 [ns]."""
    return np.rint(np.asarray(t_s, np.float64) * NS_PER_S).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Grid(Brief):
    """`n` ticks at `t0 + k / rate_hz`, k = 0 .. n-1; ticks are computed, never accumulated."""

    t0_ns: int
    rate_hz: int
    n: int

    @property
    def t0_s(self) -> float:
        """Time of the first tick [s]."""
        return self.t0_ns / NS_PER_S

    def ticks(self) -> Int64:
        """`(n,)` int64 ticks relative to t0, in units of `1 / rate_hz` ns."""
        return np.arange(self.n, dtype=np.int64) * NS_PER_S

    def scaled(self, t_ns: Int64) -> Int64:
        """Stamps `(N,)` int64 [ns] in the units of `ticks()`; one decades away is brought near, not to overflow."""
        farthest_ns = np.int64(2**62 // self.rate_hz)
        return np.clip(t_ns - self.t0_ns, -farthest_ns, farthest_ns) * self.rate_hz


def common_window(stamps_ns: Iterable[Int64]) -> tuple[int, int]:
    """Latest start and earliest end [ns] over streams of non-decreasing stamps, each `(N,)` int64 with N >= 1."""
    ends = [(int(t_ns[0]), int(t_ns[-1])) for t_ns in stamps_ns]
    return max(first for first, _ in ends), min(last for _, last in ends)


def grid_over(t_lo_ns: int, t_hi_ns: int, rate_hz: int) -> Grid:
    """Every tick k >= 0 with `k / rate_hz < t_hi - t_lo`: the end is exclusive; an empty window has no tick."""
    span = max(0, t_hi_ns - t_lo_ns) * rate_hz
    return Grid(t_lo_ns, rate_hz, -(-span // NS_PER_S))
