"""Depth as 12-bit logarithmic codes, and back (sheet, section 8.2).

One code is 0.0956 % of depth. Code 0 means both 100 mm and "no depth"; a metric reader keeps the second meaning. Lossy
coding smears the 0 of a hole to some tens of codes, so that small codes are holes, too.
"""

from __future__ import annotations

import functools
from typing import Final

import numpy as np
import numpy.typing as npt

from quickdraw.core.depth import CODES, TOP_CODE, Codes, Depth

MIN_MM: Final = 100.0
MAX_MM: Final = 5000.0
INVALID_BELOW: Final = 128  # 113 mm, nearer than any of the cameras sees


def quantise(depth_mm: Depth) -> Codes:
    """The codes of `(...)` uint16 depths [mm]: 0 for 0 to 100 mm, 4095 from 4998 mm on."""
    return _code_of_mm()[np.asarray(depth_mm, np.uint16)]


def metric(codes: Codes, invalid_below: int = INVALID_BELOW) -> Depth:
    """The depths [mm] `(...)` uint16 codes stand for; 0, no depth, for every code below `invalid_below`.

    Raises ValueError for a code above 4095.
    """
    if codes.size and int(codes.max()) > TOP_CODE:
        raise ValueError(f"code {int(codes.max())}; codes are 0 to {TOP_CODE}")
    return _metric_of_code(invalid_below)[codes]


def shade(codes: Codes) -> npt.NDArray[np.uint8]:
    """Codes in 8 bits, for a colour map: code * 255 // 4095. In 16 bits the product would wrap."""
    return (codes.astype(np.int32) * 255 // TOP_CODE).astype(np.uint8)


def _step() -> float:
    """Codes a unit of ln(mm)."""
    return float(TOP_CODE / (np.log(MAX_MM) - np.log(MIN_MM)))


@functools.cache
def _code_of_mm() -> Codes:
    """`(65536,)`."""
    depth_mm = np.arange(1 << 16, dtype=np.float64)
    codes = np.rint((np.log(np.maximum(depth_mm, 1)) - np.log(MIN_MM)) * _step())
    return np.where(depth_mm > 0, np.clip(codes, 0, TOP_CODE), 0).astype(np.uint16)


@functools.cache
def _metric_of_code(invalid_below: int) -> Depth:
    """`(4096,)`."""
    depth_mm: npt.NDArray[np.float64] = np.exp(np.log(MIN_MM) + np.arange(CODES) / _step())
    depth_mm[:invalid_below] = 0
    return np.rint(depth_mm).astype(np.uint16)
