"""A decoded picture of depth as the codes it holds."""

from __future__ import annotations

from typing import Final

import numpy as np

from quickdraw.core.depth import TOP_CODE, Codes
from quickdraw.video.decoding import Picture, as_gray

GREY: Final = ("gray12le", "gray16le")


def codes_of(picture: Picture) -> Codes:
    """A decoded picture as `(H, W)` uint16 codes, of whatever format it is: as lerobot takes them."""
    grey = picture if picture.format.name in GREY else picture.reformat(format=GREY[0])
    return np.minimum(as_gray(grey), TOP_CODE)
