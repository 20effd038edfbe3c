"""Nearest-in-time resampling onto a grid, and how far each row was displaced by it.

Nothing is interpolated and nothing is shifted. Ties go to the earlier sample, equal stamps to the earliest of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quickdraw.core.grid import NS_PER_S, Float64, Grid, Int64
from quickdraw.core.pickling import Brief

TOLERANCE_NS = 1_000  # a displacement counts as past its bound from here on: stamps are written to the microsecond
GAP_FACTOR = 3  # an interval this many times the median is a hiccup of its stream
DECILES = np.arange(11) / 10


@dataclass(frozen=True, slots=True)
class Displacement(Brief):
    """How far nearest-neighbour resampling moved the samples of one stream.

    `bound_s` is half the median interval, the floor of any nearest-neighbour resampling; `past_bound` the share of rows
    beyond it by more than 1 us; `gaps` the number of intervals longer than three times the median. `deciles_s` are how
    far 0, 10 .. 100 % of the rows were moved at most, 11 values, to the nanosecond.
    """

    max_s: float
    p99_s: float
    bound_s: float
    past_bound: float
    gaps: int
    deciles_s: tuple[float, ...]


def nearest(t_ns: Int64, grid: Grid) -> Int64:
    """Index of the sample nearest to each tick.

    `t_ns` `(N,)` int64 [ns], non-decreasing, N >= 1 -> `(grid.n,)` int64, non-decreasing. The later neighbour is taken
    only where it is strictly nearer.
    """
    t = grid.scaled(t_ns)
    ticks = grid.ticks()
    later = np.clip(np.searchsorted(t, ticks, side="left"), 0, len(t) - 1)
    earlier = np.searchsorted(t, t[np.maximum(later - 1, 0)], side="left")
    later_is_nearer = np.abs(t[later] - ticks) < np.abs(ticks - t[earlier])
    return np.where(later_is_nearer, later, earlier).astype(np.int64)


def displacement(t_ns: Int64, index: Int64, grid: Grid) -> Displacement:
    """Displacement of the rows `index` `(grid.n,)` chosen from stamps `t_ns` `(N,)` int64 [ns], N >= 2, grid.n >= 1."""
    moved = np.abs(grid.scaled(t_ns)[index] - grid.ticks()) / grid.rate_hz  # [ns]
    interval_ns = np.diff(t_ns)
    median_ns = float(np.median(interval_ns))
    bound_ns = median_ns / 2
    return Displacement(
        max_s=float(moved.max()) / NS_PER_S,
        p99_s=float(np.quantile(moved, 0.99)) / NS_PER_S,
        bound_s=bound_ns / NS_PER_S,
        past_bound=float(np.mean(moved > bound_ns + TOLERANCE_NS)),
        gaps=int(np.count_nonzero(interval_ns > GAP_FACTOR * median_ns)),
        deciles_s=deciles_s(moved),
    )


def deciles_s(moved_ns: Int64 | Float64) -> tuple[float, ...]:
    """How far 0, 10 .. 100 % of the rows were moved at most [s], to the nanosecond; `moved_ns` `(n,)`, n >= 1."""
    return tuple(round(float(moved) / NS_PER_S, 9) for moved in np.quantile(moved_ns, DECILES))
