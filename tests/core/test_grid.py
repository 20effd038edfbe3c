"""The tick grid against exact rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickdraw.core.grid import NS_PER_S, Grid, common_window, grid_over, to_ns

RATES = st.one_of(st.sampled_from([7, 29, 30]), st.integers(1, 120))


def ticks_within(span_ns: int, rate_hz: int) -> int:
    """Counts k = 0, 1, 2 .. with k / rate < span, one by one."""
    k = 0
    while Fraction(k, rate_hz) < Fraction(span_ns, NS_PER_S):
        k += 1
    return k


@given(span_ns=st.integers(0, 3 * NS_PER_S), rate_hz=RATES, t_lo_ns=st.integers(0, 10**15))
def test_the_number_of_ticks_is_the_number_of_k_with_k_over_rate_below_the_span(
    span_ns: int, rate_hz: int, t_lo_ns: int
) -> None:
    grid = grid_over(t_lo_ns, t_lo_ns + span_ns, rate_hz)
    assert (grid.n, grid.t0_ns, grid.rate_hz) == (ticks_within(span_ns, rate_hz), t_lo_ns, rate_hz)


@given(k=st.integers(1, 300), rate_hz=RATES, off_ns=st.integers(-1, 1))
def test_the_end_of_the_window_is_exclusive_to_the_nanosecond(k: int, rate_hz: int, off_ns: int) -> None:
    """A window that ends exactly on tick k has k ticks; a nanosecond more makes it k + 1."""
    whole, rest = divmod(k * NS_PER_S, rate_hz)
    span_ns = whole + off_ns
    expected = k if off_ns < 1 and (rest or off_ns <= 0) else k + 1
    assert grid_over(0, span_ns, rate_hz).n == expected == ticks_within(span_ns, rate_hz)


def test_a_window_that_ends_on_a_tick_is_not_decided_by_float_rounding() -> None:
    """0.1 + 0.2 style spans: floats see 3 * (1 / 30) < 0.1 and would put a fourth tick at the very end."""
    for tenths in range(1, 200):
        assert grid_over(10**15, 10**15 + tenths * NS_PER_S // 10, 30).n == 3 * tenths


@pytest.mark.parametrize("t_hi_ns", [5, 4, -(10**12)])
def test_an_empty_or_backward_window_has_no_tick(t_hi_ns: int) -> None:
    grid = grid_over(5, t_hi_ns, 30)
    assert grid.n == 0
    assert grid.ticks().shape == (0,)


@given(micros=st.lists(st.integers(0, 10**12), min_size=1, max_size=50))
def test_stamps_of_six_decimals_become_exactly_their_nanoseconds_up_to_a_million_seconds(micros: list[int]) -> None:
    stamps_s = [float(f"{m // 10**6}.{m % 10**6:06d}") for m in micros]
    assert to_ns(stamps_s).tolist() == [m * 1000 for m in micros]


@given(t_s=st.floats(0, 1e6), n=st.integers(1, 3))
def test_any_stamp_goes_to_its_nearest_nanosecond(t_s: float, n: int) -> None:
    ns = to_ns(np.full((n, 2), t_s))
    assert ns.shape == (n, 2)
    assert ns.dtype == np.int64
    # t * 1e9 is itself rounded to a double, by at most 2**-53 of its size.
    assert abs(Fraction(int(ns[0, 0])) - Fraction(t_s) * NS_PER_S) <= Fraction(1, 2) + Fraction(t_s) * NS_PER_S / 2**53


@given(rate_hz=RATES, t0_ns=st.integers(0, 10**15), n=st.integers(1, 100), t_ns=st.integers(0, 10**15))
def test_ticks_and_stamps_are_compared_in_units_of_one_over_rate_nanoseconds(
    rate_hz: int, t0_ns: int, n: int, t_ns: int
) -> None:
    grid = Grid(t0_ns, rate_hz, n)
    exact = [Fraction(k, rate_hz) for k in range(n)]
    assert [Fraction(int(tick), rate_hz * NS_PER_S) for tick in grid.ticks()] == exact
    assert Fraction(int(grid.scaled(np.array([t_ns]))[0]), rate_hz) == t_ns - t0_ns
    assert grid.t0_s == t0_ns / 1e9


def test_the_common_window_is_the_latest_start_and_the_earliest_end() -> None:
    streams = [np.array([5, 9, 100]), np.array([7, 90]), np.array([1, 95])]
    assert common_window(streams) == (7, 90)
    assert common_window(iter([np.array([3])])) == (3, 3)
