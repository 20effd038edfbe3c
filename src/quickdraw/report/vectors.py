"""A split's numbers as vectors, a row each, however its files store them."""

from __future__ import annotations

import math

import numpy as np

from quickdraw.core.grid import Float64
from quickdraw.formats.lerobot.reader import SplitReader

NO_NUMBERS = ("video", "image", "string")


def width_of(split: SplitReader, feature: str) -> int:
    """How many numbers a row of a feature has; 0 where there is no such feature, it has none, or they are no vector."""
    described = split.info["features"].get(feature)
    if not described or described["dtype"] in NO_NUMBERS or len(described["shape"]) > 1:
        return 0
    return math.prod(described["shape"])


def vectors_of(split: SplitReader, feature: str, episode: int) -> Float64:
    """`(T, D)` float64 of an episode, also of a single number a row, or of lists. Raises Refused."""
    values = split.array(feature, episode)
    if values.dtype == object:
        values = np.stack(values.tolist())
    return values.reshape(len(values), -1).astype(np.float64)
