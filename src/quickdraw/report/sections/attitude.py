"""How a 6D rotation moves over all rows of a split: tilt, azimuth, singular values, and what a yaw alone would miss.

Rotations are as `core.rotation` makes them: the first two columns of a matrix, the third their cross product.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from quickdraw.core.grid import Float64, Int64
from quickdraw.formats.lerobot.reader import SplitReader

TILT_BINS: Final = 3600  # of 0.05 deg
AZIMUTH_BINS: Final = 720  # of 0.5 deg
NO_DIRECTION: Final = 1e-3  # an axis this near to the vertical [sine] has no azimuth
UPRIGHT: Final = 0.1  # where the third axis is on the whole this near to it, the first tells the azimuth


@dataclass(frozen=True, slots=True)
class Attitude:
    """Of `rows` rows, `sound` hold a rotation. Angles in degrees, over the sound ones.

    `tilts` `(TILT_BINS,)` and `azimuths` `(AZIMUTH_BINS,)` count rows from 0 to 180 and from -180 to 180 deg; the
    azimuths are those of column `heading`, 2 or, where that is upright, 0, and lie in an arc `azimuth_range_deg` wide.
    `singular` `(6,)` are the singular values of the centred cloud, by the first. `uneven` is how far columns are from
    unit length or a right angle.
    """

    rows: int
    sound: int
    tilt_deg: tuple[float, float, float, float]  # least, most, mean, standard deviation
    tilts: Int64
    azimuths: Int64
    heading: int
    azimuth_range_deg: float
    singular: Float64
    yaw_error_deg: tuple[float, float]  # mean, most
    uneven: float


def attitude(split: SplitReader, feature: str, dims: tuple[int, ...], heading: int | None = None) -> Attitude | None:
    """Measure the six `dims` of a feature in two passes over the rows. None where no row holds a rotation.

    `heading` is the column whose azimuth is told; None chooses it.

    The yaw error is the angle [deg] between each rotation and the nearest `Rz(yaw) R0`; R0 is the mean of all, turned
    by the yaws that bring them nearest to the first.
    """
    still = _still(split, feature, dims)
    if still is None:
        return None
    if heading is None:
        heading = 2 if np.hypot(still[0, 2], still[1, 2]) > UPRIGHT else 0
    measured = _Measured(heading)
    for rot6 in _blocks(split, feature, dims):
        measured.add(rot6, still)
    return measured.told()


def _blocks(split: SplitReader, feature: str, dims: tuple[int, ...]) -> Iterator[Float64]:
    for block in split.blocks([feature]):
        yield np.asarray(block[feature][:, list(dims)], np.float64)


def _sound(rot6: Float64) -> npt.NDArray[np.bool_]:
    """Which rows hold a rotation: two columns that are finite, not zero and not parallel."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.linalg.norm(np.cross(rot6[:, :3], rot6[:, 3:]), axis=1) > 1e-6)


def _matrices(rot6: Float64) -> Float64:
    """`(N, 6)` to `(N, 3, 3)`, made orthonormal in the order of the columns."""
    first = rot6[:, :3] / np.linalg.norm(rot6[:, :3], axis=1, keepdims=True)
    second = rot6[:, 3:] - (rot6[:, 3:] * first).sum(axis=1, keepdims=True) * first
    second /= np.linalg.norm(second, axis=1, keepdims=True)
    return np.stack([first, second, np.cross(first, second)], axis=-1)


def _yaws(rotations: Float64, still: Float64) -> Float64:
    """`(N,)` yaws [rad] that turn `still` about the vertical as near as may be to each rotation."""
    first, second = rotations[:, 0], rotations[:, 1]
    sine, cosine = second @ still[0] - first @ still[1], first @ still[0] + second @ still[1]
    return np.asarray(np.arctan2(sine, cosine), np.float64)


def _turned(matrices: Float64, yaws: Float64) -> Float64:
    """`(3, 3)` or `(N, 3, 3)` matrices turned about the vertical by `(N,)` yaws [rad]: `(N, 3, 3)`."""
    cosine, sine = np.cos(yaws)[:, None], np.sin(yaws)[:, None]
    first, second, third = (matrices[..., row, :] for row in range(3))
    rows = (cosine * first - sine * second, sine * first + cosine * second, np.broadcast_to(third, (len(yaws), 3)))
    return np.stack(rows, axis=-2)


def _still(split: SplitReader, feature: str, dims: tuple[int, ...]) -> Float64 | None:
    """R0 `(3, 3)`: the mean of all rotations, their yaw taken out."""
    first, total = None, np.zeros((3, 3))
    for rot6 in _blocks(split, feature, dims):
        rotations = _matrices(rot6[_sound(rot6)])
        if not len(rotations):
            continue
        first = rotations[0] if first is None else first
        total += _turned(rotations, -_yaws(rotations, first)).sum(axis=0)
    if first is None:
        return None
    left, _, right = np.linalg.svd(total)
    return np.asarray(left @ np.diag([1, 1, np.linalg.det(left @ right)]) @ right, np.float64)


@dataclass(slots=True)
class _Measured:
    """What grows from block to block."""

    heading: int
    rows: int = 0
    sound: int = 0
    first: Float64 | None = None
    total: Float64 = field(default_factory=lambda: np.zeros(6))
    products: Float64 = field(default_factory=lambda: np.zeros((6, 6)))
    tilt_ends: tuple[float, float] = (np.inf, -np.inf)
    tilt_deg: float | None = None  # the first
    tilt_sums: Float64 = field(default_factory=lambda: np.zeros(2))  # of how far tilts are from that, and its square
    tilts: Int64 = field(default_factory=lambda: np.zeros(TILT_BINS, np.int64))
    azimuths: Int64 = field(default_factory=lambda: np.zeros(AZIMUTH_BINS, np.int64))
    azimuth_low: Float64 = field(default_factory=lambda: np.full(AZIMUTH_BINS, np.inf))
    azimuth_high: Float64 = field(default_factory=lambda: np.full(AZIMUTH_BINS, -np.inf))
    error_sum: float = 0.0
    error_most: float = 0.0
    uneven: float = 0.0

    def add(self, rot6: Float64, still: Float64) -> None:
        self.rows += len(rot6)
        rot6 = rot6[_sound(rot6)]
        if not len(rot6):
            return
        self.sound += len(rot6)
        self.first = rot6[0] if self.first is None else self.first
        apart = rot6 - self.first
        self.total += apart.sum(axis=0)
        self.products += apart.T @ apart
        lengths = np.linalg.norm(rot6.reshape(-1, 2, 3), axis=2)
        angles = (rot6[:, :3] * rot6[:, 3:]).sum(axis=1)
        self.uneven = max(self.uneven, float(np.abs(lengths - 1).max()), float(np.abs(angles).max()))
        rotations = _matrices(rot6)
        self._add_axes(rotations)
        # By the chord: an arc cosine loses small angles.
        missed = (rotations - _turned(still, _yaws(rotations, still))).reshape(-1, 9)
        chord = np.linalg.norm(missed, axis=1) / np.sqrt(8)
        error_deg = np.degrees(2 * np.arcsin(np.minimum(chord, 1)))
        self.error_sum += float(error_deg.sum())
        self.error_most = max(self.error_most, float(error_deg.max()))

    def _add_axes(self, rotations: Float64) -> None:
        """The third column's angle from straight down, and where the heading one points, seen from above."""
        axis = rotations[:, :, 2]
        tilt_deg = np.degrees(np.arctan2(np.hypot(axis[:, 0], axis[:, 1]), -axis[:, 2]))
        self.tilt_ends = (min(self.tilt_ends[0], float(tilt_deg.min())), max(self.tilt_ends[1], float(tilt_deg.max())))
        self.tilt_deg = float(tilt_deg[0]) if self.tilt_deg is None else self.tilt_deg
        apart_deg = tilt_deg - self.tilt_deg
        self.tilt_sums += [apart_deg.sum(), (apart_deg**2).sum()]
        self.tilts += _counted(tilt_deg * (TILT_BINS / 180), TILT_BINS)
        x, y = rotations[:, 0, self.heading], rotations[:, 1, self.heading]
        azimuth_deg = np.degrees(np.arctan2(y, x))[np.hypot(x, y) > NO_DIRECTION]
        place = (azimuth_deg + 180) * (AZIMUTH_BINS / 360)
        self.azimuths += _counted(place, AZIMUTH_BINS)
        at = np.clip(place.astype(np.int64), 0, AZIMUTH_BINS - 1)
        np.minimum.at(self.azimuth_low, at, azimuth_deg)
        np.maximum.at(self.azimuth_high, at, azimuth_deg)

    def told(self) -> Attitude:
        apart_deg = self.tilt_sums[0] / self.sound
        mean = (self.tilt_deg or 0.0) + apart_deg
        std = float(np.sqrt(max(0.0, self.tilt_sums[1] / self.sound - apart_deg**2)))
        centred = self.products - np.outer(self.total, self.total) / self.sound
        values = np.sqrt(np.maximum(np.linalg.eigvalsh(centred)[::-1], 0))
        return Attitude(
            rows=self.rows,
            sound=self.sound,
            tilt_deg=(*self.tilt_ends, float(mean), std),
            tilts=self.tilts,
            azimuths=self.azimuths,
            heading=self.heading,
            azimuth_range_deg=_arc(self.azimuths, self.azimuth_low, self.azimuth_high),
            singular=values / values[0] if values[0] > 0 else np.zeros(6),
            yaw_error_deg=(self.error_sum / self.sound, self.error_most),
            uneven=self.uneven,
        )


def _counted(place: Float64, bins: int) -> Int64:
    return np.bincount(np.clip(place.astype(np.int64), 0, bins - 1), minlength=bins)


def _arc(counts: Int64, low: Float64, high: Float64) -> float:
    """How wide the shortest arc is that holds all azimuths [deg], NaN where there are none; `low` and `high` by bin."""
    taken = np.flatnonzero(counts)
    if not len(taken):
        return float("nan")
    gaps = np.append(low[taken[1:]], low[taken[0]] + 360) - high[taken]
    return float(360 - gaps.max())
