"""A column of force matrices: its encoding, its scale, and its samples one after another (contract 7.2.1).

The scale cannot be told from the data, and without it values are 10, 100 or 1000 times too large at the right shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from quickdraw.core.grid import Int64
from quickdraw.errors import Fault, Refused
from quickdraw.formats.pooled.arrow_arrays import is_list, joined, joined_ragged
from quickdraw.formats.pooled.columns import MATRIX
from quickdraw.formats.pooled.data import DataFile
from quickdraw.formats.pooled.fillings import fillings
from quickdraw.formats.pooled.force_matrix import DIFFERENCES, RAW, VALUES, Float32, decode
from quickdraw.formats.pooled.info import Info, is_scale
from quickdraw.formats.pooled.rows import EpisodeRow

type ScaleSource = Literal["row", "info", "unscaled", "type"]

MOST_SCALE = 1 << 24  # beyond it float32 does not tell one scale from the next
_ENCODINGS = {pa.int16(): DIFFERENCES, pa.float32(): RAW}


class MatrixSample(NamedTuple):
    """One matrix: the `row` it is in, its own stamp (int64 ns, 0 for none), and `(250, 250, 3)` float32 `mn` [mN]."""

    row: int
    ns: int
    mn: Float32


def encoding_of(row: EpisodeRow | None, column: str, value_type: Any) -> str:
    """How a column's samples are stored, by the Arrow type of its values, which is what is in the file.

    Raises Refused for values neither int16 nor float32, and where the episode's own row says another encoding: summing
    up raw values, or not summing up differences, gives numbers that look like forces.
    """
    found = _ENCODINGS.get(value_type)
    if found is None:
        raise _refusal(column, f"values of type {value_type}", "int16 or float32")
    recorded = _entry(row.force_matrix_specs if row else {}, column).get("encoding", found)
    if recorded != found:
        raise _refusal(
            column, f"{value_type} values, recorded as {recorded!r}", f"{found!r}, as {value_type} is stored"
        )
    return found


def scale_of(info: Info | None, row: EpisodeRow | None, column: str, value_type: Any) -> tuple[int, ScaleSource]:
    """Steps a mN of a column, and who says so: the episode's `row`, else the task's `info`, else 1, `unscaled`.

    A recorded 1 is final. float32 is 1 by its `type`, whatever is recorded. What info.json says of values of another
    encoding is of another episode, for the latest one wins there, and does not count. Raises Refused as `encoding_of`
    does, and for a recorded scale that can be none.
    """
    encoding = encoding_of(row, column, value_type)
    own = _entry(row.force_matrix_specs if row else {}, column).get("scale")
    task = _entry(info.features if info else {}, column)
    if encoding == RAW:
        return 1, "type"
    if own:
        return _checked(column, own), "row"
    if task.get("scale") and task.get("encoding", encoding) == encoding:
        return _checked(column, task["scale"]), "info"
    return 1, "unscaled"


@dataclass(frozen=True, slots=True)
class Opened:
    """A column of matrices in one file, which stays open until it was read or is closed, whatever takes its place.

    `value_type` is the Arrow type of the column's values in that very file. It is read once, by `samples` or `held`.
    """

    data: DataFile
    column: str
    value_type: Any
    batches: Iterator[Any] = field(repr=False)

    @property
    def stamped(self) -> bool:
        """Whether there is a column of stamps beside it."""
        return f"{self.column}_ns" in self.data

    def samples(self, scale: int) -> Iterator[MatrixSample]:
        """The matrices in row order; an empty or damaged one is no sample. Raises Refused where the column is bad."""
        cells = enumerate(self.cells(scale))
        return (MatrixSample(row, ns, matrix) for row, (ns, matrix) in cells if matrix is not None)

    def held(self, scale: int) -> Iterator[Float32 | None]:
        """For each row the latest matrix up to it, read-only; None before the first. Raises Refused as `samples`."""
        latest = None
        for _, matrix in self.cells(scale):
            if matrix is not None:
                latest = matrix
                latest.setflags(write=False)
            yield latest

    def cells(self, scale: int) -> Iterator[tuple[int, Float32 | None]]:
        """Stamp [ns] and matrix of each row, 0 and None where it has none. Raises Refused as `samples`."""
        stamps = f"{self.column}_ns"
        for batch in self.batches:
            encoding = encoding_of(None, self.column, self.value_type)
            try:
                cells = joined_ragged([batch.column(self.column)], batch.schema.field(self.column).type)
                ns = joined([batch.column(stamps)], pa.int64()) if self.stamped else np.zeros(len(cells), np.int64)
            except ValueError as error:
                raise self.data.refusal(self.column, str(error), "lists without nulls") from error
            for at in range(len(cells)):
                yield int(ns[at]), decode(cells[at], encoding=encoding, scale=scale)


def opened(data: DataFile, column: str) -> Opened:
    """A column of matrices, its file open. Raises Refused where it is missing, none of matrices, or damaged."""
    kind = value_type(data, column)
    names = [column, *(name for name in (f"{column}_ns",) if name in data)]
    data.require({name: pa.int64() for name in names[1:]})
    batches = data.batches(names)
    first = next(batches, None)  # opens the file, which may be another by now
    if first is None:
        return Opened(data, column, kind, batches)
    return Opened(data, column, _value_type(data, column, first.schema.field(column).type), chain([first], batches))


def samples(data: DataFile, column: str, *, scale: int) -> Iterator[MatrixSample]:
    """The matrices of a column in row order, a few in memory at a time; an empty or damaged one is no sample.

    Raises Refused where the column is missing, is none of matrices, or holds a null.
    """
    yield from opened(data, column).samples(scale)


def whole_matrices(data: DataFile, column: str, stamps: Int64) -> npt.NDArray[np.bool_]:
    """Which rows hold a whole matrix and its stamp, `(T,)`; `stamps` `(T,)` int64 [ns] are the column's.

    No matrix is decoded: where the footer counts as many numbers as the stamps promise, they are believed, and else
    the lengths of the lists are read. Raises Refused where the column is damaged.
    """
    stamped = np.asarray(stamps > 0)
    filling = fillings(data, [column])[column]
    if filling.numbers == int(stamped.sum()) * VALUES and filling.bare == int((~stamped).sum()):
        return stamped
    pieces = [_lengths(data, column, batch.column(column)) for batch in data.batches([column])]
    lengths = np.concatenate(pieces) if pieces else np.zeros(0, np.int64)
    if len(lengths) != len(stamps):
        raise data.refusal(column, f"{len(lengths)} rows", f"{len(stamps)}, as there were a moment ago")
    return np.asarray(stamped & (lengths == VALUES))


def value_type(data: DataFile, column: str) -> Any:
    """The Arrow type of a matrix column's values. Raises Refused where there is no such column, or it is no list."""
    kind = data.types.get(column)
    if not MATRIX.fullmatch(column) or kind is None:
        known = [name for name in data.names if MATRIX.fullmatch(name)]
        raise _refusal(column, "no such column of matrices", f"one of {', '.join(known)}" if known else "none", data)
    return _value_type(data, column, kind)


def _value_type(data: DataFile, column: str, kind: Any) -> Any:
    if not is_list(kind):
        raise _refusal(column, f"type {kind}", "a list of int16 or float32", data)
    return kind.value_type


def _lengths(data: DataFile, column: str, cells: Any) -> Int64:
    if cells.null_count:
        raise data.refusal(column, f"{cells.null_count} nulls", "lists without nulls")
    if pa.types.is_fixed_size_list(cells.type):
        return np.full(len(cells), cells.type.list_size, np.int64)
    return np.asarray(np.diff(np.asarray(np.from_dlpack(cells.offsets)).astype(np.int64)))


def _entry(described: Mapping[str, Any], column: str) -> Mapping[str, Any]:
    entry = described.get(column)
    return entry if isinstance(entry, Mapping) else {}


def _checked(column: str, scale: Any) -> int:
    if not is_scale(scale) or scale > MOST_SCALE:
        raise _refusal(column, f"scale {scale!r}", f"a whole number from 1 to {MOST_SCALE}")
    return int(scale)


def _refusal(column: str, found: str, expected: str, data: DataFile | None = None) -> Refused:
    where, path = (data.path.name, str(data.path)) if data else (column, "")
    return Refused([Fault(where, column, found, expected, path=path)])
