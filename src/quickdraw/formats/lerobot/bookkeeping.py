"""The five bookkeeping columns every data file ends with, and their statistics over a split without its rows.

They are known from the episodes' lengths and tasks alone, so no split is too long for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quickdraw.core.grid import Int64
from quickdraw.core.statistics import Statistics, of_counts, of_range


def bookkeeping(frames: int, rate_hz: int, *, episode: int, first: int, task: int) -> dict[str, np.ndarray[Any, Any]]:
    """The five bookkeeping columns of one episode, each `(frames,)` in its dtype; `first` is its first global index."""
    row = np.arange(frames, dtype=np.int64)
    return {
        "timestamp": timestamps(row, rate_hz),
        "frame_index": row,
        "episode_index": np.full(frames, episode, np.int64),
        "index": row + first,
        "task_index": np.full(frames, task, np.int64),
    }


def timestamps(row: Int64, rate_hz: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """`(T,)` float32 [s] of rows of an episode, as readers compute it: the quotient in float64, then float32."""
    return (row / rate_hz).astype(np.float32)


def bookkeeping_statistics(lengths: Sequence[int], tasks: Sequence[int], rate_hz: int) -> dict[str, Statistics]:
    """Statistics of the five columns of a split whose episodes, one at least, have these lengths and task indices."""
    length = np.asarray(lengths, np.int64)
    row = np.arange(length.max(), dtype=np.int64)
    ended = np.bincount(length, minlength=len(row) + 1)
    held = len(length) - np.cumsum(ended)[:-1]  # how many episodes have a row of each number
    return {
        "timestamp": of_counts(timestamps(row, rate_hz), held),
        "frame_index": of_counts(row, held),
        "episode_index": of_counts(np.arange(len(length)), length),
        "index": of_range(int(length.sum())),
        "task_index": of_counts(np.arange(max(tasks) + 1), np.bincount(tasks, weights=length).astype(np.int64)),
    }
