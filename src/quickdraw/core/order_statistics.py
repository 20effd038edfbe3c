"""Exact quantiles of more numbers than fit in memory: those at wanted ranks are found by counting, never by sorting.

Floating-point numbers stand in the order of their bits, once those of negative ones are turned over. So a pass over
all numbers that counts how many begin with which 16 bits tells with which ones the number at a rank begins, and another
pass, over those that begin so, tells the next 16: two passes for float32, four for float64 (a radix selection).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from quickdraw.core.grid import Float64, Int64

DIGIT_BITS = 16
DIGITS = 1 << DIGIT_BITS
ONE = np.uint32(1)  # of the counts' own type: with any other `np.add.at` is 40 times as slow

type Keys = npt.NDArray[np.uint32] | npt.NDArray[np.uint64]


def ranks_around(quantiles: Sequence[float], count: int) -> tuple[Int64, Int64, Float64]:
    """For each of Q quantiles of `count` sorted numbers: the ranks below and above, and how near it is to the latter.

    As numpy's linear method, to the bit; `(Q,)` each.
    """
    position = (count - 1) * np.asarray(quantiles, np.float64)
    below = np.floor(position).astype(np.int64)
    return below, np.minimum(below + 1, count - 1), position - below


def between(below: Float64, above: Float64, weight: Float64) -> Float64:
    """The numbers at `weight` of the way from one to the other, rounded as numpy rounds them."""
    step = above - below
    return np.where(weight < 0.5, below + step * weight, above - step * (1 - weight))


class RankSearch:
    """The numbers at some ranks of each of `columns` columns of float32 or float64, none of them NaN.

    Every pass shows it all rows through `count` and ends with `settle`, which says whether another one is needed.
    -0.0 stands before 0.0. It holds at most 256 kB a column and rank, of fewer than 2**32 rows.
    """

    def __init__(self, columns: int, dtype: npt.DTypeLike) -> None:
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self.bits = 8 * self.dtype.itemsize
        self.shift = self.bits - DIGIT_BITS
        self.prefixes: list[list[int]] = [[0]] * columns  # of each column: how the numbers begin that are counted
        self.found = np.zeros((columns, 0), np.uint64)  # of each column and rank: how its number begins
        self.left: Int64 = np.zeros((columns, 0), np.int64)  # ... and its rank among those that begin so
        self._begin()

    def _begin(self) -> None:
        self.counts = [np.zeros((len(prefixes), DIGITS), np.uint32) for prefixes in self.prefixes]

    def count(self, rows: npt.NDArray[np.floating]) -> None:
        """`(T, columns)` more rows, in the dtype of the search."""
        for column, prefixes, counts in zip(rows.T, self.prefixes, self.counts, strict=True):
            keys = keys_of(column)
            digits = (keys >> keys.dtype.type(self.shift)) & keys.dtype.type(DIGITS - 1)
            if self.shift == self.bits - DIGIT_BITS:
                np.add.at(counts[0], digits, ONE)
                continue
            begins = keys >> keys.dtype.type(self.shift + DIGIT_BITS)
            for number, prefix in enumerate(prefixes):
                np.add.at(counts[number], digits[begins == prefix], ONE)

    def settle(self, ranks: Int64) -> bool:
        """End a pass; whether there must be another. `ranks` `(R,)`, from 0, are the same each time."""
        if not self.found.size:
            self.found = np.zeros((len(self.prefixes), len(ranks)), np.uint64)
            self.left = np.tile(ranks, (len(self.prefixes), 1))
        for column, (prefixes, counts) in enumerate(zip(self.prefixes, self.counts, strict=True)):
            upto = np.cumsum(counts, axis=1, dtype=np.int64)
            for place, (begin, left) in enumerate(zip(self.found[column], self.left[column], strict=True)):
                held = upto[prefixes.index(int(begin))]
                digit = int(np.searchsorted(held, left, side="right"))
                self.found[column, place] = int(begin) << DIGIT_BITS | digit
                self.left[column, place] -= held[digit - 1] if digit else 0
        self.prefixes = [sorted(set(found.tolist())) for found in self.found]
        self.shift -= DIGIT_BITS
        if self.shift >= 0:
            self._begin()
        return self.shift >= 0

    def values(self) -> Float64:
        """`(R, columns)` float64, once no pass is needed any more."""
        return numbers_of(self.found, self.dtype).astype(np.float64).T


def keys_of(numbers: npt.NDArray[np.floating]) -> Keys:
    """`(T,)` float32 or float64 as unsigned integers of the same order."""
    signed = np.ascontiguousarray(numbers).view(f"i{numbers.dtype.itemsize}")
    keys: Keys = _turned(signed).view(f"u{numbers.dtype.itemsize}")
    return keys ^ keys.dtype.type(1 << (8 * keys.itemsize - 1))


def numbers_of(keys: npt.NDArray[np.uint64], dtype: np.dtype[Any]) -> npt.NDArray[np.floating]:
    """What `keys_of` made keys of."""
    flipped = keys.astype(f"u{dtype.itemsize}") ^ np.dtype(f"u{dtype.itemsize}").type(1 << (8 * dtype.itemsize - 1))
    return _turned(flipped.view(f"i{dtype.itemsize}")).view(dtype)


def _turned(signed: npt.NDArray[np.signedinteger]) -> npt.NDArray[np.signedinteger]:
    """The bits of negative numbers turned over, all but the sign; done twice, as they were."""
    kind = np.iinfo(signed.dtype)
    return signed ^ ((signed >> signed.dtype.type(kind.bits - 1)) & signed.dtype.type(kind.max))
