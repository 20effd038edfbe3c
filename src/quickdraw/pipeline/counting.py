"""How often each level occurs in pictures of colour or depth, over the pixels that lerobot's statistics sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quickdraw.core.depth import CODES, Codes
from quickdraw.core.grid import Int64
from quickdraw.core.statistics import LEVELS, histogram, sampled_stride
from quickdraw.video.decoding import Rgb


@dataclass(slots=True)
class LevelCounts:
    """Counts per channel and level, `(C, N)` int64, over so many `pictures`."""

    counts: Int64
    pictures: int = 0

    @classmethod
    def of_colour(cls) -> LevelCounts:
        """Of no picture yet: three channels of 256 levels."""
        return cls(np.zeros((3, LEVELS), np.int64))

    @classmethod
    def of_depth(cls) -> LevelCounts:
        """Of no picture yet: one channel of 4096 codes."""
        return cls(np.zeros((1, CODES), np.int64))

    def add(self, counts: Int64) -> None:
        """One picture more."""
        self.counts += counts
        self.pictures += 1


def colour_counts(rgb: Rgb) -> Int64:
    """Of one picture `(H, W, 3)`, `(3, 256)` int64."""
    stride = sampled_stride(*rgb.shape[:2])
    return histogram(np.ascontiguousarray(rgb[::stride, ::stride]))


def code_counts(codes: Codes) -> Int64:
    """Of the codes of one picture `(H, W)`, `(1, 4096)` int64."""
    stride = sampled_stride(*codes.shape)
    return np.bincount(codes[::stride, ::stride].ravel(), minlength=CODES)[None]
