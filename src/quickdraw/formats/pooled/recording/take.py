"""One episode while it is recorded: frames become rows, rows get their samples and go to the disk (contract 7.3).

A row is held back for a second before it is written, so that an inertial sample that arrives after its frame still
finds its row.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quickdraw.formats.pooled import columns
from quickdraw.formats.pooled.force_matrix import Spec
from quickdraw.formats.pooled.recording.cameras import Cameras, Picture
from quickdraw.formats.pooled.recording.imu_windows import ImuWindows
from quickdraw.formats.pooled.recording.matrix_columns import MatrixColumns
from quickdraw.formats.pooled.recording.row_groups import Row
from quickdraw.formats.pooled.recording.samples import Cell, Samples
from quickdraw.formats.pooled.recording.spool import Spool
from quickdraw.formats.pooled.recording.stamps import whole_ns
from quickdraw.formats.pooled.recording.take_statistics import TakeStatistics
from quickdraw.formats.pooled.rows import NOT_FRAMES

GAP_MS = 100.0  # from one row to the next; longer is a hole, and told


class Take:
    """Episode N on its way to `data`. One thread adds frames and closes; samples come from any."""

    def __init__(
        self, number: int, data: Path, *, fps: float, cameras: Cameras, samples: Samples, imu: ImuWindows,
        matrices: MatrixColumns,
    ) -> None:  # fmt: skip
        self.number, self.cameras, self.rows = number, cameras, 0
        self.statistics = TakeStatistics()
        self.seen: set[str] = set()
        self.dropped: Counter[str] = Counter()
        self.started_s = 0.0
        self.specs: dict[str, Spec] = {}  # of every matrix column there is, once the take is closed
        self._samples, self._imu, self._matrices = samples, imu, matrices
        self._held_rows = max(1, round(fps))
        data.parent.mkdir(parents=True, exist_ok=True)
        self._spool = Spool(data, number, self.statistics.add)
        self._held: deque[Row] = deque()
        self._last: Row | None = None
        self._gaps, self._longest_gap_ms = 0, 0.0
        self._closed = False
        self._failed: BaseException | None = None
        samples.start()
        imu.start()

    def add_frame(self, pictures: Mapping[str, Picture], *, hardware_ns: Any, wall_time: float) -> None:
        """A row, and a picture in every video. Raises ValueError before either where a picture or a time is none.

        Any later error leaves videos and rows of different lengths, and the episode can only be aborted.
        """
        self._refuse_failed()
        self.cameras.check(pictures)
        stamp, wall_s = whole_ns(hardware_ns), float(wall_time)
        if not math.isfinite(wall_s):
            raise ValueError(f"wall_time {wall_time}; it is Unix seconds")
        try:
            self.cameras.write(pictures)
            self._add_row(stamp, wall_s)
        except BaseException as error:
            self._failed = error
            raise

    def add_dropped(self, stream: str, frames: int) -> None:
        """Frames that `stream` lost before they came here."""
        if stream.endswith(NOT_FRAMES) or frames < 0:
            raise ValueError(f"{frames} dropped frames of {stream!r}; its name must not end in {', '.join(NOT_FRAMES)}")
        self.dropped[stream] += frames

    def close(self) -> None:
        """Return when videos and rows are whole and on the disk, hidden still. May be called again."""
        self._refuse_failed()
        self._samples.stop()
        try:
            self.cameras.close()
            self._settle(0)
            self._imu.close()
            if not self._closed:  # a sample still on its way from another thread is of no column the file has
                self._closed, self.specs = True, self._matrices.specs
            unfilled = {
                name: columns.arrow_type(name, matrix_dtype=spec.dtype)
                for name, spec in self.specs.items()
                if name not in self.seen
            }
            self._spool.finish(unfilled)
            self.seen |= set(unfilled)
        except BaseException as error:
            self._failed = error
            raise

    def discard(self) -> None:
        """End the encoders and remove everything that was written."""
        self._samples.stop()
        self._imu.close()
        self.cameras.discard()
        self._spool.discard()

    @property
    def drop_stats(self) -> dict[str, int]:
        """What was lost, cut off or repeated. Keys that end in `_ms` or `_count` are no frames (contract 6.2)."""
        counts = {**self._samples.counts, **self._imu.counts, **self._matrices.counts, **self.cameras.counts}
        gaps = {"gap_count": self._gaps, "gap_ms": round(self._longest_gap_ms)}
        return {**self.dropped, **gaps, **{key: counts[key] for key in sorted(counts) if counts[key]}}

    @property
    def imu_kept(self) -> int:
        """The inertial samples that are of a row."""
        return self._imu.kept

    def _refuse_failed(self) -> None:
        if self._failed is not None:
            raise RuntimeError(f"episode {self.number} failed before and can only be aborted") from self._failed

    def _add_row(self, hardware_ns: int, wall_s: float) -> None:
        if self._last is None:
            self.started_s = wall_s
        cells = self._samples.take()
        row = Row(self.rows, wall_s - self.started_s, wall_s, hardware_ns, cells)
        self._measure_gap(row)
        self._last = row
        self.seen |= cells.keys()
        self._held.append(row)
        self.rows += 1
        self._settle(self._held_rows)

    def _settle(self, held: int) -> None:
        while len(self._held) > held:
            row = self._held.popleft()
            stamps, values = self._imu.settle(row.hardware_ns)
            if len(stamps):
                imu: dict[str, Cell] = {columns.IMU_STAMPS: stamps, columns.IMU: values}
                self.seen |= imu.keys()
                row = Row(row.frame_index, row.timestamp_s, row.wall_time_s, row.hardware_ns, {**row.cells, **imu})
            self._spool.append(row)

    def _measure_gap(self, row: Row) -> None:
        if self._last is None:
            return
        wall_ms = (row.wall_time_s - self._last.wall_time_s) * 1e3
        stamped = row.hardware_ns and self._last.hardware_ns
        gap_ms = max(wall_ms, (row.hardware_ns - self._last.hardware_ns) / 1e6 if stamped else 0.0)
        if gap_ms >= GAP_MS:
            self._gaps, self._longest_gap_ms = self._gaps + 1, max(self._longest_gap_ms, gap_ms)
