"""How the values of a split's features spread: two passes over its rows, a block in memory at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from quickdraw.core.grid import Float64, Int64
from quickdraw.formats.lerobot.reader import SplitReader

FINE_BINS = 2048


@dataclass(frozen=True, slots=True)
class Extent:
    """What the first pass finds of a feature of D dimensions: all `(D,)`; `low` is inf where nothing is finite.

    `finite` counts the finite values, of `rows` rows.
    """

    rows: int
    finite: Int64
    low: Float64
    high: Float64
    total: Float64

    @property
    def constant(self) -> npt.NDArray[np.bool_]:
        """`(D,)`: whether every row has the same finite value."""
        return np.asarray((self.low == self.high) & (self.finite == self.rows))

    @property
    def mean(self) -> Float64:
        """Means of the finite values, NaN where there are none. Of a constant it is that constant."""
        with np.errstate(invalid="ignore"):
            return np.where(self.low == self.high, self.low, self.total / np.where(self.finite, self.finite, np.nan))


@dataclass(frozen=True, slots=True)
class Spread:
    """What the second adds: population standard deviation `(D,)`, how many values are in each of `(D, FINE_BINS)` bins.

    `outside` `(D,)` counts those beyond the range of another split.
    """

    extent: Extent
    std: Float64
    counts: Int64
    outside: Int64


def extents(split: SplitReader, features: Sequence[str]) -> dict[str, Extent]:
    """The first pass, of features of numbers `(T, D)` or `(T,)`, by name."""
    found: dict[str, Extent] = {}
    for block in split.blocks(features):
        for name in features:
            part = _extent(_columns(block[name]))
            found[name] = part if name not in found else _joined(found[name], part)
    return found


def spreads(
    split: SplitReader,
    extents_of: Mapping[str, Extent],
    ranges: Mapping[str, tuple[Float64, Float64]],
    reference: Mapping[str, Extent],
) -> dict[str, Spread]:
    """The second pass: bins over `ranges`, least and most of each dimension; beyond is beyond `reference`'s range."""
    names = list(extents_of)
    squares = {name: np.zeros(len(extents_of[name].low)) for name in names}
    counts = {name: np.zeros((len(extents_of[name].low), FINE_BINS), np.int64) for name in names}
    outside = {name: np.zeros(len(extents_of[name].low), np.int64) for name in names}
    for block in split.blocks(names):
        for name in names:
            values, beside = _columns(block[name]), reference.get(name, extents_of[name])
            deviation = values - extents_of[name].mean
            squares[name] += np.where(np.isfinite(deviation), deviation, 0.0).__pow__(2).sum(axis=0)
            outside[name] += (np.isfinite(values) & ((values < beside.low) | (values > beside.high))).sum(axis=0)
            counts[name] += _binned(values, *ranges[name])
    return {
        name: Spread(
            extents_of[name],
            np.sqrt(squares[name] / np.maximum(extents_of[name].finite, 1)),
            counts[name],
            outside[name],
        )
        for name in names
    }


def _columns(values: npt.NDArray[Any]) -> Float64:
    return np.asarray(values.reshape(len(values), -1), np.float64)


def _extent(values: Float64) -> Extent:
    sound = np.isfinite(values)
    return Extent(
        len(values),
        sound.sum(axis=0),
        values.min(axis=0, where=sound, initial=np.inf),
        values.max(axis=0, where=sound, initial=-np.inf),
        values.sum(axis=0, where=sound),
    )


def _joined(a: Extent, b: Extent) -> Extent:
    return Extent(
        a.rows + b.rows, a.finite + b.finite, np.minimum(a.low, b.low), np.maximum(a.high, b.high), a.total + b.total
    )


def _binned(values: Float64, low: Float64, high: Float64) -> Int64:
    """`(D, FINE_BINS)` counts of the finite values; all of a dimension without range are in its first bin."""
    span = np.where(np.isfinite(high - low) & (high > low), high - low, 1.0)
    dims = values.shape[1]
    with np.errstate(invalid="ignore"):
        place = (values - np.where(np.isfinite(low), low, 0.0)) * (FINE_BINS / span)
    sound = np.isfinite(place)
    at = np.clip(np.where(sound, place, 0).astype(np.int64), 0, FINE_BINS - 1) + np.arange(dims) * FINE_BINS
    return np.bincount(at[sound], minlength=dims * FINE_BINS).reshape(dims, FINE_BINS)
