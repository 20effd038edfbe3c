"""When things happened: stamps of rows, and which row a sample of another stream belongs to (contract 7.3)."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from quickdraw.sim.pooled.spec import FPS, EpisodeSpec

type Nanoseconds = NDArray[np.int64]

_FIRST_NS: Final = 5_000_000_000_000
_TAKES_APART_NS: Final = 100_000_000_000
_HOLE_S: Final = 4.0
_APART_NS: Final = 4_000_000  # the second slot's picture comes so much later
_QUEUED_S: Final = 0.03  # from a picture to its row; grows, since the camera is a little faster than the writer
_QUEUE_GROWTH: Final = 0.0005


def frame_of_row(episode: EpisodeSpec) -> NDArray[np.int64]:
    """frame_index of each row, (T,) int64."""
    return np.repeat(np.arange(episode.frames), episode.rows_per_frame)


def true_ns(episode: EpisodeSpec) -> Nanoseconds:
    """When the picture of each row was taken, (T,) int64 [ns], on a clock of 64 bits."""
    frame = frame_of_row(episode)
    stamps = _FIRST_NS + _TAKES_APART_NS * episode.number + frame * 1_000_000_000 // FPS
    if episode.hole_after is not None:
        stamps = stamps + (frame > episode.hole_after) * int(_HOLE_S * 1e9)
    if episode.apart:
        stamps = stamps + np.arange(episode.rows) % episode.rows_per_frame * _APART_NS
    return stamps.astype(np.int64)


def hardware_ns(episode: EpisodeSpec) -> Nanoseconds:
    """`hardware_ns` as written, (T,) int64: cut to a signed number of 32 bits where the take is `truncated`."""
    stamps = true_ns(episode)
    return stamps.astype(np.int32).astype(np.int64) if episode.truncated else stamps


def wall_time(episode: EpisodeSpec) -> NDArray[np.float64]:
    """When each row was written, (T,) float64 Unix seconds."""
    since_s = (true_ns(episode) - true_ns(episode)[0]) * 1e-9
    queued_s = _QUEUED_S + _QUEUE_GROWTH * frame_of_row(episode)
    found: NDArray[np.float64] = episode.created_unix + since_s + queued_s
    return found


def timestamp(episode: EpisodeSpec) -> NDArray[np.float32]:
    """Seconds since the first row, (T,) float32."""
    written_s = wall_time(episode)
    return np.asarray(written_s - written_s[0], np.float32)


def samples_ns(episode: EpisodeSpec, rate_hz: int) -> list[Nanoseconds]:
    """The stamps of a steady stream in each row's window, previous < ts <= own.

    The first row's window is one frame long. A second row of the same frame has none: only the first slot's carry it.
    """
    own = true_ns(episode)
    first = np.arange(episode.rows) % episode.rows_per_frame == 0
    ends = own[first]
    starts = np.concatenate([[ends[0] - 1_000_000_000 // FPS], ends[:-1]])
    period = 1_000_000_000 // rate_hz
    found: list[Nanoseconds] = [np.empty(0, np.int64) for _ in own]
    for row, start, end in zip(np.flatnonzero(first), starts, ends, strict=True):
        found[row] = np.arange(start // period + 1, end // period + 1, dtype=np.int64) * period
    return found
