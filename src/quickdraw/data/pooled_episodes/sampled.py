"""What a sensor gave, row by row: values, which rows have any, and how far in time they are from their picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from quickdraw.core.episode import Float32
from quickdraw.core.grid import NS_PER_S, Int64, to_ns
from quickdraw.core.resample import GAP_FACTOR, TOLERANCE_NS, Displacement, deciles_s
from quickdraw.data.pooled_episodes.frames import Frames
from quickdraw.data.pooled_episodes.naming import HARDWARE, WALL, Kind, kind_of
from quickdraw.formats.pooled.clock import ClockClass
from quickdraw.formats.pooled.data import DataFile

Bool = npt.NDArray[np.bool_]
NO_CLOCK: Final = "no clock to align it by"
UNSOUND: Final = "nothing but its fill, and numbers that float32 does not hold"


@dataclass(frozen=True, slots=True)
class Sampled:
    """One column on the rows of an episode.

    `values` `(T, D)` float32, every one finite, the fill where a row has no sample; `present` `(T,)` bool where it has
    one. `filled` is whether there is anything but fill, `why` why not, where there is more to say. `odd` counts samples
    that hold a number that is not finite, which are none.
    """

    values: Float32
    present: Bool
    filled: bool
    odd: int = 0
    why: str = ""
    displacement: Displacement | None = None


def finite(values: npt.NDArray[Any]) -> tuple[Float32, Bool]:
    """Numbers `(n, D)` as float32, and which rows of them are finite as such."""
    with np.errstate(over="ignore"):
        found = np.asarray(values).astype(np.float32)
    return found, np.asarray(np.isfinite(found).all(axis=1))


def of_rows(values: npt.NDArray[Any], present: Bool | None = None, *, fill: npt.ArrayLike = 0.0) -> Sampled:
    """The rows' own values `(T, D)`, of which those of `present` are samples; None is every row.

    Where samples are told from fill, one is enough for the column to be filled; else it takes a number that is not 0.
    """
    found, sound = finite(values)
    having = sound if present is None else sound & present
    odd = int(np.count_nonzero(~sound if present is None else present & ~sound))
    found = np.ascontiguousarray(np.where(having[:, None], found, np.asarray(fill, np.float32)))
    filled = bool(found.any() if present is None else having.any())
    return Sampled(found, having, filled, odd, UNSOUND if odd and not filled else "")


def none(rows: int, fill: npt.NDArray[np.float32], why: str = "", odd: int = 0) -> Sampled:
    """No sample in any row."""
    return Sampled(np.tile(fill, (rows, 1)), np.zeros(rows, np.bool_), filled=False, odd=odd, why=why)


def unfilled(column: str, width: int, frames: Frames) -> Sampled:
    """`(T, width)` of a column that holds nothing but its fill, without reading it."""
    found = np.zeros((len(frames), width), np.float32)
    return Sampled(found, np.full(len(frames), not tells_samples(column)), filled=False)


def recorded(data: DataFile, column: str, width: int, frames: Frames) -> Sampled:
    """A column `(T, width)` whose rows are samples: gloves and their IMUs, hand poses, gripper states (contract 7.2).

    Of hand poses and quaternions a row of zeros is no sample, for it tells no hand and no rotation; of pressures and
    states it may be one. Raises Refused where the column is damaged or of another width.
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


def has_clock(frames: Frames) -> bool:
    """Whether samples can be aligned to the frames' `hardware_ns`: a whole clock, which never steps back.

    A row without a stamp is no step back; it has no sample.
    """
    stamps = frames.hardware_ns[frames.hardware_ns != 0]
    return frames.clock is ClockClass.HW64 and len(stamps) > 0 and bool((np.diff(stamps) >= 0).all())


def displacement(residual_ns: Int64, stamps_ns: Int64) -> Displacement | None:
    """How far samples lie from where they were looked for; None without any, or with less than two stamps.

    `residual_ns` `(n,)` int64, at least 0; `stamps_ns` `(N,)` int64, ascending.
    """
    if not len(residual_ns) or len(stamps_ns) < 2:
        return None
    steps = np.diff(stamps_ns)
    bound_ns = float(np.median(steps)) / 2
    return Displacement(
        max_s=float(residual_ns.max()) / NS_PER_S,
        p99_s=float(np.quantile(residual_ns, 0.99)) / NS_PER_S,
        bound_s=bound_ns / NS_PER_S,
        past_bound=float(np.mean(residual_ns > bound_ns + TOLERANCE_NS)),
        gaps=int(np.count_nonzero(steps > GAP_FACTOR * 2 * bound_ns)),
        deciles_s=deciles_s(residual_ns),
    )
