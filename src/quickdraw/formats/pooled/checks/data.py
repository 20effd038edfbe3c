"""Rules of a data file that its footer and key columns can tell (contract 7); its cells are in `cells`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from quickdraw.core.grid import Int64
from quickdraw.formats.pooled.checks.columns import check_columns, known_types
from quickdraw.formats.pooled.checks.findings import Checking, listed
from quickdraw.formats.pooled.checks.rows import CheckedRow
from quickdraw.formats.pooled.columns import KEYS
from quickdraw.formats.pooled.parquet_files import UNREADABLE, check_chunks, opened, why

_READ: Final = ("episode_index", "frame_index", "timestamp", "task_index", "wall_time", "hardware_ns")


@dataclass(frozen=True, slots=True)
class Data:
    """What is known of a data file that can be read.

    `types` are the Arrow types of the columns the contract knows, `keys` its sound key columns, `(T,)` each, `nulls`
    columns known to hold one.
    """

    number: int
    path: Path
    rows: int
    types: Mapping[str, Any]
    keys: Mapping[str, npt.NDArray[Any]]
    nulls: frozenset[str]

    @property
    def frame_index(self) -> Int64 | None:
        """`(T,)`, None where the column is missing or bad."""
        return self.keys.get("frame_index")


def read_data(checking: Checking, number: int, path: Path) -> Data | None:
    """Open a data file and check it as a table. None where it cannot be read, which is told."""
    try:
        with opened(path) as file:
            schema, footer = file.schema_arrow, file.metadata
            types = known_types(checking, schema)
            rows: int = footer.num_rows
            if not rows:
                checking.add("data-empty", path, "no row", number)
                return None
            check_chunks(file, range(footer.num_columns))
            compression = footer.row_group(0).column(0).compression
            sound = [name for name in _READ if types.get(name) == KEYS[name] and schema.names.count(name) == 1]
            table = file.read(columns=sound, use_threads=False)
            nulls = _nulls(footer, schema.names, table, types)
    except UNREADABLE as error:
        checking.add("data-unreadable", path, f"unreadable ({why(error)})", number)
        return None
    check_columns(checking, number, path, schema)
    if nulls:
        checking.add("data-null", path, f"null in {listed(nulls)}", number)
    if compression != "ZSTD":
        checking.add("data-compression", path, compression, number)
    keys = {name: _array(table, name) for name in sound if name not in nulls}
    return Data(number, path, rows, types, keys, frozenset(nulls))


def _nulls(footer: Any, names: Sequence[str], keys: Any, types: Mapping[str, Any]) -> list[str]:
    """Columns with a null: of keys by their cells, of others by the footer, which counts empty lists among them."""
    found = [name for name in keys.schema.names if keys.column(name).null_count]
    if footer.num_columns != len(names):
        return found
    for at, name in enumerate(names):
        if name in types and name not in keys.schema.names and not pa.types.is_list(types[name]):
            for group in range(footer.num_row_groups):
                statistics = footer.row_group(group).column(at).statistics
                if statistics is not None and statistics.null_count:
                    found.append(name)
                    break
    return found


def _array(table: Any, name: str) -> npt.NDArray[Any]:
    pieces = [np.asarray(np.from_dlpack(chunk)) for chunk in table.column(name).chunks]
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def check_keys(checking: Checking, data: Data, row: CheckedRow | None) -> None:
    """Rules of numbers and frames, within the file and against the episode's row."""
    number, path = data.number, data.path
    _check_values(checking, data, "episode_index", rule="data-number", allowed=frozenset([number]))
    if checking.task_indices:
        _check_values(checking, data, "task_index", rule="data-task", allowed=checking.task_indices)
    for name in ("timestamp", "wall_time"):
        values = data.keys.get(name)
        if values is not None and not np.isfinite(values).all():
            rows = np.flatnonzero(~np.isfinite(values))
            checking.add("time-value", path, f"{name} is not finite in row {listed(rows)}", number)
    if data.frame_index is not None:
        _check_frames(checking, data, data.frame_index)
        if row is not None:
            _check_row(checking, data.rows, data.frame_index, row)


def _check_values(checking: Checking, data: Data, name: str, *, rule: str, allowed: frozenset[int]) -> None:
    values = data.keys.get(name)
    if values is None or (values == min(allowed)).all():
        return
    wrong = sorted({*np.unique(values).tolist()} - allowed)
    if wrong:
        checking.add(rule, data.path, f"{name} {listed(wrong)}, not {listed(sorted(allowed))}", data.number)


def _check_frames(checking: Checking, data: Data, frames: Int64) -> None:
    steps = np.diff(frames)
    if (steps == 1).all() and frames[0] == 0:
        return  # as nearly every file is
    there = np.unique(frames)
    if there[0] != 0:
        checking.add("frame-index", data.path, f"frames begin at {there[0]}", data.number)
    holes = np.flatnonzero(np.diff(there) != 1)
    if len(holes):
        found = listed(f"{there[at]} is followed by {there[at + 1]}" for at in holes)
        checking.add("frame-index", data.path, found, data.number)
    falls = np.flatnonzero(steps < 0)
    if len(falls):
        found = f"frame_index falls after row {listed(falls)}"
        checking.add("frame-order", data.path, found, data.number)


def _check_row(checking: Checking, rows: int, frames: Int64, row: CheckedRow) -> None:
    """The episode's row against its data. Older writers have the highest frame + 1 for a length."""
    first, last = int(frames.min()), int(frames.max())
    length = row.values["length"]
    if length not in (rows, last + 1):
        found = f"length {length}, and the data has {rows} rows" + (f", {last + 1} frames" if rows != last + 1 else "")
        checking.add("row-length", row.path, found, row.number)
    told = row.values["start_frame_index"], row.values["end_frame_index"]
    if told != (first, last):
        found = f"frames {told[0]} to {told[1]}, and the data has {first} to {last}"
        checking.add("row-range", row.path, found, row.number)
    if checking.task_indices and row.values["task_index"] not in checking.task_indices:
        found = f"the row of episode {row.number} is of task_index {row.values['task_index']}"
        checking.add("tasks-index", checking.info.layout.tasks, found, row.number)
