"""Tick times of the collector's 100 Hz loop: jitter, stalls, and the gap the A button itself makes."""

from __future__ import annotations

from typing import Final

import numpy as np

from quickdraw.sim.arm import Floats
from quickdraw.sim.spec import RunSpec

PERIOD_S: Final = 0.01
MAX_DT_S: Final = 0.05


def tick_times_s(spec: RunSpec, *, end_s: float) -> Floats:
    """Strictly increasing tick times (N,) float64 [s on the session clock], from A up to `end_s`.

    The first tick is stamped before the pre-run checks stall the loop, hence the gap behind it. After a stall the loop
    makes up at most one period, as the collector does.
    """
    rng = np.random.default_rng([spec.seed, 1])
    count = int((end_s - spec.uptime_s) / PERIOD_S) + 2
    lateness_s = rng.gamma(0.5, 0.0022, size=count)
    work_s = rng.uniform(0.003, 0.006, size=count)
    lateness_s[_stalled_ticks(rng, spec.loop_hiccups, count)] += rng.uniform(0.03, 0.045)
    times = [spec.uptime_s]
    next_tick_s = spec.uptime_s + spec.first_gap_s
    for late, work in zip(lateness_s.tolist(), work_s.tolist(), strict=True):
        now_s = max(next_tick_s, times[-1] + work) + late
        if now_s > end_s:
            break
        times.append(now_s)
        next_tick_s = max(next_tick_s + PERIOD_S, now_s - PERIOD_S)
    return np.array(times)


def _stalled_ticks(rng: np.random.Generator, hiccups: int, count: int) -> list[int]:
    return [int(tick) for tick in rng.integers(count // 10 + 1, max(count * 9 // 10, count // 10 + 2), size=hiccups)]


def dt_s(times_s: Floats) -> Floats:
    """What the loop believes has passed since the tick before (N,) [s]: clamped to five periods."""
    return np.clip(np.diff(times_s, prepend=times_s[0] - PERIOD_S), 0.0, MAX_DT_S)


def tick_numbers(spec: RunSpec, count: int) -> Floats:
    """Global tick numbers (N,) of the session; the loop has run since its start, so a run begins at a large one."""
    first = round(spec.uptime_s / PERIOD_S * 0.9965)
    return np.arange(first, first + count, dtype=np.float64)
