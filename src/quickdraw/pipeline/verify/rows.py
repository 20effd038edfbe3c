"""The rows of a split: numbered and timed as they must be, finite, rotations orthonormal."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from quickdraw.formats.lerobot.tables import Column
from quickdraw.pipeline.verify.ledger import Ledger
from quickdraw.pipeline.verify.split_view import DataPart, SplitView

ORDER, TIMES, FINITE, ROTATION = "row order", "timestamps", "finite values", "rotation"
ORTHONORMAL = 1e-5  # float32 holds a unit column within 1e-7


def check_rows(split: SplitView, ledger: Ledger) -> None:
    """Every row of every data file."""
    for part in split.data:
        for check, look in ((ORDER, _order), (TIMES, _times), (FINITE, _finite), (ROTATION, _rotation)):
            with ledger.checking(check, split.name):
                ledger.saw(check, part.table.rows)
                for found, expected in look(split, part):
                    ledger.fault(check, split.name, found=found, expected=expected, path=part.path)


def _frames(part: DataPart) -> npt.NDArray[np.int64]:
    """Each row's number in its episode, `(T,)`."""
    return np.concatenate([np.arange(entry.length) for entry in part.entries])


def _order(split: SplitView, part: DataPart) -> Iterator[tuple[str, str]]:
    if part.table.rows != part.rows:
        return  # which row is which cannot be told; that there are others is a finding where episodes are checked
    episode = np.concatenate([np.full(entry.length, entry.number) for entry in part.entries])
    right = {"index": part.first + np.arange(part.rows), "frame_index": _frames(part), "episode_index": episode}
    for name, expected in right.items():
        yield from _unlike(split, part, name, expected)


def _times(split: SplitView, part: DataPart) -> Iterator[tuple[str, str]]:
    if part.table.rows != part.rows:
        return
    # As readers compute it: the quotient in float64, then float32.
    yield from _unlike(split, part, "timestamp", (_frames(part) / split.info.rate_hz).astype(np.float32))


def _unlike(split: SplitView, part: DataPart, name: str, expected: Column) -> Iterator[tuple[str, str]]:
    found = part.column(name).reshape(-1)
    if (wrong := np.flatnonzero(found != expected)).size:
        at = wrong[0]
        yield f"{split.places(part.first + wrong)}: {name} {found[at]}", str(expected[at])


def _finite(split: SplitView, part: DataPart) -> Iterator[tuple[str, str]]:
    for name in (*split.info.vectors, "timestamp"):
        values = part.column(name)
        if values.dtype.kind == "f" and not (good := np.isfinite(values)).all():
            rows = np.flatnonzero(~good.reshape(len(values), -1).all(axis=1))
            dim = int(np.flatnonzero(~good.reshape(len(values), -1)[rows[0]])[0])
            value = values.reshape(len(values), -1)[rows[0], dim]
            place = split.places(part.first + rows)
            yield f"{place}: {name}.{split.info.features[name].dims()[dim]} {value}", "a finite number"


def _rotation(split: SplitView, part: DataPart) -> Iterator[tuple[str, str]]:
    for name in split.info.vectors:
        for dims in split.info.features[name].rotations():
            columns = part.column(name)[:, dims].astype(np.float64)
            a, b = columns[:, :3], columns[:, 3:]
            parts = np.stack([(a * a).sum(1) - 1, (b * b).sum(1) - 1, (a * b).sum(1)])
            off = np.abs(parts).max(axis=0)
            wrong = np.flatnonzero(off > ORTHONORMAL)  # a NaN is not: it is reported as one
            if wrong.size:
                found = f"{split.places(part.first + wrong)}: {name} rot6 off by {off[wrong[0]]:.3g}"
                yield found, f"two orthogonal columns of length 1, within {ORTHONORMAL}"
