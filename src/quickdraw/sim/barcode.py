"""A frame number painted into the picture, readable after scaling and lossy coding.

Two rows of twenty blocks in a strip along the top. The lower row is the complement of the upper one, so a bit is a
comparison of two neighbours and needs no threshold: brightness, scaling and compression move both alike.
Sixteen bits carry the number, four its checksum.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

type Rgb = NDArray[np.uint8]

NUMBER_BITS: Final = 16
CHECK_BITS: Final = 4
MAX_NUMBER: Final = 2**NUMBER_BITS - 1
_COLUMNS: Final = NUMBER_BITS + CHECK_BITS
# Height of one row of blocks as a part of the picture's: 24 of 480 px.
_ROW_PART: Final = 0.05
# Share of a block that is sampled, around its middle: edges are blurred by scaling.
_SAMPLED: Final = np.linspace(0.3, 0.7, 5)
_MIN_CONTRAST: Final = 60.0


def _checksum(number: int) -> int:
    """CRC-4 (x^4 + x + 1) of the sixteen bits: finds every single, double and odd error."""
    register = number << CHECK_BITS
    for shift in range(NUMBER_BITS - 1, -1, -1):
        if register & (1 << (shift + CHECK_BITS)):
            register ^= 0b10011 << shift
    return register ^ 0b1001


def _bits(number: int) -> NDArray[np.bool_]:
    word = number << CHECK_BITS | _checksum(number)
    return np.array([bool(word >> place & 1) for place in range(_COLUMNS - 1, -1, -1)])


def strip_px(height_px: int) -> int:
    """Height [px] of the painted strip in a picture of `height_px`."""
    return 2 * round(height_px * _ROW_PART)


def paint_frame_number(rgb: Rgb, number: int) -> None:
    """Paint `number` over the top tenth of `rgb` (H, W, 3) uint8, in place.

    Raises ValueError if the number needs more than sixteen bits.
    """
    if not 0 <= number <= MAX_NUMBER:
        raise ValueError(f"frame number {number} is outside 0..{MAX_NUMBER}")
    height, width = rgb.shape[:2]
    column = np.arange(width) * _COLUMNS // width
    upper = np.where(_bits(number)[column], np.uint8(255), np.uint8(0))
    strip = strip_px(height)
    rgb[: strip // 2] = upper[None, :, None]
    rgb[strip // 2 : strip] = 255 - upper[None, :, None]


def read_frame_number(rgb: Rgb) -> int:
    """The number painted into `rgb` (H, W, 3) uint8, whatever its size.

    Raises ValueError if no number is there, or one that its checksum denies.
    """
    height, width = rgb.shape[:2]
    rows = ((np.arange(2)[:, None] + _SAMPLED) * _ROW_PART * height).astype(np.intp)
    columns = ((np.arange(_COLUMNS)[:, None] + _SAMPLED) / _COLUMNS * width).astype(np.intp)
    samples = rgb[rows.ravel()][:, columns.ravel()].mean(axis=2)
    blocks = samples.reshape(2, len(_SAMPLED), _COLUMNS, len(_SAMPLED)).mean(axis=(1, 3))
    contrast = blocks[0] - blocks[1]
    if np.abs(contrast).min() < _MIN_CONTRAST:
        raise ValueError(
            f"no frame number in this picture: a block pair differs by {np.abs(contrast).min():.0f} of 255"
        )
    word = int("".join("1" if value > 0 else "0" for value in contrast), 2)
    number, check = word >> CHECK_BITS, word & (2**CHECK_BITS - 1)
    if check != _checksum(number):
        raise ValueError(f"frame number {number} fails its checksum: {check} instead of {_checksum(number)}")
    return number
