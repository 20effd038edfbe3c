"""Statistics of more rows than fit in memory: the same as of all of them at once, from a few passes over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import numpy.typing as npt

from quickdraw.core.grid import Float64
from quickdraw.core.order_statistics import RankSearch, between, ranks_around
from quickdraw.core.statistics import QUANTILES, Statistics

type Numbers = npt.NDArray[np.number | np.bool_]
type Floats = npt.NDArray[np.floating]


def of_passes(read: Callable[[], Iterable[Numbers]], dtype: npt.DTypeLike = np.float32) -> Statistics:
    """What `of_rows` says of the rows that `read()` gives piece by piece, `(T, D)` or `(T,)`, T >= 1 in all.

    `read` is called twice, for float64 four times, and must give the same each time; one piece is in memory at a time.
    `dtype`, one of the two, must hold every number exactly. All is as `of_rows` has it to the bit, but for the sign of
    a zero, and for mean and std of scalars, which numpy sums in another order. Raises ValueError where there is no row.
    """
    moments, search = _Moments(), None
    for rows in _pieces(read, dtype):
        search = search or RankSearch(rows.shape[1], dtype)
        search.count(rows)
        moments.add(rows)
    if search is None:
        raise ValueError("no rows")
    moments.end_first_pass()
    below, above, weight = ranks_around(tuple(QUANTILES.values()), moments.count)
    passes = 1
    while search.settle(np.concatenate([below, above])):
        passes += 1
        for rows in _pieces(read, dtype):
            search.count(rows)
            if passes == 2:
                moments.add_squares(rows)
    numbers = search.values()
    quantiles = between(numbers[: len(below)], numbers[len(below) :], weight[:, None])
    return moments.result(np.where(np.isnan(moments.low), np.nan, quantiles))


def _pieces(read: Callable[[], Iterable[Numbers]], dtype: npt.DTypeLike) -> Iterator[Floats]:
    """`read()` as `(T, D)` of a dtype, but for pieces without a row."""
    for rows in read():
        if len(rows):
            yield np.asarray(rows, dtype).reshape(len(rows), -1)


class _Moments:
    """Extremes, mean and standard deviation of `(T, D)` rows in two passes."""

    def __init__(self) -> None:
        self.count = 0
        self.low: Float64 = np.full(1, np.inf)
        self.high: Float64 = np.full(1, -np.inf)
        self.total: Float64 = np.zeros(1)
        self.mean: Float64 = np.zeros(1)
        self.squares: Float64 = np.zeros(1)

    def add(self, rows: Floats) -> None:
        """First pass."""
        x = rows.astype(np.float64)
        self.low, self.high = np.minimum(self.low, x.min(axis=0)), np.maximum(self.high, x.max(axis=0))
        self.total = _added(self.total, x)
        self.count += len(rows)

    def end_first_pass(self) -> None:
        """Now the mean is known."""
        # A constant column's mean is that constant, whatever the rounding of its sum.
        self.mean = np.where(self.low == self.high, self.low, self.total / self.count)

    def add_squares(self, rows: Floats) -> None:
        """Second pass."""
        self.squares = _added(self.squares, (rows.astype(np.float64) - self.mean) ** 2)

    def result(self, quantiles: Float64) -> Statistics:
        """With the quantiles, `(5, D)`."""
        std = np.sqrt(self.squares / self.count)
        return Statistics(self.low, self.high, self.mean, std, self.count, *quantiles)


def _added(total: Float64, x: Float64) -> Float64:
    """A running sum and `(T, D)` more rows: of several columns numpy adds row after row, whatever is a piece."""
    begun = np.broadcast_to(total, (1, x.shape[1]))
    added: Float64 = np.concatenate([begun, x]).sum(axis=0)
    return added
