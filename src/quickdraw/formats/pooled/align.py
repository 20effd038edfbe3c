"""Which sample was taken nearest to which row, by stamps alone: the same row is not the same instant (contract 7.3).

Frames wait in a queue while force readings overtake them, so that rows lead or lag. Nothing is interpolated and no
offset is fitted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from quickdraw.core.grid import Int64
from quickdraw.errors import QuickdrawError
from quickdraw.formats.pooled import columns
from quickdraw.formats.pooled.clock import ClockClass, classify, steps_back
from quickdraw.formats.pooled.data import DataFile

type Side = Literal["left", "right"]
type Which = Literal["matrix", "force"]

HARDWARE = "hardware_ns"


class NotAlignable(QuickdrawError):
    """The stamps of an episode do not allow alignment; `reason` says why."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class HasData(Protocol):
    """An episode, as far as alignment knows one."""

    @property
    def data(self) -> DataFile:
        """Its data file."""
        ...


@dataclass(frozen=True, slots=True)
class Alignment:
    """The nearest sample of each target, all `(T,)`: `index` int64 of the sample, as the samples were given.

    `residual_ns` int64 is how far apart the two are, 0 or more. Targets before the first sample or after the last have
    the first or the last, and `out_of_range` set: they are not aligned. `bound_ns` is half the median time between
    samples, what no residual inside should exceed; 0 for one sample.
    """

    index: Int64
    residual_ns: Int64
    out_of_range: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
    bound_ns: int


def nearest(sample_ns: Int64, target_ns: Int64) -> Alignment:
    """The sample nearest to each target, both int64 [ns]; the earlier one of two equally near.

    Samples without a positive stamp are none: 0 is no time. Raises NotAlignable where none is left.
    """
    valid = np.flatnonzero(sample_ns > 0)
    if not len(valid):
        raise NotAlignable("no sample with a positive stamp")
    order = valid[np.argsort(sample_ns[valid], kind="stable")]
    stamps = sample_ns[order]
    after = np.searchsorted(stamps, target_ns, "left")
    before, after = np.maximum(after - 1, 0), np.minimum(after, len(stamps) - 1)
    early, late = _apart(target_ns, stamps[before]), _apart(target_ns, stamps[after])
    chosen = np.where(early <= late, before, after)
    chosen = np.searchsorted(stamps, stamps[chosen], "left")  # of equal stamps the first
    steps = np.diff(stamps)
    return Alignment(
        index=order[chosen].astype(np.int64),
        residual_ns=np.minimum(early, late),
        out_of_range=(target_ns < stamps[0]) | (target_ns > stamps[-1]),
        bound_ns=int(np.median(steps)) // 2 if len(steps) else 0,
    )


def _apart(left: Int64, right: Int64) -> Int64:
    """|left - right|, which 64 bits hold unsigned; cut at what int64 holds."""
    high, low = np.maximum(left, right), np.minimum(left, right)
    return np.minimum(high.view(np.uint64) - low.view(np.uint64), np.uint64(np.iinfo(np.int64).max)).astype(np.int64)


def align(episode: HasData, side: Side, which: Which, gripper: int = 1) -> Alignment:
    """For each row of an episode, the row whose force reading or force matrix was taken nearest to its picture.

    Raises NotAlignable where there is no usable clock, no column of stamps (before v1.3.3), or no stamp in it; Refused
    where the data file is damaged.
    """
    stamps = f"{(columns.matrix if which == 'matrix' else columns.force)(side, gripper)}_ns"
    data = _stamped(episode, stamps)
    found, _ = data.read([HARDWARE, stamps])
    return nearest(found[stamps], _usable(found[HARDWARE]))


def align_trajectory(episode: HasData, gripper: int = 1) -> Alignment:
    """For each row of an episode, the point of its trajectory nearest to its picture, counted over all points.

    There are more points than rows, or fewer: they come at their own rate. Raises as `align` does.
    """
    stamps = f"{columns.trajectory(gripper)}_ns"
    data = _stamped(episode, stamps)
    found, ragged = data.read([HARDWARE], [stamps])
    return nearest(ragged[stamps].values, _usable(found[HARDWARE]))


def _stamped(episode: HasData, stamps: str) -> DataFile:
    data = episode.data
    if HARDWARE not in data:
        raise NotAlignable(f"no column {HARDWARE}")
    if stamps not in data:
        raise NotAlignable(_lacking(data, stamps))
    data.require({name: columns.arrow_type(name) for name in (HARDWARE, stamps)})
    return data


def _lacking(data: DataFile, stamps: str) -> str:
    """Why there is no column of stamps: an old recording has the samples themselves."""
    if stamps.removesuffix("_ns") in data:
        return f"no column {stamps}, which recorders write since v1.3.3"
    there = [name for name in data.names if name.endswith(("_force_ns", "_force_matrix_ns", "slam_trajectory_ns"))]
    return f"no column {stamps}; this episode has {', '.join(there) or 'no stamps of a gripper'}"


def _usable(hardware_ns: Int64) -> Int64:
    kind = classify(hardware_ns)
    if kind is ClockClass.NONE:
        raise NotAlignable(f"no {HARDWARE}: every row's is 0")
    if kind is ClockClass.TRUNC32:
        raise NotAlignable(f"{HARDWARE} cut to 32 bits: it wraps every 4.295 s")
    back = steps_back(hardware_ns)
    if len(back):
        raise NotAlignable(f"{HARDWARE} steps back at row {back[0]}")
    return hardware_ns
