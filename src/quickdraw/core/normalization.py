"""What a trainer divides by: train's statistics, with geometry left alone and nothing that can blow up.

Three rules, in this order: dimensions of one geometric object (a 6D rotation) pass through every normaliser unchanged;
a dimension constant on train is scaled by 1 around its value; a pair of quantiles that fell together on a dimension
that does vary is replaced by the extremes, so that no normaliser divides by zero on data train never saw.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from quickdraw.core.statistics import Statistics

PAIRS = (("min", "max"), ("q01", "q99"), ("q10", "q90"))
INDISTINCT = 4 * np.finfo(np.float32).eps  # lerobot holds statistics in float32: nearer values may become one there
IDENTITY = {"min": -1.0, "max": 1.0, "mean": 0.0, "std": 1.0,
            "q01": -1.0, "q10": -1.0, "q50": 0.0, "q90": 1.0, "q99": 1.0}  # fmt: skip


def pinned(statistics: Statistics, identity_dims: tuple[int, ...]) -> Statistics:
    """Statistics whose `identity_dims` pass through unchanged: mean 0, std 1, every pair -1 and 1."""
    dims = list(identity_dims)
    changed: dict[str, Any] = {}
    for name, value in IDENTITY.items():
        array = getattr(statistics, name).copy()
        array[dims] = value
        changed[name] = array
    return replace(statistics, **changed)


def bounded(statistics: Statistics) -> Statistics:
    """Statistics no normaliser can divide by zero with, all `(D,)` float64.

    Where min == max == v: std 1, and every pair v - 1 and v + 1. Where only a quantile pair fell together (is equal, or
    so near that float32 may not tell): min and max.
    """
    constant = statistics.min == statistics.max
    value = statistics.min
    changed: dict[str, Any] = {"std": np.where(constant, 1.0, statistics.std)}
    for low, high in PAIRS:
        a, b = getattr(statistics, low), getattr(statistics, high)
        together = b - a <= INDISTINCT * np.maximum(np.abs(statistics.min), np.abs(statistics.max))
        changed[low] = np.where(constant, value - 1.0, np.where(together, statistics.min, a))
        changed[high] = np.where(constant, value + 1.0, np.where(together, statistics.max, b))
    return replace(statistics, **changed)


def for_training(statistics: Statistics, identity_dims: tuple[int, ...]) -> Statistics:
    """Train's statistics as trainers should use them: `bounded`, then `pinned`."""
    return pinned(bounded(statistics), identity_dims)
