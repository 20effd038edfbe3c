"""Cubes in one picture: the blobs of each colour, as where they are and how much is seen of them."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from quickdraw.core.episode import Float32
from quickdraw.core.hues import COLOURS, REFERENCE_PX, CubeThresholds

type Mask = npt.NDArray[np.uint8]
type Counts = npt.NDArray[Any]

# A cube has a core: so many pixels [at 144 x 192] of nearly its full saturation, all of whose neighbours are its own.
# The rim that subsampled chroma draws around another cube has none.
CORE_PX = 3
# What the gripper cuts off a cube may be smaller than a speck, or too narrow for a core, where it lies beside a larger
# part: within so many times the side of both together.
PART_AREA, PART_REACH = 1 / 3, 2.0
_NEIGHBOURS = np.ones((3, 3), np.uint8)


def measure(rgb: npt.NDArray[np.uint8], ballot: npt.NDArray[np.uint8], thresholds: CubeThresholds) -> Float32:
    """`(4, 3)` float32 per colour of `COLOURS`: centre x / W, centre y / H, area [px]; zeros where it is not seen.

    `rgb` `(H, W, 3)` uint8; `ballot` as `hues.votes` gives it. A pixel covers [i, i + 1), so that the middle of the
    picture is (0.5, 0.5) at any size.
    """
    found = np.zeros((len(COLOURS), 3), np.float32)
    planes = cv2.split(cv2.cvtColor(rgb, cv2.COLOR_RGB2HSV))  # split first: three small tables are quicker than one
    hue, saturation, value = (cv2.LUT(plane, ballot[..., part]) for part, plane in enumerate(planes))
    bits = np.asarray(cv2.bitwise_and(cv2.bitwise_and(hue, saturation), value), np.uint8)
    scale = bits.size / REFERENCE_PX
    for bit in range(len(COLOURS)):
        found[bit] = _object(bits, bit, max(1.0, thresholds.min_area_px * scale), max(1.0, CORE_PX * scale))
    return found


def _object(bits: Mask, bit: int, min_area_px: float, core_px: float) -> tuple[float, float, float]:
    """Centre and area of one colour: every blob that would do as a cube, and the smaller parts beside them."""
    mask: Mask = bits & np.uint8(1 << bit)
    left, top, width, height = cv2.boundingRect(mask)
    if width * height < min_area_px:
        return 0.0, 0.0, 0.0
    left, top = max(0, left - 1), max(0, top - 1)  # one pixel more all round, so that blobs end inside
    window = slice(top, top + height + 2), slice(left, left + width + 2)
    mask = np.asarray(cv2.medianBlur(mask[window], 3), np.uint8)  # no rims of one pixel, no holes of one
    vivid = bits[window] >> 4 & mask
    core = cv2.bitwise_and(cv2.erode(mask, _NEIGHBOURS), vivid)
    if cv2.countNonZero(core) < core_px:
        return 0.0, 0.0, 0.0
    count, labels, stats, centres = cv2.connectedComponentsWithStats(mask)
    kept: Counts = np.arange(1, count)
    if count > 2:  # telling whose pixels those are takes as long as all the rest
        vivids, cores = (np.bincount(labels[chosen > 0], minlength=count) for chosen in (vivid, core))
        kept = _kept(stats[:, cv2.CC_STAT_AREA], centres, vivids, cores >= core_px, min_area_px=min_area_px)
    areas = [int(stats[blob, cv2.CC_STAT_AREA]) for blob in kept]
    area = sum(areas)
    if area < min_area_px:
        return 0.0, 0.0, 0.0
    x, y = (sum(a * centres[blob, axis] for a, blob in zip(areas, kept, strict=True)) / area + 0.5 for axis in (0, 1))
    return (x + left) / bits.shape[1], (y + top) / bits.shape[0], area


def _kept(
    areas: Counts, centres: npt.NDArray[Any], vivids: Counts, cored: npt.NDArray[np.bool_], *, min_area_px: float
) -> Counts:
    """Which blobs are the object: those of N that would do as cubes, and parts beside the largest; 0 is background."""
    cubes = cored & (areas >= min_area_px)
    cubes[0] = False
    if not cubes.any():
        return np.arange(0)
    main = int(np.where(cubes, areas, 0).argmax())
    distance = np.hypot(*(centres - centres[main]).T)
    near = (areas <= areas[main]) & (distance <= PART_REACH * np.sqrt(areas + areas[main]))
    parts = near & (areas >= min_area_px * PART_AREA) & (vivids > 0)
    parts[0] = False
    return np.flatnonzero(cubes | parts)
