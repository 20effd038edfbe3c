"""Depth of a split's cameras, by what info.json says of it: 12-bit codes, and how far away each of them is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from quickdraw.core.depth import MM, TOP_CODE, DepthScale
from quickdraw.core.grid import Float64

MM_PER_UNIT = {"mm": 1, "m": 1000}  # of `depth_unit`, which statistics are in
MOST_M = 65.535  # what lerobot hands on is millimetres in 16 bits
KEYS = ("video.depth_min", "video.depth_max", "video.shift")


def is_depth(info: Mapping[str, Any]) -> bool:
    """Whether a camera's pictures are depth; lerobot before 0.5 had the other key."""
    return any(info.get(key) is True for key in ("is_depth_map", "video.is_depth_map"))


def odd_depth(info: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is missing of a depth camera's scale or cannot be, (found, expected)."""
    missing = [key for key in KEYS if not _is_number(info.get(key))]
    for key in missing:
        yield f"{key} {_short(info.get(key))}", "a number of metres"
    if not isinstance(info.get("video.use_log"), bool):
        yield f"video.use_log {_short(info.get('video.use_log'))}", "true or false"
    elif not missing:
        low, high, shift = (float(info[key]) for key in KEYS)
        if not 0 <= low < high <= MOST_M:
            yield f"depth from {low} to {high} m", f"a range within 0 to {MOST_M} m"
        elif info["video.use_log"] and low + shift <= 0:
            yield f"video.depth_min {low} and video.shift {shift}", "a sum above 0, which has a logarithm"
    if info.get("depth_unit") not in MM_PER_UNIT:
        yield f"depth_unit {_short(info.get('depth_unit'))}", " or ".join(MM_PER_UNIT)


def depth_levels(info: Mapping[str, Any]) -> Float64:
    """`(4096,)` float64 [mm]: what lerobot gives for each code. Raises ValueError where that is not told."""
    for found, expected in odd_depth(info):
        raise ValueError(f"{found}, expected {expected}")
    if info["video.use_log"]:
        return depth_scale(info).levels
    low_mm, high_mm = (MM * float(info[key]) for key in KEYS[:2])
    linear: Float64 = np.rint(np.linspace(low_mm, high_mm, TOP_CODE + 1))
    return linear


def depth_scale(info: Mapping[str, Any]) -> DepthScale:
    """The logarithmic scale. Raises ValueError where none is told."""
    for found, expected in odd_depth(info):
        raise ValueError(f"{found}, expected {expected}")
    if not info["video.use_log"]:
        raise ValueError("depth on a linear scale, expected a logarithmic one")
    return DepthScale(*(float(info[key]) for key in KEYS))


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _short(value: object) -> str:
    return repr(value)[:60]
