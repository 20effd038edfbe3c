"""Rules of every cell of a data file, for a deep check (contract 7.2, 7.3). A few rows are in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from quickdraw.errors import Refused
from quickdraw.formats.pooled.arrow_arrays import Ragged, is_list, joined, joined_ragged
from quickdraw.formats.pooled.checks.data import Data
from quickdraw.formats.pooled.checks.findings import Checking, listed
from quickdraw.formats.pooled.clock import ClockClass, classify, fold, imu_rows
from quickdraw.formats.pooled.columns import FORCE, IMU, IMU_STAMPS, KEYS, MATRIX, POINT_VALUES, TRAJECTORY
from quickdraw.formats.pooled.data import DataFile
from quickdraw.formats.pooled.force_matrix import VALUES
from quickdraw.formats.pooled.parquet_files import UNREADABLE, why
from quickdraw.formats.pooled.stats import Counting

type Array = npt.NDArray[Any]
type Cells = dict[str, Array | Ragged]

_NOT_READ: Final = frozenset({*KEYS} - {"action"})  # read and told already
_WHAT: Final = {
    "cell-value": "a number that is not finite, or text that is no UTF-8",
    "cell-action": "not [0.0]",
    "cell-stamp": "a stamp below 0, before the one it follows, or without a sample",
    "cell-imu": "a sample of another row",
    "matrix-length": "a matrix that has not 187500 values",
    "data-pair": "another length than its partner",
    "data-null": "a null",
}


def check_cells(checking: Checking, data: Data) -> None:
    """Read a file whole, a few rows at a time, and count in `checking` what statistics should have counted."""
    look = _Look(checking, data, _windows(checking, data))
    first = 0
    for batch in _batches(checking, data):
        if first + len(batch) > data.rows:  # a recorder has just put another file in its place
            break
        look.over(batch, first)
        first += len(batch)
    look.tell()


def _batches(checking: Checking, data: Data) -> Iterator[Any]:
    """A file's rows, up to where it cannot be read any further, which is told."""
    try:
        yield from DataFile(data.path).batches([name for name in data.types if name not in _NOT_READ])
    except (Refused, *UNREADABLE) as error:
        found = error.faults[0].found if isinstance(error, Refused) else f"unreadable ({why(error)})"
        checking.add("data-unreadable", data.path, found, data.number)


def _windows(checking: Checking, data: Data) -> tuple[Array, Array] | None:
    """The stamp of each row [ns] and the first row of its frame, `(T,)` each, by which its IMU samples are told.

    None where rows have no such clock.
    """
    keys = [data.keys.get(name) for name in ("frame_index", "timestamp", "hardware_ns")]
    frames, timestamp, hardware_ns = keys
    if frames is None or timestamp is None or hardware_ns is None or classify(hardware_ns) is not ClockClass.HW64:
        return None
    if not fold(frames, timestamp, hardware_ns).agrees or not hardware_ns.all() or (np.diff(hardware_ns) < 0).any():
        return None
    leads = np.flatnonzero(np.concatenate([[True], frames[1:] != frames[:-1]]))
    return hardware_ns, np.repeat(leads, np.diff(np.append(leads, len(frames))))


@dataclass(slots=True)
class _Look:
    """A reading under way: rows with each fault of each column, and the last stamp of each column of stamps."""

    checking: Checking
    data: Data
    windows: tuple[Array, Array] | None
    bad: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    last_ns: dict[str, int] = field(default_factory=dict)

    def over(self, batch: Any, first: int) -> None:
        """A batch of rows; `first` is the number of its first one."""
        cells: Cells = {}
        for at, name in enumerate(batch.schema.names):
            kind, column = batch.schema.field(at).type, batch.column(at)
            try:
                cells[name] = joined_ragged([column], kind) if is_list(kind) else joined([column], kind)
            except UnicodeDecodeError:
                self._note("cell-value", name, [first])
            except ValueError as error:  # nulls; what else there can be is told by its type
                if column.null_count or "null" in str(error):
                    self._note("data-null", name, [first] * (name not in self.data.nulls))
        for name, column in cells.items():
            self._finite(name, column, first)
            self._lengths(name, column, first, cells)
            if name.endswith("_ns"):
                self._stamps(name, column, first)

    def tell(self) -> None:
        """All of it, one finding a column and rule."""
        for (rule, name), rows in self.bad.items():
            found = f"{name}: {_WHAT[rule]} in row {listed(dict.fromkeys(rows))}"
            self.checking.add(rule, self.data.path, found, self.data.number)

    def _note(self, rule: str, name: str, rows: Any) -> None:
        if len(rows):
            self.bad.setdefault((rule, name), []).extend(int(row) for row in rows)

    def _finite(self, name: str, column: Array | Ragged, first: int) -> None:
        values = column.values if isinstance(column, Ragged) else column
        if not np.issubdtype(values.dtype, np.floating):
            return
        bad = np.asarray(~np.isfinite(values).all(axis=tuple(range(1, values.ndim))))
        bad_rows = np.unique(_rows(column)[bad]) if bad.any() else np.zeros(0, np.int64)
        self._note("cell-value", name, bad_rows + first)
        if name == "action" and values.ndim == 1 and values.any():
            self._note("cell-action", name, np.unique(_rows(column)[values != 0]) + first)
        if isinstance(column, Ragged) and self._counts(name, column):
            whole = len(bad) - np.count_nonzero(bad) if name == IMU else len(column) - len(bad_rows)
            self.checking.counts[name] = self.checking.counts.get(name, 0) + int(whole)

    def _counts(self, name: str, column: Ragged) -> bool:
        widths = np.unique(column.lengths)
        counting, is_one = Counting.of(self.checking.info.document), name == IMU or len(widths) == 1
        return is_one and counting.counts(name, int(widths[0]), float32=column.values.dtype == np.float32)

    def _lengths(self, name: str, column: Array | Ragged, first: int, cells: Cells) -> None:
        if not isinstance(column, Ragged):
            return
        stamps = cells.get(f"{name}_ns") if name != IMU else cells.get(IMU_STAMPS)
        if MATRIX.fullmatch(name):
            self._note(
                "matrix-length", name, np.flatnonzero((column.lengths != 0) & (column.lengths != VALUES)) + first
            )
            if isinstance(stamps, np.ndarray) and stamps.dtype == np.int64:
                self._note("cell-stamp", f"{name}_ns", np.flatnonzero((stamps > 0) & (column.lengths == 0)) + first)
        elif name == IMU and isinstance(stamps, Ragged):
            self._note("data-pair", name, np.flatnonzero(column.lengths != stamps.lengths) + first)
        elif TRAJECTORY.fullmatch(name):
            wrong = column.lengths % POINT_VALUES != 0
            if isinstance(stamps, Ragged):
                wrong |= column.lengths != stamps.lengths * POINT_VALUES
            self._note("data-pair", name, np.flatnonzero(wrong) + first)

    def _stamps(self, name: str, column: Array | Ragged, first: int) -> None:
        bare = name.removesuffix("_ns")
        if name != IMU_STAMPS and not any(form.fullmatch(bare) for form in (TRAJECTORY, MATRIX, FORCE)):
            return
        values = column.values if isinstance(column, Ragged) else column
        rows = _rows(column) + first
        if values.dtype != np.int64 or values.ndim != 1:
            return  # told by its type
        self._note("cell-stamp", name, rows[values < 0])
        stamped = values > 0
        line = np.concatenate([[self.last_ns.get(name, 0)], values[stamped]])
        self._note("cell-stamp", name, rows[stamped][line[1:] < line[:-1]])
        self.last_ns[name] = int(line.max())
        if name == IMU_STAMPS and self.windows is not None:
            hardware_ns, leads = self.windows
            self._note("cell-imu", IMU, rows[stamped & (imu_rows(hardware_ns, values) != leads[rows])])


def _rows(column: Array | Ragged) -> Array:
    """The row each value is in: as many numbers as there are values, so it is asked for only where one is bad."""
    return column.rows if isinstance(column, Ragged) else np.arange(len(column))
