"""Work done by a plain script and by us, in turn: how much of it a second, and how many times as fast."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Rate:
    """One kind of work: how many `units` a turn, and how long each turn took by a plain script and by us [s]."""

    name: str
    unit: str
    units: int
    plain: str
    plain_s: list[float]
    ours_s: list[float]

    @property
    def ratio(self) -> float:
        """How many times as fast ours is."""
        return median(self.plain_s) / median(self.ours_s)


def rate(
    name: str,
    unit: str,
    units: int,
    *,
    beside: str,
    plain: Callable[[], object],
    ours: Callable[[], object],
    repeats: int,
) -> Rate:
    """Both in turn, `repeats` times, after once unmeasured."""
    turns: dict[str, list[float]] = {"plain": [], "ours": []}
    plain(), ours()
    for _ in range(repeats):
        for key, work in (("plain", plain), ("ours", ours)):
            with _timed(turns[key]):
                work()
    return Rate(name, unit, units, beside, turns["plain"], turns["ours"])


@contextmanager
def _timed(turns: list[float]) -> Iterator[None]:
    begun = time.perf_counter()
    yield
    turns.append(time.perf_counter() - begun)
