"""Columns whose rows are samples: gloves and their IMUs, hand poses, gripper states, clocks (contract 7.2)."""

from __future__ import annotations

import numpy as np

from quickdraw.core.grid import Int64, to_ns
from quickdraw.data.pooled_episodes.frames import Frames
from quickdraw.data.pooled_episodes.naming import HARDWARE, WALL, Kind, kind_of
from quickdraw.data.pooled_episodes.sampled import Sampled, of_rows
from quickdraw.formats.pooled.data import DataFile


def sampled(data: DataFile, column: str, width: int, frames: Frames) -> Sampled:
    """A column `(T, width)` on the rows of an episode. Raises Refused where it is damaged or of another width.

    Of hand poses and quaternions a row of zeros is no sample, for it tells no hand and no rotation; of pressures and
    states it may be one.
    """
    found = data.column(column)
    rows = data.wide(column, found[:, None] if found.ndim == 1 else found, width)[frames.rows]
    return of_rows(rows, np.asarray(rows.any(axis=1)) if tells_samples(column) else None)


def tells_samples(column: str) -> bool:
    """Whether a row of zeros in a column is a row without a sample."""
    return kind_of(column) in (Kind.HAND, Kind.QUAT)


def clocks(frames: Frames) -> dict[str, Int64]:
    """Both clocks of each row, `(T, 1)` int64 [ns]: the camera's as it was recorded, and the computer's since 1970."""
    return {HARDWARE: frames.hardware_ns[:, None].copy(), WALL: to_ns(frames.wall_time_s)[:, None]}
