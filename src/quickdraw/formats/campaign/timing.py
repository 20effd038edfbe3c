"""Whether a run's streams share a clock, a window worth having, and samples near every tick of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from quickdraw.core.grid import NS_PER_S, Grid, Int64, common_window
from quickdraw.core.resample import nearest
from quickdraw.errors import Fault
from quickdraw.formats.campaign.acceptance import Acceptance, override

MAX_ORIGIN_SPREAD_S = 5.0
MIN_OVERLAP_S = 2.0
FREE_LOSS_S = 2.5  # cameras open one after the other and warm up: so much of any run has not all of them
MOST_GAPS_TOLD = 5


@dataclass(frozen=True, slots=True)
class Timeline:
    """One stream in time: `t_ns` `(N,)` int64 of the samples that are used, `recorded_ns` `(M,)` of all there are."""

    name: str
    path: str
    t_ns: Int64
    recorded_ns: Int64

    def __str__(self) -> str:
        return f"{self.name} {self.t_ns[0] / NS_PER_S:.3f}..{self.t_ns[-1] / NS_PER_S:.3f}"


def window_faults(where: str, timelines: Sequence[Timeline]) -> list[Fault]:
    """Why the streams share no window. On a foreign clock they need not even look: whatever they share is chance."""
    return list(_clock_faults(where, timelines)) or list(_overlap_faults(where, timelines))


def _clock_faults(where: str, timelines: Sequence[Timeline]) -> Iterator[Fault]:
    first_s = {line.name: float(line.recorded_ns.min()) / NS_PER_S for line in timelines}
    spread_s = max(first_s.values()) - min(first_s.values())
    if spread_s > MAX_ORIGIN_SPREAD_S:
        told = ", ".join(f"{name} {t_s:.3f}" for name, t_s in first_s.items())
        found = f"first stamps {spread_s:.3f} s apart ({told})"
        yield Fault(where, "clock origin", found, f"one clock: first stamps within {MAX_ORIGIN_SPREAD_S} s")


def _overlap_faults(where: str, timelines: Sequence[Timeline]) -> Iterator[Fault]:
    t_lo_ns, t_hi_ns = common_window(line.t_ns for line in timelines)
    if t_hi_ns - t_lo_ns < MIN_OVERLAP_S * NS_PER_S:
        found = f"{(t_hi_ns - t_lo_ns) / NS_PER_S:.3f} s ({', '.join(map(str, timelines))})"
        yield Fault(where, "overlap of all streams", found, f"at least {MIN_OVERLAP_S} s")


def coverage_faults(where: str, timelines: Sequence[Timeline], acceptance: Acceptance) -> Iterator[Fault]:
    """A window that leaves out too much of the run, and the streams that begin or end it."""
    begins = min(int(line.recorded_ns.min()) for line in timelines)
    ends = max(int(line.recorded_ns.max()) for line in timelines)
    latest = max(timelines, key=lambda line: int(line.t_ns[0]))
    earliest = min(timelines, key=lambda line: int(line.t_ns[-1]))
    t_lo_ns, t_hi_ns = int(latest.t_ns[0]), int(earliest.t_ns[-1])
    span_s, window_s = (ends - begins) / NS_PER_S, (t_hi_ns - t_lo_ns) / NS_PER_S
    allowed_s = max(FREE_LOSS_S, (1 - acceptance.min_coverage) * span_s)
    if span_s - window_s <= allowed_s:
        return
    late_s, early_s = (t_lo_ns - begins) / NS_PER_S, (ends - t_hi_ns) / NS_PER_S
    found = (
        f"{window_s:.3f} s of {span_s:.3f} s: {latest.name} begins {late_s:.3f} s late at {t_lo_ns / NS_PER_S:.3f} s, "
        f"{earliest.name} ends {early_s:.3f} s early at {t_hi_ns / NS_PER_S:.3f} s"
    )
    worst = latest if late_s > early_s else earliest
    expected = f"at most {allowed_s:.3f} s lost"
    yield Fault(where, "coverage", found, expected, path=worst.path, option=override("min_coverage=..."))


def gap_faults(where: str, timelines: Sequence[Timeline], grid: Grid, acceptance: Acceptance) -> Iterator[Fault]:
    """Streams with ticks of the grid too far from any sample: there, one sample would be repeated over and over."""
    for line in timelines:
        gaps = _gaps_s(line.t_ns, grid, acceptance.max_gap_s)
        if gaps:
            told = [f"{start:.3f} to {end:.3f} s ({end - start:.3f} s)" for start, end in gaps[:MOST_GAPS_TOLD]]
            more = f" and in {len(gaps) - MOST_GAPS_TOLD} more gaps" if len(gaps) > MOST_GAPS_TOLD else ""
            found = f"no sample from {', '.join(told)}{more}"
            expected = f"a sample within {acceptance.max_gap_s:g} s of every row"
            option = override("max_gap_s=...")
            yield Fault(where, f"gap in {line.name}", found, expected, path=line.path, option=option)


def _gaps_s(t_ns: Int64, grid: Grid, max_gap_s: float) -> list[tuple[float, float]]:
    """The intervals of `t_ns` `(N,)` that hold a tick farther than `max_gap_s` from both their ends [s]."""
    t, ticks = grid.scaled(t_ns), grid.ticks()
    far = ticks[np.abs(t[nearest(t_ns, grid)] - ticks) > max_gap_s * NS_PER_S * grid.rate_hz]
    after = np.unique(np.searchsorted(t, far))
    return [(int(t_ns[i - 1]) / NS_PER_S, int(t_ns[i]) / NS_PER_S) for i in after]
