"""Stamps as a recorder is handed them: whole nanoseconds in 64 bits, or they are no stamps (contract 7.1).

Stamps that went through 32 bits flip their sign every 2.1 s and pair nothing with anything; ones that went through a
float lose their last digits. Both are a caller's fault and are told at once.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from quickdraw.core.grid import Int64

_NARROWEST = 8  # bytes
_FIRST, _LAST = -(1 << 63), (1 << 63) - 1


def whole_ns(stamp: Any) -> int:
    """A stamp [ns]; 0, which is no stamp, for None and for a negative one.

    Raises TypeError for a float and for a NumPy integer narrower than 64 bits, ValueError past 64 bits.
    """
    if stamp is None:
        return 0
    if isinstance(stamp, np.integer) and stamp.dtype.itemsize < _NARROWEST:
        raise TypeError(f"a stamp of {stamp.dtype}; nanoseconds need 64 bits")
    try:
        whole = operator.index(stamp)
    except TypeError:
        raise TypeError(f"a stamp of {type(stamp).__name__}; it is a whole number of nanoseconds") from None
    if not _FIRST <= whole <= _LAST:
        raise ValueError(f"a stamp of {whole} ns; nanoseconds have 64 bits")
    return max(whole, 0)


def whole_ns_array(stamps: Any) -> Int64:
    """Stamps as int64 [ns], a copy, 0 where there is none. Raises as `whole_ns` does."""
    if not isinstance(stamps, np.ndarray):
        return np.array([whole_ns(each) for each in stamps], np.int64)
    if stamps.dtype.kind not in "iu" or stamps.dtype.itemsize < _NARROWEST:
        raise TypeError(f"stamps of {stamps.dtype}; nanoseconds are whole numbers of 64 bits")
    return np.maximum(stamps.astype(np.int64), 0)
