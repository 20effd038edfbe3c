"""Statistics of more rows than fit in memory: the same as of all of them at once, from a few passes over them.

Rows may be wide, too, such as the 187,500 numbers of a force matrix: some columns are looked at at a time, all rows of
them in memory where these are few, else by their ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from quickdraw.core.grid import Float64
from quickdraw.core.order_statistics import RankSearch, between, ranks_around
from quickdraw.core.statistics import QUANTILES, Statistics, of_rows

type Numbers = npt.NDArray[np.number | np.bool_]
type Floats = npt.NDArray[np.floating]


MOST_BYTES = 16 << 20  # of rows in memory at a time
SORTED_BYTES = 2 << 20  # of them at a time, for sorting takes float64 copies
MOST_COLUMNS = 32  # searched at a time: each takes up to 2.6 MB
SHARED_BYTES = 256 << 20  # of rows, from where on tasks share them: of fewer, one takes seconds
MOST_SHARES = 16  # of columns, each of which takes as long to read as all of them
LEAST_COLUMNS = 8  # of a share: of fewer, reading takes longer than the rest


@dataclass(frozen=True, slots=True)
class Size:
    """Of rows that are measured: how many there are, and columns."""

    rows: int
    columns: int

    def shares(self) -> Sequence[slice | None]:
        """Columns that are worth a task each; None for all of them, where the rows are few."""
        if self.columns == 1 or self.rows * self.columns * np.dtype(np.float32).itemsize <= SHARED_BYTES:
            return [None]
        return _blocks(self.columns, max(LEAST_COLUMNS, -(-self.columns // MOST_SHARES)))


def of_passes(
    read: Callable[[], Iterable[Numbers]],
    dtype: npt.DTypeLike = np.float32,
    size: Size | None = None,
    share: slice | None = None,
) -> Statistics:
    """What `of_rows` says of the rows that `read()` gives piece by piece, `(T, D)` or `(T,)`, T >= 1 in all.

    Where the `size` is known, rows are not counted first. `read` may then give the columns of one `share` of its
    `shares` alone: what `beside` makes of all of them is the same to the bit.

    `read` is called as often as it takes, and must give the same each time; 16 MB of rows, or a piece, are in memory at
    a time. `dtype`, float32 or float64, must hold every number exactly. All is as `of_rows` has it to the bit, but for
    the sign of a zero, and for mean and std of scalars, which numpy sums in another order. Raises ValueError where
    there is no row, or another number of them than was told.
    """
    size = size or _size(read, dtype)
    if not size.rows:
        raise ValueError("no rows")
    columns = share.stop - share.start if share else size.columns
    fit = MOST_BYTES // (size.rows * np.dtype(dtype).itemsize)
    if fit >= min(size.columns, MOST_COLUMNS):
        return beside([_sorted(_gathered(read, dtype, some, size.rows)) for some in _blocks(columns, fit)])
    return beside([_of_ranks(read, dtype, some, size.rows) for some in _blocks(columns, MOST_COLUMNS)])


def _size(read: Callable[[], Iterable[Numbers]], dtype: npt.DTypeLike) -> Size:
    rows, columns = 0, 0
    for piece in _pieces(read, dtype):
        rows, columns = rows + len(piece), piece.shape[1]
    return Size(rows, columns)


def _blocks(columns: int, most: int) -> list[slice]:
    """All columns, so many at a time, or one more: a column by itself would be summed in another order."""
    ends = [*range(most, columns - 1, most), columns]
    return [slice(begin, end) for begin, end in zip([0, *ends], ends, strict=False)]


def _gathered(read: Callable[[], Iterable[Numbers]], dtype: npt.DTypeLike, some: slice, rows: int) -> Floats:
    """All rows of some columns."""
    found: Floats = np.empty((rows, some.stop - some.start), dtype)
    begun = 0
    for piece in _pieces(read, dtype):
        found[begun : begun + len(piece)] = piece[:, some]
        begun += len(piece)
    _refuse_others(begun, rows)
    return found


def _refuse_others(there: int, told: int) -> None:
    if there != told:
        raise ValueError(f"{there} rows, where {told} were told")


def _sorted(found: Floats) -> Statistics:
    """Statistics of `(T, D)` rows, a few columns at a time."""
    few = max(2, SORTED_BYTES // (len(found) * found.itemsize))
    return beside([of_rows(found[:, some]) for some in _blocks(found.shape[1], few)])


def beside(parts: Sequence[Statistics]) -> Statistics:
    """Statistics of columns, of which each part has some."""
    named = {field.name: [getattr(part, field.name) for part in parts] for field in fields(Statistics)}
    counts = named.pop("count")
    return Statistics(**{name: np.concatenate(arrays) for name, arrays in named.items()}, count=counts[0])


def _of_ranks(read: Callable[[], Iterable[Numbers]], dtype: npt.DTypeLike, some: slice, rows_told: int) -> Statistics:
    """Statistics of some columns by the ranks of their numbers: two passes, for float64 four."""
    moments, search = _Moments(), RankSearch(some.stop - some.start, dtype)
    for rows in _pieces(read, dtype):
        search.count(rows[:, some])
        moments.add(rows[:, some])
    _refuse_others(moments.count, rows_told)
    moments.end_first_pass()
    below, above, weight = ranks_around(tuple(QUANTILES.values()), moments.count)
    passes = 1
    while search.settle(np.concatenate([below, above])):
        passes += 1
        for rows in _pieces(read, dtype):
            search.count(rows[:, some])
            if passes == 2:
                moments.add_squares(rows[:, some])
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
