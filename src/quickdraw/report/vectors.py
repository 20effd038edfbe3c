"""A split's numbers as vectors, a row each, however its files store them."""

from __future__ import annotations

import math

import numpy as np

from quickdraw.core.grid import Float64
from quickdraw.errors import Refused
from quickdraw.formats.lerobot.reader import SplitReader

NO_NUMBERS = ("video", "image", "string")


def width_of(split: SplitReader, feature: str) -> int:
    """How many numbers a row of a feature has; 0 where there is no such feature, it has none, or they are no vector."""
    described = split.info["features"].get(feature)
    if not described or described["dtype"] in NO_NUMBERS or len(described["shape"]) > 1:
        return 0
    return math.prod(described["shape"])


def vectors_of(split: SplitReader, feature: str, episode: int) -> Float64:
    """`(T, D)` float64 of an episode, also of a single number a row. Raises Refused."""
    values = split.array(feature, episode)
    return values.reshape(len(values), -1).astype(np.float64)


def told_of(split: SplitReader, feature: str, statistic: str) -> Float64:
    """A statistic of a feature as stats.json tells it, `(N,)` float64; `(0,)` where it tells none that can be read.

    For what is drawn by it alone: a picture of the rows needs no statistics to be right.
    """
    try:
        told = split.statistics.get(feature, {}).get(statistic, [])
        return np.ravel(np.asarray(told, np.float64))
    except (Refused, ValueError, TypeError, OverflowError):
        return np.zeros(0)
