"""Depth as the 12-bit logarithmic codes lerobot stores, and the millimetres it reads from them.

Formulas: `quantize_depth` and `dequantize_depth` of lerobot 0.6.1, datasets/depth_utils.py.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from quickdraw.core.grid import Float64

Depth = npt.NDArray[np.uint16]  # [mm], 0 where nothing is known
Codes = npt.NDArray[np.uint16]

CODES: Final = 1 << 12
TOP_CODE: Final = CODES - 1
MM: Final = 1000.0  # in a metre


@dataclass(frozen=True, slots=True)
class DepthScale:
    """Code 0 is `min_m`, 4095 is `max_m`, and even steps between them of ln(depth + `shift_m`)."""

    min_m: float
    max_m: float
    shift_m: float

    def codes(self, depth_mm: Depth) -> Codes:
        """The codes 0 to 4095 of `(H, W)` uint16 depth [mm]; what is beyond the scale has the code of its end."""
        return _code_of_mm(self)[depth_mm]

    @property
    def levels(self) -> Float64:
        """What lerobot reads from each code, `(4096,)` whole mm."""
        return _mm_of_code(self)

    def beyond(self, depth_mm: Depth) -> int:
        """How many pixels of `(H, W)` uint16 depth [mm] are farther than `max_m`, which they read back as."""
        return int(np.count_nonzero(depth_mm > round(self.max_m * MM)))

    def info(self) -> dict[str, Any]:
        """What LeRobot's info.json says of a video of such codes, whose statistics are in mm."""
        scale = {"video.depth_min": self.min_m, "video.depth_max": self.max_m, "video.shift": self.shift_m}
        return {**scale, "video.use_log": True, "is_depth_map": True, "depth_unit": "mm"}

    def ends(self) -> tuple[float, float]:
        """The logarithms codes 0 and 4095 stand for."""
        return math.log(self.min_m + self.shift_m), math.log(self.max_m + self.shift_m)


# lerobot's default but for its least depth of 0.01 m: 0, which is no depth, reads back as 0. Every whole mm reads back
# within 1 mm up to 1 m and within 2 mm up to 10 m.
LEROBOT: Final = DepthScale(min_m=0.0, max_m=10.0, shift_m=3.5)
# The recorder's own (pooled_episodes, section 8.2), in lerobot's words. 0 reads back as 100 mm.
CONTRACT: Final = DepthScale(min_m=0.1, max_m=5.0, shift_m=0.0)


@functools.cache
def _code_of_mm(scale: DepthScale) -> Codes:
    """`(65536,)`, in double precision; lerobot's single precision rounds some twenty of them to the code beside it."""
    low, high = scale.ends()
    depth_m = np.maximum(np.arange(1 << 16) / MM, scale.min_m)
    codes = np.rint((np.log(depth_m + scale.shift_m) - low) / (high - low) * TOP_CODE)
    return _locked(codes.clip(0, TOP_CODE).astype(np.uint16))


@functools.cache
def _mm_of_code(scale: DepthScale) -> Float64:
    """`(4096,)`, in single precision, as lerobot computes it: in double, two codes round to another mm.

    Only the exponential is computed in double and rounded, for in single precision it is not the same on all machines.
    """
    low, high = scale.ends()
    single = np.float32
    logarithms = np.arange(CODES, dtype=single) * single((high - low) / TOP_CODE) + single(low)
    depth_m = np.exp(logarithms.astype(np.float64)).astype(single) - single(scale.shift_m)
    return _locked(np.rint(depth_m.clip(single(scale.min_m), single(scale.max_m)) * single(MM)).astype(np.float64))


def _locked[Table: npt.NDArray[Any]](table: Table) -> Table:
    """One for all who ask."""
    table.flags.writeable = False
    return table
