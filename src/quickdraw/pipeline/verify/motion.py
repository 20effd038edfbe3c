"""How much of what a camera shows is changing, from small grey copies of its pictures."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
import numpy.typing as npt
from scipy.ndimage import maximum_filter1d, minimum_filter1d

from quickdraw.core.grid import Float64
from quickdraw.video.decoding import Picture

type Grey = npt.NDArray[np.uint8]

# A picture in 32 x 24 fields, whole pixels at most picture sizes: an encoder's noise averages out in one, what an arm
# does in front of it doesn't.
FIELDS_WIDE, FIELDS_HIGH = 32, 24
THUMB_HIGH_PX = 72


def grey_of(picture: Picture) -> Grey:
    """A decoded picture as `(H, W)` uint8 levels of grey."""
    return np.asarray(picture.to_ndarray(format="gray"), np.uint8)


def fields_of(grey: Grey) -> Grey:
    """Mean level of each field of a picture `(H, W)` uint8, `(24, 32)` uint8."""
    return np.asarray(cv2.resize(grey, (FIELDS_WIDE, FIELDS_HIGH), interpolation=cv2.INTER_AREA), np.uint8)


def thumb_of(grey: Grey, width_over_height: float) -> Grey:
    """A picture `(H, W)` uint8 scaled by area to 72 rows; alike from a dataset's picture and from its source's."""
    width_px = round(THUMB_HIGH_PX * width_over_height)
    return np.asarray(cv2.resize(grey, (width_px, THUMB_HIGH_PX), interpolation=cv2.INTER_AREA), np.uint8)


def step_between(before: Grey | None, now: Grey) -> tuple[float, float]:
    """Difference of two pictures in a row [levels]: mean, and of the middle one of its fields; 0 for the first one.

    The second is what noise alone makes, where less than half of the picture moves.
    """
    if before is None:
        return 0.0, 0.0
    off = cv2.absdiff(before, now).astype(np.float32)
    fields = np.asarray(cv2.resize(off, (FIELDS_WIDE, FIELDS_HIGH), interpolation=cv2.INTER_AREA), np.float64)
    return float(off.mean()), float(np.median(fields))


def changes(fields: Sequence[Grey], rate_hz: int) -> Float64:
    """How much the field that changes most changes in the second that ends with each picture, `(T,)` [levels].

    `fields` are of T pictures in a row; NaN in the first second.
    """
    seconds = np.full(len(fields), np.nan)
    if len(fields) >= rate_hz:
        shown, to_its_end = np.stack(fields), (rate_hz - 1) // 2  # the filters' windows lie around a picture
        highest = maximum_filter1d(shown, rate_hz, axis=0, origin=to_its_end)
        lowest = minimum_filter1d(shown, rate_hz, axis=0, origin=to_its_end)
        seconds[rate_hz - 1 :] = (highest.astype(np.int64) - lowest).max(axis=(1, 2))[rate_hz - 1 :]
    return seconds
