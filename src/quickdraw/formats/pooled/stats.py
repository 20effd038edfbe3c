"""`meta/stats.json`: a persistent accumulator of what the gloves and the IMU measured, and nothing else (contract 4).

Blocks are joined by Chan's formula (Chan, Golub and LeVeque 1979), which is the contract's own, sum and sum of squares,
but does not lose a small spread beside a large mean: at an offset of 1.79e9 that one gives a deviation of 0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from quickdraw.formats.pooled import columns
from quickdraw.formats.pooled.info_merge import document_bytes
from quickdraw.formats.pooled.layout import Layout

Float64 = npt.NDArray[np.float64]
ACTION = {"count": 0, "mean": [0.0], "std": [1.0], "min": [0.0], "max": [0.0]}
_LISTS = ("mean", "std", "min", "max")
_MOST_COUNT = 1 << 53


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Statistics of one column: `count` rows or samples; mean, population deviation, min and max, each `(D,)` float64.

    Without any row they are 0, 1, 0 and 0.
    """

    count: int
    mean: Float64
    std: Float64
    min: Float64
    max: Float64


Stats = dict[str, Block]  # column -> block


def counted(name: str) -> bool:
    """Whether a column has statistics: a glove's, by row, and the IMU's, by sample. The one list there is (P-52)."""
    return columns.is_glove(name) or name == columns.IMU


def empty(width: int) -> Block:
    """The block of `width` dimensions that has seen nothing."""
    zeros = np.zeros(width)
    return Block(0, zeros, np.ones(width), zeros, zeros)


def of(values: npt.ArrayLike) -> tuple[Block, int]:
    """The block of `(n, D)` numbers, two-pass in float64, and how many rows of them were left out as not finite."""
    whole = np.asarray(values, np.float64)
    x = whole[np.isfinite(whole).all(axis=1)]
    skipped = len(whole) - len(x)
    if not len(x):
        return empty(whole.shape[1]), skipped
    low, high = x.min(axis=0), x.max(axis=0)
    apart = x - x[0]  # what is summed is small, so a large offset costs no digits, and a constant stays itself
    mean = x[0] + apart.mean(axis=0)
    return Block(len(x), mean, apart.std(axis=0), low, high), skipped


def join(a: Block, b: Block) -> Block:
    """The block of the rows of both. Raises ValueError where their widths differ."""
    if a.mean.shape != b.mean.shape:
        raise ValueError(f"blocks of {a.mean.size} and {b.mean.size} dimensions")
    if not a.count or not b.count:
        return a if a.count else b
    n = a.count + b.count
    apart, share = b.mean - a.mean, b.count / n
    low, high = np.minimum(a.min, b.min), np.maximum(a.max, b.max)
    mean = np.where(low == high, low, a.mean + apart * share)
    variance = a.std**2 * (a.count / n) + b.std**2 * share + apart**2 * (a.count / n * share)
    return Block(n, mean, np.sqrt(variance), low, high)


def merged(old: Mapping[str, Block], new: Mapping[str, Block]) -> tuple[Stats, list[str]]:
    """The statistics of a task after an episode with those of `new`, and what there is to warn of.

    A block whose width changed starts anew with the episode's (P-55). A block of nothing changes nothing.
    """
    document, warnings = dict(old), []
    for name, block in new.items():
        before = document.get(name)
        if not block.count and before is not None:
            continue
        if before is None or before.mean.shape == block.mean.shape:
            document[name] = block if before is None else join(before, block)
            continue
        warnings.append(
            f"{name}: {block.mean.size} values a row where there were {before.mean.size}; its statistics start anew"
        )
        document[name] = block
    return document, warnings


def read_stats(layout: Layout) -> Stats | None:
    """The blocks of stats.json that are `counted`; None where a rescan of `data/` must make them anew.

    That is where the file is missing, no JSON object, has a block without `count` (v1.1.0), or one whose numbers are
    not finite or whose lists are not of one length.
    """
    try:
        document = json.loads(layout.stats.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    found: Stats = {}
    for name, entry in document.items():
        if isinstance(entry, dict) and "count" not in entry:
            return None
        if not counted(name):
            continue
        block = _block(entry)
        if block is None:
            return None
        if block.count:
            found[name] = block
    return found


def stats_bytes(blocks: Mapping[str, Block]) -> bytes:
    """stats.json of these blocks. `action` comes last, always as the placeholder that counts nothing."""
    document = {
        name: {"count": block.count, **{key: getattr(block, key).tolist() for key in _LISTS}}
        for name, block in blocks.items()
        if counted(name)
    }
    return document_bytes({**document, "action": ACTION})


def _block(entry: Any) -> Block | None:
    if not isinstance(entry, dict):
        return None
    count, lists = entry["count"], [entry.get(key) for key in _LISTS]
    if not isinstance(count, int) or isinstance(count, bool) or abs(count) > _MOST_COUNT:
        return None
    if not all(isinstance(each, list) and all(map(_is_finite, each)) for each in lists):
        return None
    mean, std, low, high = (np.array(each, np.float64) for each in lists)
    if not mean.shape == std.shape == low.shape == high.shape:
        return None
    return Block(count, mean, std, low, high) if count > 0 and mean.size else empty(mean.size)


def _is_finite(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and abs(value) < float("inf")
