"""Depth as colours, near ones warm, with a bar that tells the millimetres."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from quickdraw.core.depth import Depth
from quickdraw.formats.lerobot.depth import MM_PER_UNIT
from quickdraw.formats.lerobot.reader import SplitReader
from quickdraw.report.drawing import Rgb
from quickdraw.report.previews.canvas import write
from quickdraw.report.vectors import told_of

# Where the split's statistics tell no range [mm].
NEAR_MM, FAR_MM = 100.0, 5000.0
LEVELS: Final = 256


@dataclass(frozen=True, slots=True)
class DepthColours:
    """Colours from `near_mm` to `far_mm`, evenly in the logarithm; black is no depth.

    `colour_of_mm` is `(65536, 3)` uint8 RGB.
    """

    near_mm: float
    far_mm: float
    colour_of_mm: npt.NDArray[np.uint8]

    def picture(self, depth_mm: Depth) -> Rgb:
        """`(H, W)` uint16 depth [mm] as `(H, W, 3)` uint8 RGB."""
        coloured: Rgb = self.colour_of_mm[depth_mm]
        return coloured

    def draw_bar(self, head: Rgb) -> None:
        """The colours and the depths of their ends, at the right of a picture's head `(HEAD_PX, width, 3)`."""
        width, wide = head.shape[1], min(120, head.shape[1] // 4)
        right = width - 62
        levels = np.geomspace(self.near_mm, self.far_mm, wide).round().astype(int)
        head[8:18, right - wide : right] = self.colour_of_mm[levels]
        write(head, f"{self.near_mm:.0f}", (right - wide - 36, 17), size=0.4, most_px=34)
        write(head, f"{self.far_mm:.0f} mm", (right + 4, 17), size=0.4, most_px=58)


def depth_colours(split: SplitReader, camera: str) -> DepthColours:
    """A range that shows most of the split's pictures: its 1 % to 99 % quantiles, where statistics have them."""
    near_mm, far_mm = depth_range_mm(split, camera)
    mm = np.arange(1 << 16)
    share = np.log(np.maximum(mm, 1) / near_mm) / np.log(far_mm / near_mm)
    levels = (share.clip(0, 1) * (LEVELS - 1)).round().astype(np.uint8)
    warm_is_near = (LEVELS - 1 - levels)[:, None]
    colours = cv2.cvtColor(cv2.applyColorMap(warm_is_near, cv2.COLORMAP_TURBO), cv2.COLOR_BGR2RGB)[:, 0]
    colours[0] = 0
    return DepthColours(near_mm, far_mm, np.asarray(colours, np.uint8))


def depth_range_mm(split: SplitReader, camera: str) -> tuple[float, float]:
    """From where to where [mm] most of a depth camera's pictures are."""
    low, tenth, high = (_told_mm(split, camera, name) for name in ("q01", "q10", "q99"))
    # Holes count as 0: where there are many they are the 1 %, and half of the 10 % is a guess at it.
    near_mm = max(low, tenth / 2, NEAR_MM)
    return near_mm, high if high > near_mm + 1 else max(FAR_MM, 2 * near_mm)


def farthest_mm(split: SplitReader, camera: str) -> float:
    """The greatest depth [mm] in a camera's pictures, as far as the split's statistics tell."""
    return _told_mm(split, camera, "max") or FAR_MM


def _told_mm(split: SplitReader, camera: str, name: str) -> float:
    """A statistic of a depth camera [mm]; 0 where there is none."""
    key = split.key(camera)
    told = told_of(split, key, name)
    unit_mm = MM_PER_UNIT.get(split.info["features"][key]["info"].get("depth_unit"), 1)
    return float(told[0]) * unit_mm if told.size and np.isfinite(told[0]) else 0.0
