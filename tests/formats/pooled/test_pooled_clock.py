"""Which clock stamps are of, how a cut one is laid out again, and when two rows are one frame."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickdraw.formats.pooled.clock import ClockClass, classify, elapsed_s, fold, steps_back, unwrap32

FRAME_NS = 33_333_333


def ns(*stamps: int) -> np.ndarray:
    return np.array(stamps, np.int64)


def cut(whole: int) -> int:
    """What is left of nanoseconds in a signed 32-bit number."""
    return (whole + (1 << 31)) % (1 << 32) - (1 << 31)


@pytest.mark.parametrize(
    ("stamps", "expected"),
    [
        ([], ClockClass.NONE),
        ([0, 0], ClockClass.NONE),
        ([0, 1], ClockClass.TRUNC32),
        ([-1, 0], ClockClass.TRUNC32),
        ([(1 << 31) - 1], ClockClass.TRUNC32),
        ([1 - (1 << 31)], ClockClass.TRUNC32),
        ([1 << 31], ClockClass.HW64),
        ([-(1 << 31)], ClockClass.HW64),
        ([5, 1 << 62], ClockClass.HW64),
        ([-(1 << 63)], ClockClass.HW64),  # whose absolute value 64 bits do not hold
    ],
)
def test_a_clock_is_classed_by_its_largest_stamp_either_way(stamps: list[int], expected: ClockClass) -> None:
    assert classify(ns(*stamps)) is expected


@given(start=st.integers(1, 1 << 50), steps=st.lists(st.integers(1, (1 << 32) - 1), max_size=50), gaps=st.data())
def test_a_cut_clock_laid_out_again_has_the_true_steps(start: int, steps: list[int], gaps: st.DataObject) -> None:
    whole = [start]
    for step in steps:
        whole.append(whole[-1] + step)
    whole = [each for each in whole if cut(each) != 0]  # 0 would be no stamp
    stamps = [cut(each) for each in whole]
    missing = gaps.draw(st.sets(st.integers(0, max(0, len(stamps) - 1))))
    known = [k for k in range(len(stamps)) if k not in missing]
    apart = all(whole[b] - whole[a] < (1 << 32) for a, b in itertools.pairwise(known))

    found = unwrap32(ns(*(0 if k in missing else stamp for k, stamp in enumerate(stamps))))

    assert all(found[k] == 0 for k in missing if k < len(found))
    if apart:
        assert [found[k] - found[known[0]] for k in known] == [whole[k] - whole[known[0]] for k in known]


def test_a_long_step_is_taken_forward_never_back() -> None:
    whole = [1_000_000_000, 1_000_000_000 + 3_000_000_000]  # three seconds: more than half a turn
    found = unwrap32(ns(*(cut(each) for each in whole)))
    assert found[1] - found[0] == 3_000_000_000


def test_a_minute_through_32_bits_drifts_by_nothing() -> None:
    whole = [5_000_000_000 + k * FRAME_NS for k in range(1800)]
    stamps = ns(*(cut(each) for each in whole))
    assert (np.diff(stamps) < 0).sum() > 10  # it turned over and over
    assert np.diff(unwrap32(stamps)).tolist() == [FRAME_NS] * 1799


def test_a_clock_that_was_not_cut_is_not_laid_out() -> None:
    with pytest.raises(ValueError, match="beyond 32 bits"):
        unwrap32(ns(1 << 40))
    assert unwrap32(ns()).tolist() == []


def two_slots(apart_ns: int = 0, apart_s: float = 0.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Twenty frames of two slots: frame index, timestamp, hardware stamp."""
    frame = np.repeat(np.arange(20), 2)
    second = np.tile([0, 1], 20)
    return frame, (frame / 30 + second * apart_s).astype(np.float32), 10**12 + frame * FRAME_NS + second * apart_ns


def test_two_rows_of_a_frame_are_one_where_both_stamps_agree() -> None:
    found = fold(*two_slots())
    assert found.keep.tolist() == list(range(0, 40, 2))
    assert found.keep.dtype == np.int64
    assert (found.rows_per_frame, found.agrees) == (2, True)


@pytest.mark.parametrize("apart", [{"apart_ns": 1}, {"apart_s": 0.004}], ids=["hardware", "timestamp"])
def test_two_rows_of_a_frame_are_left_alone_where_one_stamp_differs(apart: dict[str, float]) -> None:
    found = fold(*two_slots(**apart))
    assert found.keep.tolist() == list(range(40))
    assert (found.rows_per_frame, found.agrees) == (2, False)


def test_one_frame_that_disagrees_leaves_the_whole_episode_as_it_is() -> None:
    frame, timestamp, hardware_ns = two_slots()
    hardware_ns[-1] += 1
    found = fold(frame, timestamp, hardware_ns)
    assert len(found.keep) == 40
    assert not found.agrees


def test_rows_of_single_slots_are_all_kept_in_their_order_and_agree() -> None:
    frame = np.array([0, 2, 1, 5])
    found = fold(frame, np.array([0, 2, 1, math.nan], np.float32), np.arange(4))
    assert found.keep.tolist() == [0, 1, 2, 3]
    assert (found.rows_per_frame, found.agrees) == (1, True)
    empty = fold(np.zeros(0, np.int64), np.zeros(0, np.float32), np.zeros(0, np.int64))
    assert (len(empty.keep), empty.rows_per_frame, empty.agrees) == (0, 0, True)


def test_rows_of_a_frame_need_not_lie_side_by_side() -> None:
    frame = np.array([0, 1, 0, 2, 1, 2])
    found = fold(frame, (frame / 30).astype(np.float32), frame * FRAME_NS)
    assert found.keep.tolist() == [0, 1, 3]
    assert found.agrees


def test_each_row_has_the_first_row_of_its_frame_whether_stamps_agree_or_not() -> None:
    number, zeros = ns(4, 2, 4, 2, 7, 4), np.zeros(6)
    for stamps in (ns(0, 0, 0, 0, 0, 0), ns(1, 2, 3, 4, 5, 6)):
        assert fold(number, zeros, stamps).first.tolist() == [0, 1, 0, 1, 4, 0]


@pytest.mark.parametrize(
    ("stamps", "rows"),
    [
        ([], []),
        ([5], []),
        ([1, 2, 2, 3], []),
        ([3, 2, 3, 1], [1, 3]),
        ([0, 3, 0, 4, 0], []),
        ([3, 0, 2, 0], [2]),
        ([0, 0], []),
    ],
)
def test_a_clock_steps_back_from_stamp_to_stamp(stamps: list[int], rows: list[int]) -> None:
    assert steps_back(ns(*stamps)).tolist() == rows


def test_two_hours_in_a_float32_is_half_a_millisecond_wide_by_wall_time_is_exact() -> None:
    true_s = 7200 + np.arange(300) / 240
    timestamp = np.concatenate([[0.125], true_s + 0.125]).astype(np.float32)
    wall_time = np.concatenate([[0.0], true_s]) + 1_790_000_000.0

    assert np.abs(timestamp[1:].astype(np.float64) - (true_s + 0.125)).max() > 1e-4
    assert np.abs(elapsed_s(timestamp, wall_time)[1:] - (true_s + 0.125)).max() < 1e-6
    assert elapsed_s(timestamp[:0], wall_time[:0]).shape == (0,)
