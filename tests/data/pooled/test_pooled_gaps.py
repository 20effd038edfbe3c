"""Holes between frames, in closed form, on each class of clock."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickdraw.data.pooled_episodes.gaps import Gap, frame_steps, gaps, pieces
from quickdraw.formats.pooled.clock import ClockClass

FRAME_NS, START = 33_333_333, 5_000_000_000_000


def found(hardware: list[int], wall: list[float], clock: ClockClass) -> list[tuple[int, float, str]]:
    told = gaps(np.array(hardware, np.int64), np.array(wall), clock=clock, rate_hz=30, max_gap_s=0.5)
    return [(gap.before, round(gap.length_s, 3), gap.clock) for gap in told]


def steady(count: int, hole_after: int, hole_ns: int) -> tuple[list[int], list[float]]:
    """Stamps of `count` frames with a hole, and the wall's, a little late."""
    stamps = [START + at * FRAME_NS + (at > hole_after) * hole_ns for at in range(count)]
    return stamps, [1.7e9 + stamp * 1e-9 + 0.01 for stamp in stamps]


@pytest.mark.parametrize(("hole_ns", "expected"), [(466_666_667, []), (466_666_668, [(4, 0.5, "hardware_ns")])])
def test_a_hole_is_one_beyond_the_longest_gap(hole_ns: int, expected: list[tuple[int, float, str]]) -> None:
    assert found(*steady(10, 4, hole_ns), ClockClass.HW64) == expected


def test_a_whole_clock_is_believed_over_the_wall() -> None:
    stamps, wall = steady(10, 4, 0)
    assert found(stamps, [each + (at > 6) * 3 for at, each in enumerate(wall)], ClockClass.HW64) == []


def test_without_a_clock_the_wall_tells() -> None:
    _, wall = steady(10, 4, 1_000_000_000)
    assert found([0] * 10, wall, ClockClass.NONE) == [(4, 1.033, "wall_time")]


@pytest.mark.parametrize("hole_s", [0.6, 2.5, 4.2, 4.4, 9.0, 100.0])
def test_a_clock_cut_to_32_bits_shows_holes_of_any_length(hole_s: float) -> None:
    """Also those longer than the 4.295 s after which it begins again."""
    stamps, wall = steady(10, 4, int(hole_s * 1e9))
    cut = np.array(stamps).astype(np.int32).tolist()
    assert found(cut, wall, ClockClass.TRUNC32) == [(4, round(hole_s + 1 / 30, 3), "hardware_ns")]


def test_a_clock_that_wraps_within_a_recording_has_no_hole_there() -> None:
    stamps = [(1 << 31) - 5 * FRAME_NS + at * FRAME_NS for at in range(200)]
    wall = [1.7e9 + stamp * 1e-9 for stamp in stamps]
    assert min(np.array(stamps).astype(np.int32)) < 0
    assert found(np.array(stamps).astype(np.int32).tolist(), wall, ClockClass.TRUNC32) == []


def test_a_frame_without_a_stamp_stands_for_a_frames_time() -> None:
    stamps, wall = steady(30, 40, 0)
    assert found([0 if 3 <= at < 25 else stamp for at, stamp in enumerate(stamps)], wall, ClockClass.HW64) == []


def test_a_hole_beside_frames_without_stamps_is_where_the_wall_steps_most() -> None:
    stamps, wall = steady(12, 5, 2_000_000_000)
    cut = [0 if 3 <= at < 9 else stamp for at, stamp in enumerate(stamps)]
    assert found(cut, wall, ClockClass.HW64) == [(5, 2.033, "hardware_ns")]


@pytest.mark.parametrize(
    ("clock", "stamped", "holes"),
    [
        (ClockClass.HW64, (6, 12), [2]),
        (ClockClass.HW64, (0, 6), [8]),
        (ClockClass.HW64, (4, 6), [2, 8]),
        (ClockClass.TRUNC32, (4, 6), [2, 8]),
        (ClockClass.TRUNC32, (2, 3), [2, 8]),
    ],
)
def test_frames_before_the_first_stamp_and_behind_the_last_have_the_wall(
    clock: ClockClass, stamped: tuple[int, int], holes: list[int]
) -> None:
    """Two holes by the wall, of which a whole clock has none."""
    first, end = stamped
    hardware = [1000 + at * FRAME_NS if first <= at < end else 0 for at in range(12)]
    wall = [1.7e9 + at / 30 + (at > 2) * 10 + (at > 8) * 20 for at in range(12)]
    if clock is ClockClass.HW64:
        hardware = [each and each + START for each in hardware]
    lengths = {2: 10.033, 8: 20.033}
    assert found(hardware, wall, clock) == [(at, lengths[at], "wall_time") for at in holes]


def test_a_step_back_is_no_hole() -> None:
    stamps, wall = steady(10, 4, -3_000_000_000)
    assert found(stamps, wall, ClockClass.HW64) == []


def test_stamps_too_far_apart_for_64_bits_are_a_hole() -> None:
    far = (1 << 63) - 1
    assert [gap[0] for gap in found([-far, far], [0.0, 1.0], ClockClass.HW64)] == [0]


def test_one_frame_has_no_hole() -> None:
    assert found([START], [1.0], ClockClass.HW64) == []
    assert found([0], [1.0], ClockClass.NONE) == []


@pytest.mark.parametrize("clock", [ClockClass.HW64, ClockClass.TRUNC32])
def test_frames_step_by_their_stamps_where_both_have_one_else_by_the_wall(clock: ClockClass) -> None:
    """The wall is late by 10 ms at one frame, and frames 5 and 6 have no stamp."""
    at_ns = np.arange(10) * FRAME_NS + (np.arange(10) >= 8) * 2 * 10**9
    stamps = np.where(np.isin(np.arange(10), (5, 6)), 0, at_ns + START)
    stamps = stamps.astype(np.int32).astype(np.int64) if clock is ClockClass.TRUNC32 else stamps
    wall_s = 1.7e9 + at_ns * 1e-9 + np.isin(np.arange(10), (2, 6)) * 0.01
    late_s = np.array([0, 0, 0, 0, 0, 0.01, -0.01, 2, 0])
    np.testing.assert_allclose(frame_steps(stamps, wall_s, clock), FRAME_NS * 1e-9 + late_s, atol=1e-6)


def test_frames_without_any_stamp_step_by_the_wall() -> None:
    for clock in ClockClass:
        assert frame_steps(np.zeros(3, np.int64), np.array([1.0, 2.5, 2.0]), clock).tolist() == [1.5, -0.5]
        assert frame_steps(np.full(1, 5), np.array([1.0]), clock).tolist() == []


@given(st.integers(1, 50), st.sets(st.integers(0, 48)))
def test_pieces_are_all_frames_in_order_cut_at_gaps(count: int, cuts: set[int]) -> None:
    inside = sorted(cut for cut in cuts if cut < count - 1)
    told = pieces(count, [Gap(cut, 1.0, "wall_time") for cut in inside])
    assert [frame for first, end in told for frame in range(first, end)] == list(range(count))
    assert [end - 1 for _, end in told[:-1]] == inside
    assert all(first < end for first, end in told)


@given(st.lists(st.integers(1, 2_000_000_000), min_size=1, max_size=30))
def test_between_gaps_no_step_is_longer_than_the_longest(steps_ns: list[int]) -> None:
    stamps = np.cumsum([START, *steps_ns])
    told = gaps(stamps, np.zeros(len(stamps)), clock=ClockClass.HW64, rate_hz=30, max_gap_s=0.5)
    assert [gap.before for gap in told] == [at for at, step in enumerate(steps_ns) if step > 500_000_000]
