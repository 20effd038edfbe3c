"""Where a recording stood still: holes between frames, by the stamps of its rows, and the pieces between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from quickdraw.core.grid import NS_PER_S, Float64, Int64
from quickdraw.formats.pooled.clock import WRAP, ClockClass, unwrap32


@dataclass(frozen=True, slots=True)
class Gap:
    """A hole of `length_s` [s] by the column `clock`, between frame `before` and the next, counted from 0 as taken."""

    before: int
    length_s: float
    clock: str


def gaps(hardware_ns: Int64, wall_time_s: Float64, *, clock: ClockClass, rate_hz: int, max_gap_s: float) -> list[Gap]:
    """Every hole of more than `max_gap_s` [s] between frames, whose stamps are both `(T,)` [ns], [Unix s].

    By `hardware_ns` where there is one: a frame without a stamp, 0, stands for a frame's time, and a hole beside such
    is taken to be where `wall_time` steps most; frames before the first stamp and behind the last have `wall_time`
    alone. A clock cut to 32 bits is unwrapped, and whole wraps of 4.295 s that are lost in that are those by which
    `wall_time` goes further. A step back is no hole.
    """
    return [*_gaps(hardware_ns, wall_time_s, clock, rate_hz, max_gap_s=max_gap_s)]


def frame_steps(hardware_ns: Int64, wall_time_s: Float64, clock: ClockClass) -> Float64:
    """Times `(T - 1,)` float64 [s] from frame to frame: by `hardware_ns` where both have it, else by `wall_time`."""
    found, stamped = np.diff(wall_time_s), np.flatnonzero(hardware_ns)
    beside = np.diff(stamped) == 1
    steps_ns = _steps(hardware_ns[stamped], wall_time_s[stamped], clock)
    found[stamped[:-1][beside]] = steps_ns[beside] / NS_PER_S
    return found


def pieces(frames: int, found: list[Gap]) -> list[tuple[int, int]]:
    """The stretches [first, end) of `frames` frames that are between gaps."""
    ends = [gap.before + 1 for gap in found]
    return list(zip([0, *ends], [*ends, frames], strict=True))


def _gaps(
    hardware_ns: Int64, wall_time_s: Float64, clock: ClockClass, rate_hz: int, *, max_gap_s: float
) -> Iterator[Gap]:
    stamped = np.flatnonzero(hardware_ns)
    if not len(stamped):  # also of a clock that only rows have which a fold drops
        yield from _by_wall(wall_time_s, 0, max_gap_s)
        return
    yield from _by_wall(wall_time_s[: int(stamped[0]) + 1], 0, max_gap_s)
    steps_ns = _steps(hardware_ns[stamped], wall_time_s[stamped], clock)
    steps_s = steps_ns / NS_PER_S - (np.diff(stamped) - 1) / rate_hz
    for at in np.flatnonzero(steps_s > max_gap_s):
        first, last = int(stamped[at]), int(stamped[at + 1])
        widest = int(np.argmax(np.diff(wall_time_s[first : last + 1])))
        yield Gap(first + widest, float(steps_s[at]), "hardware_ns")
    yield from _by_wall(wall_time_s[int(stamped[-1]) :], int(stamped[-1]), max_gap_s)


def _by_wall(wall_time_s: Float64, first: int, max_gap_s: float) -> Iterator[Gap]:
    """The holes between frames from `first` on."""
    steps_s = np.diff(wall_time_s)
    yield from (Gap(first + int(at), float(steps_s[at]), "wall_time") for at in np.flatnonzero(steps_s > max_gap_s))


def _steps(hardware_ns: Int64, wall_time_s: Float64, clock: ClockClass) -> Float64:
    """Steps `(n - 1,)` float64 [ns] between stamps `(n,)`, none of which is 0."""
    if clock is not ClockClass.TRUNC32:
        return np.diff(hardware_ns.astype(np.float64)) if _overflows(hardware_ns) else np.diff(hardware_ns) * 1.0
    steps_ns = np.diff(unwrap32(hardware_ns)) * 1.0
    lost = np.rint((np.diff(wall_time_s) * NS_PER_S - steps_ns) / WRAP)
    return np.asarray(steps_ns + WRAP * np.maximum(lost, 0), np.float64)


def _overflows(stamps_ns: Int64) -> bool:
    """Whether differences of these may not fit 64 bits."""
    return len(stamps_ns) > 0 and int(stamps_ns.max()) - int(stamps_ns.min()) >= 1 << 63
