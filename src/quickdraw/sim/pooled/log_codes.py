"""Depth as 12-bit logarithmic codes, computed a second time, by searching a table of thresholds.

A code's threshold is the depth half a step below its own: what lies between two thresholds has one code.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from quickdraw.sim.pooled.truth import Millimetres

MOST_CODE: Final = 4095
_NEAREST_MM, _FARTHEST_MM = 100.0, 5000.0
_RATIO: Final = math.log(_FARTHEST_MM / _NEAREST_MM) / MOST_CODE
_THRESHOLDS_MM: Final = np.array([_NEAREST_MM * math.exp((code - 0.5) * _RATIO) for code in range(1, MOST_CODE + 1)])


def codes(mm: Millimetres) -> NDArray[np.uint16]:
    """The code of each depth [mm], 0..4095; 0 (invalid), and all up to 100 mm, is 0."""
    return np.searchsorted(_THRESHOLDS_MM, mm.astype(np.float64)).astype(np.uint16)


def millimetres(code: int) -> int:
    """The depth [mm] a code stands for; of code 0, which stands for nothing too, 100."""
    return round(_NEAREST_MM * math.exp(code * _RATIO))
