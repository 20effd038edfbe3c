"""The data file of a recording as it grows: hidden, row group by row group, on the disk and out of memory.

A sensor may speak late. Then the file has a column more from there on, which no file of Parquet can. Within the first
seconds what there is is written anew, with the column. Later that would hold up the recording: the rows after go into
another segment, and at the end the segments become one file, a row group at a time. One segment is the file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from quickdraw.formats.durable import aside, sync
from quickdraw.formats.pooled import columns
from quickdraw.formats.pooled.recording.row_groups import Row, table, type_of
from quickdraw.formats.pooled.recording.segments import GROUP_BYTES, GROUP_ROWS, copy, new_file

ROWS = GROUP_ROWS
WIDENED_BYTES = 48 << 20  # of samples, that are written anew in less time than a row group takes to fill

type Observer = Callable[[str, Any], None]  # a column's name and its Arrow array, once a row group


class Spool:
    """Rows of episode N on their way to `final`. One thread appends; another, our own, compresses what is full.

    At most two row groups are in memory. An error of the disk is raised by the next `append` or by `finish`; then all
    that is left to do is `discard`.
    """

    def __init__(self, final: Path, number: int, observe: Observer = lambda name, column: None) -> None:
        self._final, self._number, self._observe = final, number, observe
        self._types: dict[str, Any] = {
            **columns.KEYS,
            **{name: columns.arrow_type(name) for name in columns.HAND_POSES},
        }
        self._rows: list[Row] = []
        self._bytes = self._segment_bytes = 0
        self._segments: list[Path] = []
        self._writer: Any = None
        self._compressing = ThreadPoolExecutor(1, "spool")
        self._pending: Future[None] | None = None
        self._finished: Path | None = None

    def append(self, row: Row) -> None:
        """Take a row over. Returns at once but where the disk is slower than the recording."""
        self._rows.append(row)
        self._bytes += row.size_bytes
        if len(self._rows) >= ROWS or self._bytes >= GROUP_BYTES:
            self._hand_over()

    def finish(self, appeared: Mapping[str, Any] | None = None) -> Path:
        """The whole file, under its hidden name, down on the disk. `appeared` are columns that never had a sample.

        May be called again, for the same answer. Raises OSError where the disk does.
        """
        if self._finished is None:
            if self._rows:
                self._hand_over()
            self._wait()
            self._compressing.shutdown()
            self._close()
            late = {name: kind for name, kind in (appeared or {}).items() if name not in self._types}
            self._types.update(late)
            if len(self._segments) > 1 or late:
                self._join()
            sync(self._segments[0])
            self._finished = self._segments[0]
        return self._finished

    def discard(self) -> None:
        """Remove what was written. May be called at any time, and again."""
        if self._pending is not None:
            self._pending.exception()
        self._compressing.shutdown()
        with contextlib.suppress(Exception):  # a full disk cannot take the footer of a file that goes anyway
            self._close()
        for path in (*self._segments, self._whole):
            path.unlink(missing_ok=True)
        self._rows, self._segments = [], []

    def _hand_over(self) -> None:
        self._wait()
        rows, self._rows, self._bytes = self._rows, [], 0
        self._pending = self._compressing.submit(self._write, rows)

    def _wait(self) -> None:
        if self._pending is not None:
            self._pending.result()

    def _write(self, rows: list[Row]) -> None:
        before = len(self._types)
        for row in rows:
            for name, cell in row.cells.items():
                if name not in self._types:
                    self._types[name] = type_of(name, cell)
        if self._writer is None or len(self._types) > before:
            self._widen()
        self._segment_bytes += sum(row.size_bytes for row in rows)
        piece = table(self._number, rows, self._types)
        for name in self._types:
            self._observe(name, piece[name])
        self._writer.write_table(piece)

    def _widen(self) -> None:
        self._close()
        if self._segments and self._segment_bytes <= WIDENED_BYTES:
            self._writer = new_file(self._whole, self._types)
            copy(self._segments[-1:], self._writer, self._types)
            self._whole.replace(self._segments[-1])
            return
        self._segments.append(self._segment(len(self._segments)))
        self._segment_bytes = 0
        self._writer = new_file(self._segments[-1], self._types)

    def _segment(self, number: int) -> Path:
        fresh = aside(self._final)
        return fresh if number == 0 else fresh.with_name(f".{self._final.stem}.{number}.tmp")

    @property
    def _whole(self) -> Path:
        return self._final.with_name(f".{self._final.stem}.whole.tmp")

    def _close(self) -> None:
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.close()

    def _join(self) -> None:
        with new_file(self._whole, self._types) as whole:
            copy(self._segments, whole, self._types)
        self._whole.replace(self._segments[0])
        for path in self._segments[1:]:
            path.unlink()
        del self._segments[1:]
