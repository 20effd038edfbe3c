"""The cubes' colours in one episode: which hues stand out, and how a pixel's hue, saturation and value vote for a cube.

Hues are circular throughout: in degrees [0, 360) here, in OpenCV's 8-bit bins of 2 degrees (0..179) in arrays. Red lies
on both sides of 0. Each camera of each episode is looked at by itself, for each camera balances its white by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from quickdraw.core.grid import Float64, Int64

COLOURS: Final = ("red", "green", "blue", "purple")
BINS, LEVELS = 180, 256
DEGREES_PER_BIN: Final = 2
# A picture's measures in pixels are given at the size the specification gives them for, and scale with its area.
REFERENCE_PX: Final = 144 * 192

# Where a colour's peak may lie [deg], from, to. Wood and skin (about 20..45) lie outside.
HUE_RANGES: Final = {"red": (330, 18), "green": (75, 175), "blue": (190, 250), "purple": (250, 325)}
# The share of its colour's own saturation a cube's pixel has at least: a pixel half cube, half table has about so much.
# Red asks for more: wood and its mirrored red are of a hue with it, and a purple cube's rim over wood is a pale red.
EDGE_SATURATION: Final = {"red": 0.64, "green": 0.45, "blue": 0.42, "purple": 0.42}
# Pixels of nearly the full saturation make the core of a cube; mixtures of two colours do not reach it.
CORE_SATURATION: Final = 0.75
# A cube's hues end this far from its peak [bins], or where another colour, or the table, is nearer.
REACH_BINS: Final = 22
# The table is what covers a tenth of the pictures at any but the faintest saturation, or, of a hue that a cube may have
# (red up to 10 deg), two fifths: no cube covers that much of a whole episode.
TABLE_PX_SHARE, CUBE_LIKE_TABLE_PX_SHARE, TABLE_SATURATION = 0.1, 0.4, 0.2
CUBE_HUES: Final = {**HUE_RANGES, "red": (330, 10)}
# Most of it is so near its hue, and some of it so far [bins].
TABLE_CORE_BINS, TABLE_REACH_BINS = 2, 12
# What a colour goes by where too little of it is seen for a peak of its own: hue [deg] and saturation of a plain one.
PLAIN_HUES, PLAIN_SATURATION = {"red": 0, "green": 130, "blue": 226, "purple": 280}, 0.85
# A peak's median lies so far above the least saturation it is sought at, or it is the tail of something fainter.
FAINT_SATURATION: Final = 0.05
# A cube's own hues scatter by about this much [bins]; counts are smoothed by it, and a peak holds what is twice as far.
_SMOOTHING_BINS: Final = 2.0
_NEAR_BINS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class CubeThresholds:
    """What counts as a cube. Saturation and value in [0, 1] as in HSV; areas [px] at 144 x 192.

    A pixel needs `min_value` and `min_saturation`; one of `peak_saturation` takes part in the search for peaks. A blob
    of less than `min_area_px` is a speck. A colour is in an episode where it covers `evidence_area_px` in
    `evidence_share` of the rows, and at least in ten. configs/processor/block_stack.yaml gives the reasons.
    """

    min_value: float = 0.12
    min_saturation: float = 0.35
    peak_saturation: float = 0.5
    min_area_px: float = 16
    evidence_area_px: float = 30
    evidence_share: float = 0.02


@dataclass(frozen=True, slots=True)
class Peak:
    """A hue that stands out [bins] and how saturated its pixels are, median in [0, 1]."""

    hue_bin: int
    saturation: float

    @property
    def hue_deg(self) -> int:
        """The hue in degrees."""
        return self.hue_bin * DEGREES_PER_BIN


def counts_of(rgb: npt.NDArray[np.uint8], thresholds: CubeThresholds) -> Int64:
    """How many pixels of `(H, W, 3)` uint8 RGB have each hue and saturation, `(180, 256)` int64; dark ones left out."""
    hsv = cv2.cvtColor(rgb, cv2.COLOR_RGB2HSV)
    bright = (hsv[..., 2] >= round(thresholds.min_value * 255)).astype(np.uint8)
    return np.asarray(cv2.calcHist([hsv], [0, 1], bright, [BINS, LEVELS], [0, BINS, 0, LEVELS]), np.int64)


def find_peaks(counts: Int64, pictures: int, picture_px: int, thresholds: CubeThresholds) -> dict[str, Peak]:
    """The cubes' colours that stand out of `(180, 256)` counts over `pictures` pictures, by name.

    A colour has a peak where its range of hues has a maximum that rises to twice the valleys beside it, is not the
    table's, and holds as many pixels as a cube just large enough to be evidence, vivid ones most of them.
    """
    table = table_bin(counts, pictures * picture_px)
    vivid = np.where(np.arange(LEVELS) >= _vivid_levels(counts, table, thresholds)[:, None], counts, 0)
    least = thresholds.evidence_area_px * picture_px / REFERENCE_PX * thresholds.evidence_share * pictures
    heights = _smooth(vivid.sum(axis=1))
    peaks = {}
    for colour, hues in HUE_RANGES.items():
        tops = [top for top in _bins(hues) if _is_top(heights, top)]
        if table is not None:
            tops = [top for top in tops if _apart(np.array(top), table) > TABLE_CORE_BINS]
        if not tops:
            continue
        top = max(tops, key=heights.__getitem__)
        near = vivid[_apart(np.arange(BINS), top) <= _NEAR_BINS].sum(axis=0)
        saturation = float(np.searchsorted(np.cumsum(near), near.sum() / 2)) / 255
        if near.sum() >= least and saturation >= thresholds.peak_saturation + FAINT_SATURATION:
            peaks[colour] = Peak(top, saturation)
    return peaks


def _vivid_levels(counts: Int64, table: int | None, thresholds: CubeThresholds) -> Int64:
    """From which saturation on a pixel of each hue takes part in the search, `(180,)` levels.

    Around the table's hue it must be more saturated than the table is, so that a red cube stands out of a reddish one:
    beyond its 95th percentile by as much as that is beyond its median.
    """
    levels = np.full(BINS, round(thresholds.peak_saturation * 255))
    if table is not None:
        apart = _apart(np.arange(BINS), table)
        cumulative = np.cumsum(counts[apart <= TABLE_CORE_BINS].sum(axis=0))
        median, high = np.searchsorted(cumulative, np.array([0.5, 0.95]) * cumulative[-1])
        levels[apart <= TABLE_REACH_BINS] = np.maximum(levels, high + (high - median))[apart <= TABLE_REACH_BINS]
    return levels


def table_bin(counts: Int64, pixels: int) -> int | None:
    """The hue of what covers most of the pictures [bins], where something coloured covers enough of their `pixels`."""
    coloured = counts[:, round(TABLE_SATURATION * 255) :].sum(axis=1)
    cube_like = np.isin(np.arange(BINS), [number for hues in CUBE_HUES.values() for number in _bins(hues)])
    for counted, share in (
        (np.where(cube_like, 0, coloured), TABLE_PX_SHARE),
        (coloured, CUBE_LIKE_TABLE_PX_SHARE),
    ):
        top = int(_smooth(counted).argmax())
        if counted[_apart(np.arange(BINS), top) <= _NEAR_BINS].sum() >= share * pixels:
            return top
    return None


def votes(peaks: Mapping[str, Peak], table: int | None, thresholds: CubeThresholds) -> npt.NDArray[np.uint8]:
    """`(1, 256, 3)` uint8 for `cv2.LUT` on an HSV picture: what hue, saturation and value each say of a pixel.

    Bit k is set where it may belong to `COLOURS[k]`, bit 4 + k where it may be of its core; it does where all three
    agree. Colours without a peak go by their plain hue.
    """
    ballot = np.zeros((1, LEVELS, 3), np.uint8)
    bins, levels = np.arange(BINS), np.arange(LEVELS) / 255
    every = {colour: Peak(PLAIN_HUES[colour] // DEGREES_PER_BIN, PLAIN_SATURATION) for colour in COLOURS} | dict(peaks)
    distance = np.stack([_apart(bins, every[colour].hue_bin) for colour in COLOURS])
    nearest = distance.argmin(axis=0)
    for bit, colour in enumerate(COLOURS):
        own = (nearest == bit) & (distance[bit] <= REACH_BINS)
        if table is not None:
            own &= distance[bit] < _apart(bins, table)
        saturation = every[colour].saturation
        edge = levels >= max(thresholds.min_saturation, EDGE_SATURATION[colour] * saturation)
        core = edge & (levels >= CORE_SATURATION * saturation)
        ballot[0, :BINS, 0] |= (own * (0x11 << bit)).astype(np.uint8)
        ballot[0, :, 1] |= (edge * (0x01 << bit) + core * (0x10 << bit)).astype(np.uint8)
    ballot[0, round(thresholds.min_value * 255) :, 2] = 0xFF
    return ballot


def _bins(hues_deg: tuple[int, int]) -> list[int]:
    """The bins of a range of hues, which may pass 0."""
    first, end = (hue // DEGREES_PER_BIN for hue in hues_deg)
    return [number % BINS for number in range(first, end + (BINS if end < first else 0))]


def _apart(hue_bins: npt.NDArray[np.int_], other: int) -> Int64:
    """Distance around the circle [bins], 0..90."""
    return np.abs((hue_bins - other + BINS // 2) % BINS - BINS // 2)


def _smooth(counts: Int64) -> Float64:
    """Counts per hue, blurred around the circle."""
    reach = 3 * round(_SMOOTHING_BINS)
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / _SMOOTHING_BINS) ** 2)
    around = np.concatenate([counts[-reach:], counts, counts[:reach]]).astype(np.float64)
    return np.convolve(around, kernel / kernel.sum(), "valid")


def _is_top(heights: Float64, top: int) -> bool:
    """Whether a bin is a maximum that rises to twice the valley on either side, down to where higher ground begins."""
    height = heights[top]
    if height <= 0 or height < heights[(top - 1) % BINS] or height < heights[(top + 1) % BINS]:
        return False
    for step in (-1, 1):
        path = heights[(top + step * np.arange(1, BINS)) % BINS]
        higher = np.flatnonzero(path > height)
        if path[: higher[0] if len(higher) else None].min(initial=height) * 2 > height:
            return False
    return True
