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

from quickdraw.core.grid import Float64
from quickdraw.errors import Refused
from quickdraw.formats.pooled import columns
from quickdraw.formats.pooled.documents import read_regular
from quickdraw.formats.pooled.info import read_document
from quickdraw.formats.pooled.info_merge import document_bytes
from quickdraw.formats.pooled.layout import Layout

ACTION = {"count": 0, "mean": [0.0], "std": [1.0], "min": [0.0], "max": [0.0]}
_LISTS = ("mean", "std", "min", "max")
_MOST_COUNT = 1 << 53
_MOST = float(np.finfo(np.float32).max)  # columns are float32: nothing measured is beyond, and no square overflows


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


@dataclass(frozen=True, slots=True)
class Counting:
    """Which columns of a task have statistics: gloves', by row, and the IMU's, by sample. The one rule there is (P-52).

    A glove bears a name that can be one's (`columns.is_glove`), and is either named in `sensors` of info.json, or holds
    lists of `values` float32, its `sensor_dim`. An unknown column of another width is no glove: a torque, say.
    """

    sensors: frozenset[str] = frozenset()
    values: int = columns.GLOVE_VALUES

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Counting:
        """The rule of a task whose info.json is `document`. A value of a type it cannot have counts as absent."""
        sensors, values = document.get("sensors"), document.get("sensor_dim")
        names = [each for each in sensors if isinstance(each, str)] if isinstance(sensors, list) else []
        if not isinstance(values, int) or isinstance(values, bool) or values < 1:
            values = columns.GLOVE_VALUES
        return cls(frozenset(f"observation.{each}" for each in names), values)

    @classmethod
    def in_task(cls, layout: Layout) -> Counting:
        """The rule of a task on disk; where it has no info.json that can be read, that of the names and widths."""
        try:
            return cls.of(read_document(layout.info, layout.root))
        except Refused:
            return cls()

    def counts(self, name: str, width: int, *, float32: bool = True) -> bool:
        """Whether a column is counted whose lists, or samples, have `width` numbers, and whether those are float32."""
        named = name == columns.IMU or name in self.sensors
        return counted(name) and (named or (float32 and width == self.values))


def counted(name: str) -> bool:
    """Whether a column can have statistics, as far as its name tells."""
    return columns.is_glove(name) or name == columns.IMU


def empty(width: int) -> Block:
    """The block of `width` dimensions that has seen nothing."""
    zeros = np.zeros(width)
    return Block(0, zeros, np.ones(width), zeros, zeros)


def of(values: npt.ArrayLike) -> tuple[Block, int]:
    """The block of `(n, D)` numbers, two-pass in float64, and how many rows of them were left out as not finite.

    What no float32 holds is not finite either.
    """
    whole = np.asarray(values, np.float64)
    x = whole[(np.abs(whole) <= _MOST).all(axis=1)]
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
    """The blocks of stats.json that count (`Counting`); None where a rescan of `data/` must make them anew.

    That is where the file is missing, no JSON object, has a block without `count` (v1.1.0), or one whose numbers are
    none a float32 column can have measured, or whose lists are not of one length.
    """
    try:
        document = json.loads(read_regular(layout.stats))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    found: Stats = {}
    counting = Counting.in_task(layout)
    for name, entry in document.items():
        if isinstance(entry, dict) and "count" not in entry:
            return None
        if not counted(name):
            continue
        block = _block(entry)
        if block is None:
            return None
        if block.count and counting.counts(name, block.mean.size):
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
    return number and abs(value) <= _MOST  # NaN is not
