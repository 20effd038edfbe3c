"""The rows of a split: numbered and timed as they must be, finite, rotations orthonormal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from quickdraw.core.grid import Float64, Int64
from quickdraw.formats.lerobot.bookkeeping import timestamps
from quickdraw.formats.lerobot.tables import Column
from quickdraw.pipeline.verify.ledger import Ledger
from quickdraw.pipeline.verify.metadata import Entry
from quickdraw.pipeline.verify.split_view import DataPart, SplitView

ORDER, TIMES, FINITE, ROTATION = "row order", "timestamps", "finite values", "rotation"
ORTHONORMAL = 1e-5  # float32 holds a unit column within 1e-7


@dataclass(slots=True)
class Wrong:
    """Rows that are wrong alike, told by the first of them: where it is, what was found there and what was expected."""

    rows: int = 0
    first: int = 0
    found: str = ""
    expected: str = ""

    def add(self, begun: int, at: Int64) -> int | None:
        """Rows `at` `(N,)`, counted from the split's row `begun` on; the one to be told, where it is among them."""
        known = self.rows > 0
        self.rows += at.size
        if known or not at.size:
            return None
        self.first = begun + int(at[0])
        return int(at[0])

    def told(self, split: SplitView) -> Iterator[tuple[str, str]]:
        """As one thing, where there are any."""
        if self.rows:
            yield f"{split.many(self.first, self.rows)}: {self.found}", self.expected


def check_rows(split: SplitView, part: DataPart, ledger: Ledger) -> None:
    """Every row of a data file."""
    for check, look in ((ORDER, _order), (TIMES, _times), (FINITE, _finite), (ROTATION, _rotation)):
        with ledger.checking(check, split.name):
            ledger.saw(check, part.table.rows)
            for found, expected in look(split, part):
                ledger.fault(check, split.name, found=found, expected=expected, path=part.path)


def _order(split: SplitView, part: DataPart) -> Iterator[tuple[str, str]]:
    if part.table.rows != part.rows:
        return  # which row is which cannot be told; that there are others is a finding where episodes are checked
    yield from _unlike(split, part, "index", lambda entry: entry.first + np.arange(entry.length))
    yield from _unlike(split, part, "frame_index", lambda entry: np.arange(entry.length))
    yield from _unlike(split, part, "episode_index", lambda entry: np.full(entry.length, entry.number))


def _times(split: SplitView, part: DataPart) -> Iterator[tuple[str, str]]:
    if part.table.rows != part.rows:
        return
    rate_hz = split.info.rate_hz
    yield from _unlike(split, part, "timestamp", lambda entry: timestamps(np.arange(entry.length), rate_hz))


def _unlike(
    split: SplitView, part: DataPart, name: str, expected: Callable[[Entry], Column]
) -> Iterator[tuple[str, str]]:
    wrong = Wrong()
    for entry, values in part.episodes(name):
        found, right = values.reshape(-1), expected(entry)
        if (at := wrong.add(entry.first, np.flatnonzero(found != right))) is not None:
            wrong.found, wrong.expected = f"{name} {found[at]}", str(right[at])
    yield from wrong.told(split)


def _finite(split: SplitView, part: DataPart) -> Iterator[tuple[str, str]]:
    for name in (*split.info.vectors, "timestamp"):
        wrong, begun = Wrong(expected="a finite number"), part.first
        for values in part.pieces(name):
            rows = values.reshape(len(values), -1)
            good = np.isfinite(rows)
            if (at := wrong.add(begun, np.flatnonzero(~good.all(axis=1)))) is not None:
                dim = int(np.flatnonzero(~good[at])[0])
                wrong.found = f"{name}.{split.info.features[name].dims()[dim]} {rows[at, dim]}"
            begun += len(rows)
        yield from wrong.told(split)


def _rotation(split: SplitView, part: DataPart) -> Iterator[tuple[str, str]]:
    expected = f"two orthogonal columns of length 1, within {ORTHONORMAL}"
    for name in split.info.vectors:
        for dims in split.info.features[name].rotations():
            wrong, begun = Wrong(expected=expected), part.first
            for values in part.pieces(name):
                off = _off(values[:, dims].astype(np.float64))
                # A NaN is not wrong: it is reported as one.
                if (at := wrong.add(begun, np.flatnonzero(off > ORTHONORMAL))) is not None:
                    wrong.found = f"{name} rot6 off by {off[at]:.3g}"
                begun += len(values)
            yield from wrong.told(split)


def _off(rot6: Float64) -> Float64:
    """How far `(T, 6)` are from two orthogonal columns of length 1, `(T,)`."""
    a, b = rot6[:, :3], rot6[:, 3:]
    parts = np.stack([(a * a).sum(1) - 1, (b * b).sum(1) - 1, (a * b).sum(1)])
    off: Float64 = np.abs(parts).max(axis=0)
    return off
