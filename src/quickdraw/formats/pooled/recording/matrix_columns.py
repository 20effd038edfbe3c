"""By which spec each matrix column of an episode is recorded: the first sample decides, for good (contract 7.2.1).

The scale cannot be told from the numbers, and there is one a column and episode: a second one in the same column would
make all of it wrong by a factor, in silence.
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from typing import Any

import numpy as np

from quickdraw.formats.pooled.force_matrix import FULL_SCALE, SHAPE, SPECS, VALUES, Flat, Float32, Spec, encode
from quickdraw.formats.pooled.recording.samples import delivered

SATURATED = "_saturated_count"  # what a key of `counts` ends in, after its column
_EMPTY = np.empty(0, np.int16)


class MatrixColumns:
    """The specs of an episode's matrix columns. Columns decide each for itself; empty samples decide nothing.

    `counts` tells how many matrices of a column had a value cut off: `<column>_saturated_count`. Ones that come encoded
    do not show it. Raises ValueError, with the names that are valid, for a `default` that is no spec.
    """

    def __init__(self, default: str) -> None:
        self._default = _spec(default)
        self._lock = threading.Lock()
        self._decided: dict[str, Spec] = {}
        self._appeared: set[str] = set()
        self.counts: Counter[str] = Counter()

    @property
    def specs(self) -> dict[str, Spec]:
        """The spec of every column that appeared, if only with empty samples."""
        with self._lock:
            return {name: self._decided.get(name, self._default) for name in sorted(self._appeared)}

    def encoded(self, column: str, matrix: Any, spec: str | None = None) -> Flat | None:
        """A matrix `(250, 250, 3)` [mN] as its column stores it, a copy; empty where it is, None where it is unusable.

        Raises ValueError where the column has another spec.
        """
        values = delivered(matrix, np.float32)
        if values is None:
            return None
        if not values.size:
            return self._empty(column)
        wanted = self._wanted(spec)
        peak_mn = _peak(values, wanted)
        if values.shape != SHAPE or not math.isfinite(peak_mn):
            return None
        self._lock_in(column, wanted)
        if wanted.dtype == "int16" and _beyond(peak_mn, wanted.scale):
            with self._lock:
                self.counts[f"{column}{SATURATED}"] += 1
        return encode(values, wanted)

    def checked(self, column: str, flat: Any, spec: str | None = None) -> Flat | None:
        """A sample that is encoded already, as an array of its column's type, a copy; else as `encoded`.

        Raises ValueError where the column has another spec, or `flat` holds numbers of the other kind.
        """
        values = np.asarray(flat)
        if not values.size:
            return self._empty(column)
        wanted = self._wanted(spec)
        kind = "float32" if values.dtype.kind == "f" else "int16" if values.dtype.kind in "iu" else str(values.dtype)
        if kind != wanted.dtype:
            raise ValueError(f"{column}: values of {values.dtype}, but {wanted.name} is stored in {wanted.dtype}")
        with np.errstate(over="ignore"):
            stored: Flat = values.astype(np.float32) if kind == "float32" else values.astype(np.int16)
        sound = np.isfinite(stored).all() if kind == "float32" else np.array_equal(stored, values)
        if values.shape != (VALUES,) or not sound:
            return None
        self._lock_in(column, wanted)
        return stored

    def _empty(self, column: str) -> Flat:
        with self._lock:
            self._appeared.add(column)
        return _EMPTY

    def _wanted(self, name: str | None) -> Spec:
        return self._default if name is None else _spec(name)

    def _lock_in(self, column: str, wanted: Spec) -> None:
        with self._lock:
            self._appeared.add(column)
            decided = self._decided.setdefault(column, wanted)
        if decided != wanted:
            raise ValueError(f"{column}: recorded by spec {decided.name}, which {wanted.name} cannot follow")


def _peak(values: Float32, spec: Spec) -> float:
    """The largest magnitude [mN], not finite where a value is not; of float32, which has no range, just any."""
    if spec.dtype == "float32":
        return 0.0 if np.isfinite(values).all() else math.nan
    return max(float(values.max()), -float(values.min()))  # as fast as `isfinite`, and tells both


def _beyond(peak_mn: float, scale: int) -> bool:
    """Whether `encode` cuts that value off, by its own rounding."""
    with np.errstate(over="ignore"):
        steps = np.rint(np.float32(peak_mn) * np.float32(scale)) if scale > 1 else math.trunc(peak_mn)
    return bool(steps > FULL_SCALE)


def _spec(name: str) -> Spec:
    if name not in SPECS:
        raise ValueError(f"force-matrix spec {name!r}; there are {', '.join(SPECS)}")
    return SPECS[name]
