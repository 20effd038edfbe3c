"""Depth as colours, on one scale in mm for all pictures that are shown together; where nothing is known has its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

Rgb = npt.NDArray[np.uint8]

UNKNOWN_RGB: Final = (128, 128, 128)  # none of the scale's, which goes from near black over orange to white


@dataclass(frozen=True, slots=True)
class DepthScale:
    """Linear from `near_mm`, bright, to `far_mm`, dark."""

    near_mm: int
    far_mm: int

    def picture(self, depth_mm: npt.NDArray[np.uint16]) -> Rgb:
        """`(H, W)` uint16 [mm] as `(H, W, 3)` uint8 RGB; 0 is nothing known."""
        span = max(1, self.far_mm - self.near_mm)
        share = np.clip((self.far_mm - depth_mm.astype(np.float64)) / span, 0, 1)
        rgb = np.asarray(
            cv2.applyColorMap(np.rint(share * 255).astype(np.uint8), cv2.COLORMAP_INFERNO)[..., ::-1], np.uint8
        ).copy()
        rgb[depth_mm == 0] = UNKNOWN_RGB
        return rgb

    def bar(self, height_px: int, width_px: int) -> Rgb:
        """The scale itself, far at the left, `(height_px, width_px, 3)`."""
        values = np.linspace(self.far_mm, self.near_mm, width_px).round().astype(np.uint16)
        return self.picture(np.maximum(np.repeat(values[None], height_px, axis=0), 1))


def scale_of(pictures: Sequence[npt.NDArray[np.uint16]]) -> DepthScale:
    """From the nearest to the farthest of what is known in any, but for one in a hundred at either end."""
    known = np.concatenate([each[each > 0] for each in pictures]) if pictures else np.zeros(0)
    if not len(known):
        return DepthScale(1, 1)
    near, far = np.percentile(known, [1, 99])
    return DepthScale(int(near), max(int(near) + 1, int(np.ceil(far))))
