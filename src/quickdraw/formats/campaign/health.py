"""Times at which the arm or the pad was not fit for a demonstration: rows would show an action without effect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from quickdraw.core.grid import NS_PER_S, Float64, Int64
from quickdraw.errors import Fault
from quickdraw.formats.campaign.acceptance import Acceptance, override

HEALTHY = {"report_alive": 1.0, "error_code": 0.0, "mode": 1.0, "connected": 1.0}
MOST_SPANS_TOLD = 10
FLAGS = ("report_alive", "connected")


@dataclass(frozen=True, slots=True)
class Vitals:
    """What the rows of one stream say of its health: `t_ns` `(N,)` int64, `values` `(N,)` float64 each, NaN unknown."""

    path: str
    t_ns: Int64
    values: Mapping[str, Float64]

    def within(self, t_lo_ns: int, t_hi_ns: int) -> Vitals:
        """Of a window, its ends included."""
        inside = (self.t_ns >= t_lo_ns) & (self.t_ns <= t_hi_ns)
        return Vitals(self.path, self.t_ns[inside], {name: values[inside] for name, values in self.values.items()})


def health_faults(where: str, vitals: Vitals, acceptance: Acceptance) -> Iterator[Fault]:
    """Every signal that was not as it should be, with the times."""
    for name, told in _ill(vitals):
        if name not in acceptance.allow_faults:
            expected, option = f"{_said(name, HEALTHY[name])} throughout the window", override(f"allow_faults=[{name}]")
            yield Fault(where, name, told, expected, path=vitals.path, option=option)


def health_warnings(vitals: Vitals, acceptance: Acceptance) -> Iterator[str]:
    """The same, of the signals that are accepted."""
    yield from (f"{name} {told}" for name, told in _ill(vitals) if name in acceptance.allow_faults)


def _ill(vitals: Vitals) -> Iterator[tuple[str, str]]:
    for name, values in vitals.values.items():
        spans = list(_spans(values, HEALTHY[name]))
        if spans:
            told = [_span(name, float(values[a]), vitals.t_ns[[a, b - 1]] / NS_PER_S, b - a) for a, b in spans]
            more = f" and {len(told) - MOST_SPANS_TOLD} more times" if len(told) > MOST_SPANS_TOLD else ""
            yield name, ", ".join(told[:MOST_SPANS_TOLD]) + more


def _spans(values: Float64, healthy: float) -> Iterator[tuple[int, int]]:
    """Runs [first, end) of rows with the same unhealthy value; rows that do not say belong to no run."""
    ill = np.isfinite(values) & (values != healthy)
    changes = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    for first, end in zip(changes, np.append(changes[1:], len(values)), strict=True):
        if len(values) and ill[first]:
            yield int(first), int(end)


def _span(name: str, value: float, ends_s: Float64, rows: int) -> str:
    return f"{_said(name, value)} from {ends_s[0]:.3f} to {ends_s[1]:.3f} s ({rows} row{'s' if rows > 1 else ''})"


def _said(name: str, value: float) -> str:
    return str(bool(value)).lower() if name in FLAGS else f"{value:g}"
