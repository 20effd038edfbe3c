"""All that is measured of one camera's clip, decoding as little of it as will do.

Where cubes are followed every picture is decoded anyway, and the colours are counted on the way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from quickdraw.core.cubes import Track
from quickdraw.core.grid import Int64
from quickdraw.core.hues import CubeThresholds
from quickdraw.core.statistics import LEVELS, histogram, sampled_frames, sampled_stride
from quickdraw.errors import VideoError
from quickdraw.pipeline.tracking import learn_hues, surveyed
from quickdraw.video.decoding import Rgb, as_gray, as_rgb, pictures, pictures_at

CODES = 1 << 12  # of a picture of depth


@dataclass(slots=True)
class Colours:
    """Counts per channel and level, `(3, 256)` int64, over every `stride`-th pixel of so many `pictures`."""

    stride: int
    counts: Int64 = field(default_factory=lambda: np.zeros((3, LEVELS), np.int64))
    pictures: int = 0

    def add(self, rgb: Rgb) -> None:
        """Count one picture."""
        self.counts += histogram(np.ascontiguousarray(rgb[:: self.stride, :: self.stride]))
        self.pictures += 1

    def counting(self, shown: Iterable[Rgb], numbers: Collection[int]) -> Iterator[Rgb]:
        """Hand pictures on; those of these numbers are counted."""
        for number, rgb in enumerate(shown):
            if number in numbers:
                self.add(rgb)
            yield rgb


@dataclass(slots=True)
class Codes:
    """Counts per code of depth, `(1, 4096)` int64, over every `stride`-th pixel of so many `pictures`."""

    stride: int
    counts: Int64 = field(default_factory=lambda: np.zeros((1, CODES), np.int64))
    pictures: int = 0

    def add(self, codes: npt.NDArray[np.uint16]) -> None:
        """Count one picture `(H, W)`."""
        self.counts[0] += np.bincount(codes[:: self.stride, :: self.stride].ravel(), minlength=CODES)
        self.pictures += 1


def count_codes(clip: Path, frames: int, size_px: tuple[int, int]) -> Codes:
    """Codes of the pictures of depth lerobot would sample, of a clip of `frames`.

    Raises VideoError where what is looked at is damaged, or not there.
    """
    sampled, codes = frozenset(sampled_frames(frames).tolist()), Codes(sampled_stride(*size_px))
    for _, picture in pictures_at(clip, sampled):
        codes.add(as_gray(picture))
    _refuse_fewer(clip, codes.pictures, len(sampled), frames)
    return codes


def _refuse_fewer(clip: Path, found: int, sampled: int, frames: int) -> None:
    if found != sampled:
        raise VideoError(str(clip), f"{found} of its pictures", f"{sampled} of {frames}")


def look_at(
    clip: Path, frames: int, size_px: tuple[int, int], thresholds: CubeThresholds | None
) -> tuple[Colours, Track | None]:
    """Colours of the pictures lerobot would sample, and where there are thresholds, the cubes in every one of `frames`.

    `size_px` is height and width. Raises VideoError where what is looked at is damaged, or not there.
    """
    sampled, colours = frozenset(sampled_frames(frames).tolist()), Colours(sampled_stride(*size_px))
    if thresholds is None:
        for _, picture in pictures_at(clip, sampled):
            colours.add(as_rgb(picture))
        _refuse_fewer(clip, colours.pictures, len(sampled), frames)
        return colours, None
    # Every fifth picture: with a keyframe as often, as clips have by default, no others are decoded for it.
    (hues,) = learn_hues(pictures_at(clip, surveyed([frames])), [frames], thresholds)
    return colours, hues.follow(colours.counting(map(as_rgb, pictures(clip)), sampled), frames)
