"""One force matrix as its column stores it, and back: five specs, bit-exact in both directions (contract 7.2.1).

A matrix is `(250, 250, 3)`: rows, columns, and fx fy fz [mN]. On disk it is 187,500 values, 750 of each row; an integer
spec stores the difference to the value before, whatever axis that is of, and begins anew in each row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

SHAPE: Final = (250, 250, 3)
ROWS, ROW_VALUES = 250, 750
VALUES: Final = ROWS * ROW_VALUES
DIFFERENCES, RAW = "row_diff_quantized", "row_flat_raw"
FULL_SCALE: Final = 32767  # -32768 is no value, though a difference can be

type Float32 = npt.NDArray[np.float32]
type Flat = npt.NDArray[np.int16] | npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Spec:
    """How a column stores its matrices: `scale` steps a mN, differences (int16) or the values themselves (float32)."""

    name: str
    dtype: Literal["int16", "float32"]
    encoding: str
    scale: int


SPECS: Final[Mapping[str, Spec]] = {
    spec.name: spec
    for spec in (
        Spec("int16", "int16", DIFFERENCES, 1),
        Spec("int16x10", "int16", DIFFERENCES, 10),
        Spec("int16x100", "int16", DIFFERENCES, 100),
        Spec("int16x1000", "int16", DIFFERENCES, 1000),
        Spec("float32", "float32", RAW, 1),
    )
}
_KINDS: Final = {spec.encoding: np.dtype(spec.dtype) for spec in SPECS.values()}
DEFAULT: Final = "int16x100"


def spec_entry(spec: Spec) -> dict[str, Any]:
    """What `force_matrix_specs` of a row and `features` of info.json say of a column: exactly these four keys."""
    return {"dtype": spec.dtype, "shape": list(SHAPE), "encoding": spec.encoding, "scale": spec.scale}


def encode(matrix: Float32, spec: Spec) -> Flat:
    """A matrix `(250, 250, 3)` float32 [mN] as `(187500,)` int16 or float32; always a copy, for sources reuse theirs.

    Integer specs saturate at +-32767 steps. Scale 1 cuts fractions off, toward zero; the others round half to even,
    after a product in float32. Raises ValueError for another shape, and where an integer spec meets a NaN.
    """
    rows = np.asarray(matrix, np.float32)
    if rows.shape != SHAPE:
        raise ValueError(f"a force matrix of shape {rows.shape}; it is {SHAPE}")
    rows = rows.reshape(ROWS, ROW_VALUES)
    if spec.encoding == RAW:
        return rows.flatten()
    if np.isnan(rows).any():
        raise ValueError(f"a force matrix with a NaN, which {spec.name} cannot tell")
    if spec.scale > 1:
        with np.errstate(over="ignore"):  # saturates below
            rows = np.rint(rows * np.float32(spec.scale))
    steps = np.clip(rows, -FULL_SCALE, FULL_SCALE).astype(np.int16)
    stored = steps.copy()
    np.subtract(steps[:, 1:], steps[:, :-1], out=stored[:, 1:])  # modulo 2^16; decoding wraps it back
    return stored.reshape(VALUES)


def decode(flat: npt.NDArray[Any], *, encoding: str, scale: int) -> Float32 | None:
    """A stored sample as `(250, 250, 3)` float32 [mN], a copy, at scale 1 too; None where it has not 187,500 values.

    Raises ValueError for an encoding the contract does not know, for values of the other one's type, and for a scale
    below 1.
    """
    kind = _KINDS.get(encoding)
    if kind is None:
        raise ValueError(f"encoding {encoding!r}; there are {', '.join(_KINDS)}")
    if scale < 1:
        raise ValueError(f"scale {scale}; it is 1 or more")
    if flat.shape != (VALUES,):
        return None
    if flat.dtype != kind:
        raise ValueError(f"{flat.dtype} values; {encoding} is of {kind}")
    if encoding == RAW:
        return flat.astype(np.float32).reshape(SHAPE)
    # Cutting back to int16 restores what wrapped. NumPy sums in int32 four times as fast as in int16.
    steps = np.add.accumulate(flat.reshape(ROWS, ROW_VALUES), axis=1, dtype=np.int32).astype(np.int16)
    matrix = steps.astype(np.float32)
    if scale > 1:
        np.divide(matrix, np.float32(scale), out=matrix)
    return matrix.reshape(SHAPE)
