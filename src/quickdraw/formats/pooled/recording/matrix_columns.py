"""By which spec each matrix column of an episode is recorded: the first sample decides, for good (contract 7.2.1).

The scale cannot be told from the numbers, and there is one a column and episode: a second one in the same column would
make all of it wrong by a factor, in silence.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from quickdraw.formats.pooled.force_matrix import SHAPE, SPECS, VALUES, Flat, Spec, encode
from quickdraw.formats.pooled.recording.samples import delivered

_EMPTY = np.empty(0, np.int16)


class MatrixColumns:
    """The specs of an episode's matrix columns. Columns decide each for itself; empty samples decide nothing.

    Raises ValueError, with the names that are valid, for a `default` that is no spec.
    """

    def __init__(self, default: str) -> None:
        self._default = _spec(default)
        self._lock = threading.Lock()
        self._decided: dict[str, Spec] = {}
        self._appeared: set[str] = set()

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
        if values.shape != SHAPE or not np.isfinite(values).all():
            return None
        return encode(values, self._locked(column, spec))

    def checked(self, column: str, flat: Any, spec: str | None = None) -> Flat | None:
        """A sample that is encoded already, as an array of its column's type, a copy; else as `encoded`.

        Raises ValueError where the column has another spec, or `flat` holds numbers of the other kind.
        """
        values = np.asarray(flat)
        if not values.size:
            return self._empty(column)
        wanted = self._default if spec is None else _spec(spec)
        kind = "float32" if values.dtype.kind == "f" else "int16" if values.dtype.kind in "iu" else str(values.dtype)
        if kind != wanted.dtype:
            raise ValueError(f"{column}: values of {values.dtype}, but {wanted.name} is stored in {wanted.dtype}")
        with np.errstate(over="ignore"):
            stored: Flat = values.astype(np.float32) if kind == "float32" else values.astype(np.int16)
        sound = np.isfinite(stored).all() if kind == "float32" else np.array_equal(stored, values)
        if values.shape != (VALUES,) or not sound:
            return None
        self._locked(column, spec)
        return stored

    def _empty(self, column: str) -> Flat:
        with self._lock:
            self._appeared.add(column)
        return _EMPTY

    def _locked(self, column: str, name: str | None) -> Spec:
        wanted = self._default if name is None else _spec(name)
        with self._lock:
            self._appeared.add(column)
            decided = self._decided.setdefault(column, wanted)
        if decided != wanted:
            raise ValueError(f"{column}: recorded by spec {decided.name}, which {wanted.name} cannot follow")
        return decided


def _spec(name: str) -> Spec:
    if name not in SPECS:
        raise ValueError(f"force-matrix spec {name!r}; there are {', '.join(SPECS)}")
    return SPECS[name]
