"""What fingers felt: the row's own force, and force matrices summed up over all or over patches (contract 7.2.1).

A matrix is 750 kB decoded. Each is summed up as it comes, so that memory does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from quickdraw.core.episode import Float32
from quickdraw.core.grid import Int64
from quickdraw.core.resample import Displacement
from quickdraw.data.pooled_episodes.frames import Frames
from quickdraw.data.pooled_episodes.ranges import SIDE_TAXELS
from quickdraw.data.pooled_episodes.sampled import NO_CLOCK, Sampled, displacement, has_clock, none, of_rows
from quickdraw.formats.pooled import matrices, series
from quickdraw.formats.pooled.align import NotAlignable, nearest
from quickdraw.formats.pooled.data import DataFile


class Placing(NamedTuple):
    """The row of the file whose matrix each of the T frames takes, -1 for none; `why` where there is none for any."""

    source: Int64
    why: str
    displacement: Displacement | None


def force(data: DataFile, column: str, frames: Frames) -> Sampled:
    """`(T, 3)` [mN], the row's own; 0 where its stamp is 0. Raises Refused as `series.force` does."""
    found = series.force(data, column)
    return of_rows(found.mn[frames.rows], None if found.ns is None else found.ns[frames.rows] != 0)


def placing(data: DataFile, column: str, frames: Frames) -> Placing:
    """Which matrix is nearest to each frame, and within half the median time between two; nothing is decoded.

    Frames before the first matrix and after the last take none. Raises Refused where the column is damaged.
    """
    nowhere, stamped = np.full(len(frames), -1, np.int64), f"{column}_ns"
    if not has_clock(frames):
        return Placing(nowhere, NO_CLOCK, None)
    if stamped not in data:
        return Placing(nowhere, "no stamps to align it by", None)
    ns = data.column(stamped)
    stamps = np.where(matrices.whole_matrices(data, column, ns), ns, 0)
    try:
        chosen = nearest(stamps, frames.hardware_ns)
    except NotAlignable as error:
        return Placing(nowhere, error.reason, None)
    near = (frames.hardware_ns != 0) & (chosen.residual_ns <= chosen.bound_ns) & ~chosen.out_of_range
    moved = displacement(chosen.residual_ns[near], np.sort(stamps[stamps > 0]))
    return Placing(np.where(near, chosen.index, -1), "" if near.any() else "no matrix near any frame", moved)


def summed(data: DataFile, column: str, frames: Frames, cells: tuple[int, int], *, scale: int) -> Sampled:
    """`(T, H * W * 3)` [mN], the sums over each of `cells` (H, W) patches; 0 where a row has no matrix near it.

    Raises Refused where the column is damaged.
    """
    placed = placing(data, column, frames)
    wide = cells[0] * cells[1] * 3
    if not (placed.source >= 0).any():
        return none(len(frames), np.zeros(wide, np.float32), placed.why)
    wanted = np.unique(placed.source[placed.source >= 0])
    values, found = np.zeros((len(wanted), wide), np.float32), np.zeros(len(wanted), np.bool_)
    for at, sums in _sums(data, column, wanted, cells, scale=scale):
        values[at], found[at] = sums, True
    at = np.searchsorted(wanted, np.maximum(placed.source, wanted[0]))
    return of_rows(values[at], (placed.source >= 0) & found[at])


def patches(mn: Float32, height: int, width: int) -> Float32:
    """A matrix `(250, 250, 3)` [mN] as the sums over `height` by `width` patches, `(H * W * 3,)`, added in float64."""
    rows = mn.reshape(height, SIDE_TAXELS // height, SIDE_TAXELS * 3).sum(axis=1, dtype=np.float64)
    found = rows.reshape(height, width, SIDE_TAXELS // width, 3).sum(axis=2)
    with np.errstate(over="ignore"):  # what float32 does not hold is told as not finite
        return np.asarray(found, np.float32).ravel()


def _sums(
    data: DataFile, column: str, wanted: Int64, cells: tuple[int, int], *, scale: int
) -> Iterator[tuple[int, Float32]]:
    place = {int(row): at for at, row in enumerate(wanted)}
    for sample in matrices.samples(data, column, scale=scale):
        if sample.row in place:
            with np.errstate(invalid="ignore"):  # of infinities
                yield place[sample.row], patches(sample.mn, *cells)
