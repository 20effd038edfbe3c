"""Rows of a recording as an Arrow table: every column in its type, a fill where a row has no sample, never null.

Built from buffers. Boxing a matrix value by value holds the interpreter for half a second and breaks streams.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from quickdraw.formats.pooled import columns
from quickdraw.formats.pooled.recording.samples import Cell

type Types = Mapping[str, Any]  # column -> Arrow type


@dataclass(frozen=True, slots=True)
class Row:
    """One frame: its number from 0, seconds since the first, Unix seconds, the frame's own stamp, and its samples."""

    frame_index: int
    timestamp_s: float
    wall_time_s: float
    hardware_ns: int
    cells: Mapping[str, Cell] = field(repr=False)

    @property
    def size_bytes(self) -> int:
        """How much memory its samples take."""
        return sum(cell.nbytes for cell in self.cells.values() if isinstance(cell, np.ndarray))


def type_of(name: str, cell: Cell) -> Any:
    """The type of the column a sample opens: a matrix's own decides between int16 and float32."""
    return columns.arrow_type(name, matrix_dtype=str(cell.dtype) if isinstance(cell, np.ndarray) else "int16")


def schema(types: Types) -> Any:
    """Columns in the contract's order; none can be null."""
    return pa.schema([pa.field(name, types[name]) for name in sorted(types, key=columns.order)])


def table(number: int, rows: Sequence[Row], types: Types) -> Any:
    """Rows of episode N as a table of the columns `types`."""
    keys = {
        "episode_index": np.full(len(rows), number),
        "frame_index": np.array([row.frame_index for row in rows], np.int64),
        "timestamp": np.array([row.timestamp_s for row in rows], np.float32),
        "task_index": np.zeros(len(rows), np.int64),
        "wall_time": np.array([row.wall_time_s for row in rows], np.float64),
        "hardware_ns": np.array([row.hardware_ns for row in rows], np.int64),
    }
    wanted = schema(types)
    arrays = [
        pa.array(keys[name], types[name]) if name in keys else _column(name, types[name], rows) for name in wanted.names
    ]
    return pa.Table.from_arrays(arrays, schema=wanted)


def widened(piece: Any, types: Types) -> Any:
    """A table with the columns it lacks, filled as a recording fills them."""
    wanted = schema(types)
    arrays = [
        piece[name].cast(kind) if name in piece.column_names else _filled(name, kind, piece)
        for name, kind in zip(wanted.names, wanted.types, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=wanted)


def _filled(name: str, kind: Any, piece: Any) -> Any:
    path = name.removesuffix("_ns")
    if columns.TRAJECTORY.fullmatch(path) and path != name and path in piece.column_names:
        lengths = piece[path].combine_chunks().value_lengths().to_numpy()  # a stamp a point, if only 0
        return _lists([np.zeros(int(each) // columns.POINT_VALUES, np.int64) for each in lengths], kind)
    return _column(name, kind, [Row(0, 0.0, 0.0, 0, {})] * piece.num_rows)


def _column(name: str, kind: Any, rows: Sequence[Row]) -> Any:
    cells = [row.cells.get(name) for row in rows]
    if pa.types.is_fixed_size_list(kind):
        dense = np.zeros((len(rows), kind.list_size), np.float32)
        for row, cell in enumerate(cells):
            if cell is not None:
                dense[row] = cell
        return pa.FixedSizeListArray.from_arrays(pa.array(dense.reshape(-1)), type=kind)
    if not pa.types.is_list(kind):
        empty = columns.fill(name, kind)
        return pa.array([empty if cell is None else cell for cell in cells], kind)
    return _lists([_list_cell(name, kind, row) for row in rows], kind)


def _list_cell(name: str, kind: Any, row: Row) -> npt.NDArray[Any]:
    cell = row.cells.get(name)
    if isinstance(cell, np.ndarray):
        return cell
    path = row.cells.get(name.removesuffix("_ns"))
    if columns.TRAJECTORY.fullmatch(name.removesuffix("_ns")) and isinstance(path, np.ndarray):
        return np.zeros(len(path) // columns.POINT_VALUES, np.int64)
    shape = (0, columns.IMU_AXES) if name == columns.IMU else (0,)
    return np.empty(shape, np.float32 if name == columns.IMU else kind.value_type.to_pandas_dtype())


def _lists(cells: Sequence[npt.NDArray[Any]], kind: Any) -> Any:
    """Lists, or lists of fixed lists, one a row; the values are copied together once."""
    offsets = np.zeros(len(cells) + 1, np.int32)
    np.cumsum([len(cell) for cell in cells], out=offsets[1:])
    flat = pa.array(np.concatenate(cells).reshape(-1))
    inner = kind.value_type
    values = pa.FixedSizeListArray.from_arrays(flat, type=inner) if pa.types.is_fixed_size_list(inner) else flat
    return pa.ListArray.from_arrays(pa.array(offsets), values, type=kind)
