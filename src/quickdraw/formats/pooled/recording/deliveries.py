"""What a sensor handed over, as an array of our own."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def delivered[T: np.generic](values: Any, dtype: type[T]) -> npt.NDArray[T] | None:
    """A copy, since sources reuse their buffers; None for what is no array of numbers, a ragged list for one.

    What is too large for `dtype` becomes infinite.
    """
    with np.errstate(over="ignore"):
        try:
            return np.array(values, dtype)
        except (TypeError, ValueError):
            return None
