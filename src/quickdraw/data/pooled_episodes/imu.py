"""IMU samples on rows: K of a frame's time, their mean, or the last (contract 7.3).

With a whole clock a sample belongs to the row whose picture was taken next after it, whichever row it hung on, and is
looked for by its own stamp. Without one, a frame has what hung on its rows.
"""

from __future__ import annotations

import numpy as np

from quickdraw.core.episode import Float32
from quickdraw.core.grid import NS_PER_S, Int64
from quickdraw.data.pooled_episodes.frames import Frames
from quickdraw.data.pooled_episodes.naming import imu_samples
from quickdraw.data.pooled_episodes.options import PooledOptions
from quickdraw.data.pooled_episodes.sampled import Bool, Sampled, displacement, finite, has_clock, none
from quickdraw.formats.pooled.align import nearest
from quickdraw.formats.pooled.columns import IMU_AXES
from quickdraw.formats.pooled.series import Imu

FARTHEST = 1 << 60  # [ns]; a stamp beyond is no nearer to one row than to another


def sampled(imu: Imu, frames: Frames, options: PooledOptions) -> Sampled:
    """`(T, K * 6)` samples of each row, oldest first, or `(T, 6)` their mean or the last; 0 where a row has none.

    A row has a sample where one lies in (hw - 1/fps, hw], and without a clock where one hung on it. The samples of a
    window are each the nearest to its step, be it after that; the last one is never after the picture.
    """
    values, sound = finite(imu.values)
    odd = int(np.count_nonzero(~sound))
    wide = IMU_AXES * imu_samples(options)
    if not sound.any():
        return none(len(frames), np.zeros(wide, np.float32), odd=odd)
    values, stamps, row = values[sound], imu.ts_ns[sound], imu.row[sound]
    if not (has_clock(frames) and (stamps > 0).any()):
        found, present = _hung(values, frames.frame_of_row[row], len(frames), options)
        return _filled(found, present, odd, None)
    order = np.argsort(stamps, kind="stable")
    order = order[stamps[order] > 0]
    return _aligned(values[order], stamps[order], frames, options, odd=odd)


def _aligned(values: Float32, stamps: Int64, frames: Frames, options: PooledOptions, *, odd: int) -> Sampled:
    """By stamps, ascending."""
    hardware = frames.hardware_ns
    first = np.searchsorted(stamps, hardware + -NS_PER_S // frames.rate_hz, "right")
    after = np.searchsorted(stamps, hardware, "right")
    present = (after > first) & (hardware != 0)
    found: Float32 = np.zeros((len(frames), imu_samples(options) * IMU_AXES), np.float32)
    if options.imu.mode == "mean":
        found = _means(values, first, np.where(present, after, first))
        residual = nearest(stamps, hardware[present]).residual_ns
    elif options.imu.mode == "last":
        last = after[present] - 1
        found[present], residual = values[last], hardware[present] - stamps[last]
    else:
        index, residual = _even_steps(stamps, hardware[present], imu_samples(options), frames.rate_hz)
        found[present] = values[index].reshape(-1, found.shape[1])
    return _filled(found, present, odd, (residual, stamps))


def _even_steps(stamps: Int64, hardware: Int64, many: int, rate_hz: int) -> tuple[Int64, Int64]:
    """The samples `(n, many)` nearest to even steps up to each of `(n,)` pictures, and how far off they are [ns].

    A step is no whole number of nanoseconds. Which of two samples is nearer is decided by whether twice a step is past
    their sum, and that is whole: so time is counted in halves, and steps are rounded up.
    """
    start = int(hardware[0]) if len(hardware) else 0
    at, rows = (np.clip(each - start, -FARTHEST, FARTHEST) * 2 for each in (stamps, hardware))
    targets = rows[:, None] - 2 * np.arange(many - 1, -1, -1) * NS_PER_S // (many * rate_hz)
    chosen = nearest(at + (2 * FARTHEST + 1), targets.ravel() + (2 * FARTHEST + 1))  # which takes positive stamps only
    return chosen.index.reshape(-1, many), chosen.residual_ns // 2


def _hung(values: Float32, frame: Int64, frames: int, options: PooledOptions) -> tuple[Float32, Bool]:
    """Each frame's own samples, of all its rows, as they were recorded: even steps over however many there are."""
    order = np.argsort(frame, kind="stable")
    order = order[frame[order] >= 0]
    values = values[order]
    count = np.bincount(frame[order], minlength=frames).astype(np.int64)
    first = np.concatenate([np.zeros(1, np.int64), count.cumsum()[:-1]])
    if options.imu.mode == "mean":
        return _means(values, first, first + count), count > 0
    many = imu_samples(options)
    chosen = first[:, None] + (np.arange(1, many + 1) * count[:, None] + many - 1) // many - 1
    found = np.zeros((frames, many * IMU_AXES), np.float32)
    found[count > 0] = values[chosen[count > 0]].reshape(-1, many * IMU_AXES)
    return found, count > 0


def _means(values: Float32, first: Int64, after: Int64) -> Float32:
    """Mean of `values[first:after]` of each row, in float64; 0 of none."""
    ended = np.concatenate([values, np.zeros((1, values.shape[1]))], dtype=np.float64)
    count = after - first
    some = count > 0
    found = np.zeros((len(first), values.shape[1]), np.float32)
    bounds = np.stack([first[some], after[some]], axis=1).ravel()
    if len(bounds):
        found[some] = np.add.reduceat(ended, bounds, axis=0)[::2] / count[some, None]
    return found


def _filled(found: Float32, present: Bool, odd: int, moved: tuple[Int64, Int64] | None) -> Sampled:
    moved_by = None if moved is None else displacement(*moved)
    return Sampled(found, present, bool(present.any()), odd, "no sample within any frame's time", moved_by)
