"""What sensors delivered since the last row, for the row that comes next (contract 7.2 and 7.3).

Of each sensor the latest sample wins; of a trajectory every point is kept. What has a wrong length or a non-finite
value is dropped and counted: a sensor's hiccup must not end a recording.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from quickdraw.core.grid import Int64
from quickdraw.formats.pooled import columns

REJECTED = "_rejected_count"  # what a key of `counts` ends in, after its column

type Cell = npt.NDArray[Any] | int | str  # of one column in one row: a flat array, a stamp, a status


class Samples:
    """The cells of the row that comes next. Samples may come from any thread; ones between episodes are dropped.

    `counts` tells how many samples of a column were dropped: `<column>_rejected_count`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._statuses: dict[str, Cell] = {}
        self._episodes, self._open = 0, False
        self._cells: dict[str, Cell] = {}
        self._points: dict[str, list[tuple[npt.NDArray[np.float64], Int64]]] = {}
        self.counts: Counter[str] = Counter()

    @property
    def episode(self) -> int:
        """Which episode samples that arrive now are of; 0 between episodes."""
        return self._episodes * self._open

    def start(self) -> None:
        """An episode begins: whatever came before it is none of its samples."""
        with self._lock:
            self._episodes, self._open = self._episodes + 1, True
            self._cells, self._points, self.counts = {}, {}, Counter()

    def stop(self) -> None:
        """The episode is over: what comes now is dropped."""
        with self._lock:
            self._open = False

    def take(self) -> dict[str, Cell]:
        """The cells of a row, by column; a column without a sample since the last row is not among them."""
        with self._lock:
            cells, points = {**self._statuses, **self._cells}, self._points
            self._cells, self._points = {}, {}
        for name, blocks in points.items():
            cells[name] = np.concatenate([path for path, _ in blocks]).reshape(-1)
            stamps = np.concatenate([ns for _, ns in blocks])
            if stamps.any():
                cells[f"{name}_ns"] = stamps
        return cells

    def status(self, device: str, text: str) -> None:
        """A device's state, from the next row on until it is told anew, between episodes too."""
        name = f"status.{device}"
        if not columns.STATUS.fullmatch(name):
            raise ValueError(f"device {device!r}; its name is one line")
        with self._lock:
            self._statuses[name] = str(text)

    def latest(
        self, name: str, values: Any, shapes: Sequence[tuple[int, ...]], stamps: Mapping[str, int] | None = None
    ) -> None:
        """A sample of one of `shapes`, with the `stamps` that go into columns of their own."""
        episode, found = self.episode, finite(values, shapes)
        if found is None:
            self.reject(name)
        else:
            self.keep({name: found, **(stamps or {})}, episode)

    def keep(self, cells: Mapping[str, Cell], episode: int) -> None:
        """Cells of the next row, in place of those that wait; a stamp of 0 is none, and leaves none.

        Dropped where they are not of the episode that is recorded now: making them took until the next began.
        """
        with self._lock:
            if not episode or episode != self.episode:
                return
            for name, cell in cells.items():
                if isinstance(cell, int) and cell == 0:
                    self._cells.pop(name, None)  # the stamp of the sample this one replaces
                else:
                    self._cells[name] = cell

    def points(self, name: str, path: npt.NDArray[np.float64], stamps: Int64) -> None:
        """Points `(n, 8)` of a trajectory after those that wait, each with its stamp `(n,)`."""
        with self._lock:
            if self._open and len(path):
                self._points.setdefault(name, []).append((path, stamps))

    def reject(self, name: str, count: int = 1) -> None:
        """Count samples of a column that were dropped."""
        with self._lock:
            self.counts[f"{name}{REJECTED}"] += count * self._open


def finite(values: Any, shapes: Sequence[tuple[int, ...]]) -> npt.NDArray[np.float32] | None:
    """A flat float32 copy, None where the shape is none of `shapes` or a value is not finite."""
    found = delivered(values, np.float32)
    if found is None or found.shape not in shapes or not np.isfinite(found).all():
        return None
    return found.reshape(-1)


def delivered[T: np.generic](values: Any, dtype: type[T]) -> npt.NDArray[T] | None:
    """A copy, since sources reuse their buffers; None for what is no array of numbers, a ragged list for one.

    What is too large for `dtype` becomes infinite.
    """
    with np.errstate(over="ignore"):
        try:
            return np.array(values, dtype)
        except (TypeError, ValueError):
            return None
