"""Statistics of features: true quantiles, population standard deviation, float64 throughout.

Vectors are measured from their rows, pictures from exact histograms per channel: of colour 256 levels in [0, 1], of
depth the [mm] its codes stand for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import cv2
import numpy as np
import numpy.typing as npt

from quickdraw.core.grid import Float64, Int64
from quickdraw.core.order_statistics import between, ranks_around

RGB_LEVELS: Float64 = np.arange(256) / 255
QUANTILES = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}
LEVELS = 256


@dataclass(frozen=True, slots=True)
class Statistics:
    """Per-dimension statistics, each `(D,)` float64; `count` is the number of rows, or of sampled pictures."""

    min: Float64
    max: Float64
    mean: Float64
    std: Float64
    count: int
    q01: Float64
    q10: Float64
    q50: Float64
    q90: Float64
    q99: Float64

    def items(self) -> dict[str, Float64 | int]:
        """Name -> value, in LeRobot's order."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def of_rows(rows: npt.ArrayLike) -> Statistics:
    """Statistics of `(T, D)` or `(T,)` numbers, T >= 1: two-pass in float64, quantiles by linear interpolation."""
    x = np.asarray(rows, np.float64)
    x = x.reshape(len(x), -1)
    quantiles = np.quantile(x, list(QUANTILES.values()), axis=0)
    low, high = x.min(axis=0), x.max(axis=0)
    # A constant column's mean is that constant, whatever the rounding of its sum.
    mean = np.where(low == high, low, x.mean(axis=0))
    return Statistics(low, high, mean, np.sqrt(np.mean((x - mean) ** 2, axis=0)), len(x), *quantiles)


def of_counts(values: npt.ArrayLike, counts: Int64) -> Statistics:
    """Statistics of scalars, each of the rising `values` `(K,)` `counts` `(K,)` times, once at least in all."""
    x, times = np.asarray(values, np.float64), np.asarray(counts, np.int64)
    upto = np.cumsum(times)
    total = int(upto[-1])
    below, above, weight = ranks_around(tuple(QUANTILES.values()), total)
    a, b = (x[np.searchsorted(upto, ranks, side="right")] for ranks in (below, above))
    present = x[times > 0]
    low, high = present[:1], present[-1:]
    mean = np.where(low == high, low, (x * times).sum(keepdims=True) / total)
    std = np.sqrt((times * (x - mean) ** 2).sum(keepdims=True) / total)
    return Statistics(low, high, mean, std, total, *between(a, b, weight)[:, None])


def of_range(count: int) -> Statistics:
    """Statistics of 0, 1, ... up to before `count`, which is at least 1."""
    below, above, weight = ranks_around(tuple(QUANTILES.values()), count)
    quantiles = between(below.astype(np.float64), above.astype(np.float64), weight)
    zero, last = np.zeros(1), np.full(1, count - 1.0)
    std = np.full(1, math.sqrt((count * count - 1) / 12))
    return Statistics(zero, last, last / 2, std, count, *quantiles[:, None])


def histogram(rgb: npt.NDArray[np.uint8]) -> Int64:
    """Exact counts per channel and level of one picture `(H, W, 3)` uint8 -> `(3, 256)` int64."""
    counts = [cv2.calcHist([rgb], [channel], None, [LEVELS], [0, LEVELS])[:, 0] for channel in range(rgb.shape[2])]
    return np.stack(counts).astype(np.int64)


def of_histogram(counts: Int64, pictures: int, level: Float64 = RGB_LEVELS) -> Statistics:
    """Statistics of all pixels counted in `(C, N)` int64, taken from `pictures` pictures.

    `level` `(N,)`, rising, is what each counted level is worth: colour, of 256 levels, is in [0, 1].
    """
    total = counts.sum(axis=1)
    mean = (counts * level).sum(axis=1) / total
    variance = (counts * (level - mean[:, None]) ** 2).sum(axis=1) / total
    present = counts > 0
    low, high = level[present.argmax(axis=1)], level[len(level) - 1 - present[:, ::-1].argmax(axis=1)]
    quantiles = [_quantile(counts, q, level) for q in QUANTILES.values()]
    return Statistics(low, high, mean, np.sqrt(variance), pictures, *quantiles)


def _quantile(counts: Int64, q: float, level: Float64) -> Float64:
    """Value at quantile q per channel of `(C, N)` counts, as numpy's linear method gives it on the sorted pixels."""
    result = []
    for channel in counts:
        cumulative = np.cumsum(channel)
        position = (int(cumulative[-1]) - 1) * q
        below, above = (level[np.searchsorted(cumulative, rank, side="right")] for rank in _ranks(position))
        result.append(below + (above - below) * (position - np.floor(position)))
    return np.array(result, np.float64)


def _ranks(position: float) -> tuple[int, int]:
    """The two ranks (from 0) around a fractional position in sorted order."""
    return int(np.floor(position)), int(np.ceil(position))


def sampled_frames(length: int) -> Int64:
    """The frames lerobot 0.6 takes picture statistics over, of an episode of `length` frames (`compute_stats.py`).

    About `length ** 0.75` of them, at least 100 and at most 10,000, evenly spread; every frame of a shorter episode.
    """
    wanted = max(min(100, length), min(int(length**0.75), 10_000))
    return np.round(np.linspace(0, length - 1, wanted)).astype(np.int64)


def sampled_stride(height_px: int, width_px: int) -> int:
    """Every how many-th pixel lerobot 0.6 takes of a picture, both ways (`compute_stats.py`): all below 300 px."""
    if max(height_px, width_px) < 300:
        return 1
    return int(width_px / 150) if width_px > height_px else int(height_px / 150)
