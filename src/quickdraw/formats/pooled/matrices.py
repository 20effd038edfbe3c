"""A column of force matrices: its encoding, its scale, and its samples one after another (contract 7.2.1).

The scale cannot be told from the data, and without it values are 10, 100 or 1000 times too large at the right shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from quickdraw.errors import Fault, Refused
from quickdraw.formats.pooled.arrow_arrays import is_list, joined, joined_ragged
from quickdraw.formats.pooled.columns import MATRIX
from quickdraw.formats.pooled.data import DataFile
from quickdraw.formats.pooled.force_matrix import DIFFERENCES, RAW, Float32, decode
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


def samples(data: DataFile, column: str, *, scale: int) -> Iterator[MatrixSample]:
    """The matrices of a column in row order, a few in memory at a time; an empty or damaged one is no sample.

    Raises Refused where the column is missing, is none of matrices, or holds a null.
    """
    value_type(data, column)
    stamps = f"{column}_ns"
    has_stamps = stamps in data
    if has_stamps:
        data.require({stamps: pa.int64()})
    first = 0
    for batch in data.batches([column, stamps] if has_stamps else [column]):
        kind = batch.schema.field(column).type  # of the file as it is now
        encoding = encoding_of(None, column, kind.value_type)
        try:
            cells = joined_ragged([batch.column(column)], kind)
            ns = joined([batch.column(stamps)], pa.int64()) if has_stamps else np.zeros(len(batch), np.int64)
        except ValueError as error:
            raise data.refusal(column, str(error), "lists without nulls") from error
        for at in range(len(cells)):
            matrix = decode(cells[at], encoding=encoding, scale=scale)
            if matrix is not None:
                yield MatrixSample(first + at, int(ns[at]), matrix)
        first += len(batch)


def held(data: DataFile, column: str, *, scale: int) -> Iterator[Float32 | None]:
    """For each row the latest matrix up to it, read-only; None before the first. Raises Refused as `samples` does."""
    latest, row = None, 0
    for sample in samples(data, column, scale=scale):
        yield from (latest for _ in range(row, sample.row))
        latest, row = sample.mn, sample.row
        latest.setflags(write=False)
    yield from (latest for _ in range(row, data.rows))


def value_type(data: DataFile, column: str) -> Any:
    """The Arrow type of a matrix column's values. Raises Refused where there is no such column, or it is no list."""
    kind = data.types.get(column)
    if not MATRIX.fullmatch(column) or kind is None:
        known = [name for name in data.names if MATRIX.fullmatch(name)]
        raise _refusal(column, "no such column of matrices", f"one of {', '.join(known)}" if known else "none", data)
    if not is_list(kind):
        raise _refusal(column, f"type {kind}", "a list of int16 or float32", data)
    return kind.value_type


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
