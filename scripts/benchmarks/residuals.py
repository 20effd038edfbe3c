"""How far pictures of an encoded file are from what they were made from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from quickdraw.core.grid import Int64
from quickdraw.video.decoding import as_rgb, pictures

EVERY = 29  # a prime: no keyframe interval and no loop of the footage keeps step with it


def residual(clip: Path, source: Path, shown: Int64) -> float:
    """Mean |difference| of 0..255 RGB between every 29th picture of a clip and its source, scaled by area by OpenCV.

    Picture i of the clip shows picture `shown[i]` of the source, `(T,)` int64. Raises ValueError where one is missing.
    """
    rows = np.arange(0, len(shown), EVERY)
    wanted = _scaled(source, set(shown[rows].tolist()), clip)
    made = {number: as_rgb(picture) for number, picture in enumerate(pictures(clip)) if number % EVERY == 0}
    if len(made) < len(rows):
        raise ValueError(f"{clip}: {len(made)} of {len(rows)} pictures, each {EVERY}th")
    differences = [cv2.absdiff(made[row], wanted[int(shown[row])]).mean() for row in rows.tolist()]
    return float(np.mean(differences))


def _scaled(source: Path, numbers: set[int], like: Path) -> Mapping[int, npt.NDArray[np.uint8]]:
    """Pictures of a file by number, `(H, W, 3)` uint8, as large as those of `like`."""
    first = next(iter(pictures(like)))
    size_px = (first.width, first.height)
    return {
        number: np.asarray(cv2.resize(as_rgb(picture), size_px, interpolation=cv2.INTER_AREA), np.uint8)
        for number, picture in enumerate(pictures(source))
        if number in numbers
    }
