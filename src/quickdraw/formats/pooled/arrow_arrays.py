"""Arrow's arrays as NumPy's: pieces of one column joined, and nulls refused, of which a data file holds none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from quickdraw.core.grid import Int64

type Column = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Ragged:
    """A column of lists: `values` `(n,)`, or `(n, D)` where each element is a list itself, of all rows in order.

    `offsets` is `(T + 1,)` int64: row k has `values[offsets[k] : offsets[k + 1]]`.
    """

    values: Column
    offsets: Int64

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> Column:
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    @property
    def lengths(self) -> Int64:
        """`(T,)`: how many values each row has."""
        return np.diff(self.offsets)

    @property
    def rows(self) -> Int64:
        """`(n,)`: the row each value is in."""
        return np.repeat(np.arange(len(self), dtype=np.int64), self.lengths)


def joined(pieces: Sequence[Any], kind: Any) -> Column:
    """Pieces of a column of Arrow type `kind` as one array `(T,)`, or `(T, D)` of lists of one length D; a copy.

    Raises ValueError for a null, and for lists of several lengths.
    """
    if is_list(kind):
        return _table(joined_ragged(pieces, kind), kind)
    found = [_scalars(piece) for piece in pieces]
    return np.concatenate(found) if found else _scalars(pa.array([], kind))


def joined_ragged(pieces: Sequence[Any], kind: Any) -> Ragged:
    """Pieces of a column of lists as one; a copy. Raises ValueError for a null, and where they are no lists."""
    if not is_list(kind):
        raise ValueError(f"type {kind}, no list")
    lengths = [_lengths(piece) for piece in pieces]
    offsets = np.concatenate([np.zeros(1, np.int64), *lengths]).cumsum()
    return Ragged(joined([piece.flatten() for piece in pieces], kind.value_type), offsets)


def is_list(kind: Any) -> bool:
    """Whether an Arrow type is one of lists, of whichever kind."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def alike(kind: Any) -> str:
    """An Arrow type as far as a reader cares: a list is one, whatever its offsets, length and element's name."""
    return f"list<{alike(kind.value_type)}>" if is_list(kind) else str(kind)


def _table(found: Ragged, kind: Any) -> Column:
    lengths = np.unique(found.lengths)
    if len(lengths) > 1:
        raise ValueError(f"lists of {lengths[0]} to {lengths[-1]} values")
    width = int(lengths[0]) if len(lengths) else kind.list_size if pa.types.is_fixed_size_list(kind) else 0
    return found.values.reshape(len(found), width, *found.values.shape[1:])


def _lengths(piece: Any) -> Int64:
    _refuse_nulls(piece)
    if pa.types.is_fixed_size_list(piece.type):
        return np.full(len(piece), piece.type.list_size, np.int64)
    return np.diff(np.asarray(np.from_dlpack(piece.offsets)).astype(np.int64))


def _scalars(piece: Any) -> Column:
    """`to_numpy`, which imports pandas, 45 MB in each process, is not used."""
    _refuse_nulls(piece)
    if pa.types.is_integer(piece.type) or pa.types.is_floating(piece.type):
        return np.asarray(np.from_dlpack(piece))
    if pa.types.is_boolean(piece.type):
        return np.array(piece.to_pylist(), np.bool_)
    found = np.empty(len(piece), object)
    found[:] = piece.to_pylist()
    return found


def _refuse_nulls(piece: Any) -> None:
    if piece.null_count:
        raise ValueError(f"{piece.null_count} nulls")
