"""Nearest-in-time resampling against a brute-force search in exact rational arithmetic."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from statistics import median

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quickdraw.core.grid import NS_PER_S, Grid, Int64, common_window, grid_over
from quickdraw.core.resample import displacement, nearest

MS = 1_000_000
RATES = st.one_of(st.sampled_from([7, 29, 30]), st.integers(1, 120))
BASES = st.sampled_from([0, 137_409_556_005, 10**15, 10**15 + 333_333_333])

# Sorted stamps [ns] from 0: whole nanoseconds, the 4 ms grid of the rig, and a handful of values (so: duplicates).
FREE = st.lists(st.integers(0, 2 * NS_PER_S), min_size=1, max_size=40).map(sorted)
QUANTISED = st.lists(st.integers(0, 400).map(lambda i: i * 4 * MS), min_size=1, max_size=40).map(sorted)
CROWDED = st.lists(st.sampled_from([0, 1, 50 * MS, 100 * MS, 100 * MS + 1]), min_size=1, max_size=12).map(sorted)
STAMPS = st.one_of(FREE, QUANTISED, CROWDED)


def time_of_tick(grid: Grid, k: int) -> Fraction:
    return Fraction(grid.t0_ns) + Fraction(k * NS_PER_S, grid.rate_hz)


def brute_nearest(t_ns: list[int], grid: Grid) -> list[int]:
    """For each tick the first sample at the least distance: the earlier wins a tie, equal stamps the earliest."""
    return [min(range(len(t_ns)), key=lambda i: (abs(t_ns[i] - time_of_tick(grid, k)), i)) for k in range(grid.n)]


@settings(max_examples=200)
@given(stamps=STAMPS, base_ns=BASES, rate_hz=RATES, start_ns=st.integers(-NS_PER_S, NS_PER_S), n=st.integers(0, 60))
def test_nearest_is_the_brute_force_choice_before_within_and_after_the_stamps(
    stamps: list[int], base_ns: int, rate_hz: int, start_ns: int, n: int
) -> None:
    t_ns = [base_ns + stamp for stamp in stamps]
    grid = Grid(base_ns + start_ns, rate_hz, n)
    index = nearest(np.array(t_ns, np.int64), grid)
    assert index.dtype == np.int64
    assert index.tolist() == brute_nearest(t_ns, grid)


@settings(max_examples=150)
@given(stamps=QUANTISED, base_ns=BASES, rate_hz=st.sampled_from([5, 10, 20, 25, 30, 50, 100, 125]))
def test_nearest_is_the_brute_force_choice_where_ticks_fall_exactly_between_quantised_stamps(
    stamps: list[int], base_ns: int, rate_hz: int
) -> None:
    t_ns = [base_ns + stamp for stamp in stamps]
    grid = grid_over(t_ns[0], t_ns[-1], rate_hz)
    assert nearest(np.array(t_ns, np.int64), grid).tolist() == brute_nearest(t_ns, grid)


@given(stamps=st.lists(STAMPS, min_size=2, max_size=6), base_ns=BASES, rate_hz=RATES)
def test_over_the_common_window_of_several_streams_every_stream_gets_its_brute_force_choice(
    stamps: list[list[int]], base_ns: int, rate_hz: int
) -> None:
    streams = [np.array([base_ns + stamp for stamp in stream], np.int64) for stream in stamps]
    t_lo_ns, t_hi_ns = common_window(streams)
    assert (t_lo_ns, t_hi_ns) == (max(int(s.min()) for s in streams), min(int(s.max()) for s in streams))
    grid = grid_over(t_lo_ns, t_hi_ns, rate_hz)
    for stream in streams:
        assert nearest(stream, grid).tolist() == brute_nearest(stream.tolist(), grid)


@given(stamps=STAMPS, rate_hz=RATES, n=st.integers(0, 60))
def test_the_chosen_samples_never_run_backwards(stamps: list[int], rate_hz: int, n: int) -> None:
    assert (np.diff(nearest(np.array(stamps, np.int64), Grid(0, rate_hz, n))) >= 0).all()


def test_a_tie_goes_to_the_earlier_sample_and_one_nanosecond_decides_otherwise() -> None:
    grid = Grid(100 * MS, 10, 1)
    for offset_ns, chosen in ((-1, 1), (0, 0), (1, 0)):
        assert nearest(np.array([90 * MS, 110 * MS + offset_ns]), grid).tolist() == [chosen]


def test_a_third_of_a_nanosecond_decides_for_the_strictly_nearer_sample() -> None:
    """At 30 Hz tick 1 stands at 33,333,333 1/3 ns: floats of large seconds cannot see the third."""
    t0_ns = 10**15
    tick = 33_333_333
    grid = Grid(t0_ns, 30, 2)
    # distances 1 1/3 below against 1 2/3 above, then 1 1/3 below against 2/3 above
    assert nearest(np.array([t0_ns, t0_ns + tick - 1, t0_ns + tick + 2]), grid)[1] == 1
    assert nearest(np.array([t0_ns, t0_ns + tick - 1, t0_ns + tick + 1]), grid)[1] == 2


def test_of_equal_stamps_the_earliest_row_is_taken_on_either_side_of_the_tick() -> None:
    t_ns = np.array([0, 10, 10, 10, 90, 90, 220]) * MS
    assert nearest(t_ns, Grid(0, 20, 4)).tolist() == [0, 1, 4, 4]  # ticks at 0, 50 (a tie), 100 and 150 ms


def test_a_stream_of_one_sample_gives_that_sample_to_every_tick() -> None:
    assert nearest(np.array([5 * MS]), Grid(0, 30, 4)).tolist() == [0, 0, 0, 0]


def test_ticks_outside_the_stamps_take_the_first_and_the_last_sample() -> None:
    t_ns = np.array([1000, 1010, 1020]) * MS
    assert nearest(t_ns, Grid(0, 1, 4)).tolist() == [0, 0, 2, 2]


def test_equal_last_stamps_give_the_earliest_of_them_past_the_end() -> None:
    assert nearest(np.array([0, 5, 5, 5]) * MS, Grid(0, 1, 3)).tolist() == [0, 1, 1]


def camera_stamps(seconds: int) -> Int64:
    """A 31 Hz camera whose kernel stamps lie on a 4 ms grid, as on the rig."""
    return np.round(np.arange(31 * seconds) / 31 / 0.004).astype(np.int64) * 4 * MS + 138_592 * MS


def test_exact_ties_are_a_few_per_cent_of_rows_on_the_rigs_four_millisecond_grid() -> None:
    t_ns = camera_stamps(120)
    grid = grid_over(int(t_ns[0]) + 12 * MS, int(t_ns[-1]), 30)
    stamps, ties = t_ns.tolist(), 0
    index = nearest(t_ns, grid)
    for k, chosen in enumerate(index.tolist()):
        tick = time_of_tick(grid, k)
        if chosen + 1 < len(stamps) and tick - stamps[chosen] == stamps[chosen + 1] - tick:
            ties += 1
        assert abs(stamps[chosen] - tick) <= min(abs(t - tick) for t in stamps[max(0, chosen - 2) : chosen + 3])
    assert 0.01 < ties / grid.n < 0.08


def test_a_stray_unix_stamp_at_the_end_of_a_stream_moves_no_other_row() -> None:
    """One last row on another clock leaves the window as it was, and the rows in it."""
    t_ns = np.arange(200) * 10 * MS
    grid = Grid(0, 30, 60)
    stray = np.append(t_ns, 1_789_018_286 * NS_PER_S)
    assert nearest(stray, grid).tolist() == nearest(t_ns, grid).tolist()


def exact_moves(t_ns: list[int], index: list[int], grid: Grid) -> list[Fraction]:
    return [abs(t_ns[i] - time_of_tick(grid, k)) / NS_PER_S for k, i in enumerate(index)]


def exact_quantile(values: list[Fraction], q: Fraction) -> Fraction:
    """Linear interpolation between order statistics at rank (n - 1) q."""
    ordered, rank = sorted(values), (len(values) - 1) * q
    below = rank.numerator // rank.denominator
    above = min(below + 1, len(values) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (rank - below)


@given(
    stamps=st.lists(st.integers(0, 2 * NS_PER_S), min_size=2, max_size=40).map(sorted),
    base_ns=BASES,
    rate_hz=RATES,
    n=st.integers(1, 60),
)
def test_displacement_is_what_exact_arithmetic_gives(stamps: list[int], base_ns: int, rate_hz: int, n: int) -> None:
    t_ns = [base_ns + stamp for stamp in stamps]
    grid = Grid(base_ns, rate_hz, n)
    index = brute_nearest(t_ns, grid)
    found = displacement(np.array(t_ns, np.int64), np.array(index, np.int64), grid)
    moves = exact_moves(t_ns, index, grid)
    intervals = [Fraction(after - before, NS_PER_S) for before, after in pairwise(t_ns)]
    bound = median(intervals) / 2
    assert found.max_s == pytest.approx(float(max(moves)), rel=1e-12, abs=1e-18)
    assert found.p99_s == pytest.approx(float(exact_quantile(moves, Fraction(99, 100))), rel=1e-9, abs=1e-15)
    assert found.bound_s == pytest.approx(float(bound), rel=1e-12)
    edge = bound + Fraction(1, 10**6)
    if all(abs(move - edge) > Fraction(1, 10**12) for move in moves):
        assert found.past_bound == pytest.approx(sum(move > edge for move in moves) / n)
    assert found.gaps == sum(interval > 3 * median(intervals) for interval in intervals)


def test_displacement_of_an_undisturbed_stream_is_its_phase_and_nothing_is_past_its_bound() -> None:
    t_ns = np.arange(100) * 10 * MS + 3 * MS
    grid = Grid(0, 10, 9)
    found = displacement(t_ns, nearest(t_ns, grid), grid)
    assert (found.max_s, found.p99_s, found.bound_s, found.past_bound, found.gaps) == (0.003, 0.003, 0.005, 0.0, 0)


@pytest.mark.parametrize(("moved_ns", "share"), [(6_000_000, 0.0), (6_001_000, 0.0), (6_001_001, 0.5)])
def test_a_row_counts_as_past_its_bound_from_one_microsecond_beyond_it(moved_ns: int, share: float) -> None:
    t_ns = np.array([0, 12 * MS, 24 * MS, 36 * MS, 100 * MS + moved_ns])
    found = displacement(t_ns, np.array([0, 4]), Grid(0, 10, 2))
    assert (found.bound_s, found.past_bound) == (0.006, share)


def test_a_hiccup_is_an_interval_longer_than_three_medians() -> None:
    for hiccup, gaps in ((30, 0), (31, 1)):
        t_ns = np.cumsum([0, 10, 10, 10, 10, hiccup, 10, 10, 10]) * MS
        assert displacement(t_ns, np.array([0]), Grid(0, 10, 1)).gaps == gaps


@given(st.lists(st.integers(0, 10**9), min_size=2, max_size=30), st.integers(1, 40))
def test_deciles_are_the_quantiles_of_exact_arithmetic_to_the_nanosecond(stamps: list[int], n: int) -> None:
    t_ns, grid = sorted(stamps), Grid(0, 30, n)
    index = brute_nearest(t_ns, grid)
    found = displacement(np.array(t_ns, np.int64), np.array(index, np.int64), grid)
    moves = exact_moves(t_ns, index, grid)
    expected = [float(exact_quantile(moves, Fraction(tenth, 10))) for tenth in range(11)]
    assert found.deciles_s == pytest.approx(expected, abs=6e-10)
    assert found.deciles_s[-1] == pytest.approx(found.max_s, abs=6e-10)
    assert list(found.deciles_s) == sorted(found.deciles_s)
