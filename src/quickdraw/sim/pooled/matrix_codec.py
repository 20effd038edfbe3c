"""Force matrices as the recorder stores them, coded a second time: here by loops over columns in Python's integers.

Written from the contract's words and not from the codec it is a witness against.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from quickdraw.sim.pooled.spec import MatrixSpec
from quickdraw.sim.pooled.truth import Floats

ROWS, COLUMNS, AXES = 250, 250, 3
_LIMIT: Final = 32767
_SCALES: Final[dict[str, int]] = {"int16": 1, "int16x10": 10, "int16x100": 100, "int16x1000": 1000, "float32": 1}


def entry(spec: MatrixSpec) -> dict[str, Any]:
    """What an episode's row and info.json say of a column: dtype, shape, encoding, scale."""
    raw = spec == "float32"
    return {
        "dtype": "float32" if raw else "int16",
        "shape": [ROWS, COLUMNS, AXES],
        "encoding": "row_flat_raw" if raw else "row_diff_quantized",
        "scale": _SCALES[spec],
    }


def stored(matrix_mn: Floats, spec: MatrixSpec) -> NDArray[np.int16] | NDArray[np.float32]:
    """The 187,500 values on disk of a matrix (250, 250, 3) float32 [mN]."""
    flat = matrix_mn.reshape(ROWS, COLUMNS * AXES)
    if spec == "float32":
        return flat.ravel().copy()
    levels = quantised(flat, _SCALES[spec]).astype(np.int64)
    steps = levels.copy()
    for place in range(levels.shape[1] - 1, 0, -1):
        steps[:, place] -= levels[:, place - 1]
    wrapped = (steps + 2**15) % 2**16 - 2**15
    return wrapped.astype(np.int16).ravel()


def quantised(values_mn: Floats, scale: int) -> NDArray[np.int16]:
    """Whole levels of the values: towards zero at scale 1, else to the nearest, halves to even; never -32768."""
    scaled = np.multiply(values_mn, np.float32(scale), dtype=np.float32)
    levels = np.trunc(scaled) if scale == 1 else np.rint(scaled)
    return np.asarray(np.minimum(np.maximum(levels, -_LIMIT), _LIMIT), np.int16)


def restored(flat: NDArray[np.int16] | NDArray[np.float32], spec: MatrixSpec) -> Floats:
    """The matrix (250, 250, 3) float32 [mN] of stored values."""
    if spec == "float32":
        return flat.astype(np.float32).reshape(ROWS, COLUMNS, AXES)
    steps = flat.astype(np.int64).reshape(ROWS, COLUMNS * AXES)
    levels = steps.copy()
    for place in range(1, steps.shape[1]):
        levels[:, place] = (levels[:, place - 1] + steps[:, place] + 2**15) % 2**16 - 2**15
    return (levels.astype(np.float32) / np.float32(_SCALES[spec])).reshape(ROWS, COLUMNS, AXES)
