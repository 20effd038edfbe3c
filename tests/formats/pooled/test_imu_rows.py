"""Which row an inertial sample goes to: previous hardware_ns < stamp <= the row's. Witness: a loop over all pairs."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickdraw.formats.pooled.recording import imu_windows
from quickdraw.formats.pooled.recording.imu_windows import ImuWindows

FRAME = 100  # ns
FPS = 1e9 / FRAME


def windows() -> ImuWindows:
    made = ImuWindows(FPS)
    made.start()
    return made


def add(made: ImuWindows, stamps: Sequence[int]) -> None:
    made.add(list(stamps), [[float(each)] * 6 for each in stamps])


def settled(made: ImuWindows, hardware_ns: int) -> list[int]:
    stamps, values = made.settle(hardware_ns)
    assert values.shape == (len(stamps), 6)
    assert values.dtype == np.float32
    assert (values == stamps[:, None]).all()
    found: list[int] = stamps.tolist()
    return found


def test_a_sample_at_a_rows_stamp_is_that_rows_and_one_after_is_the_nexts() -> None:
    made = windows()
    add(made, [1000, 1001, 1100, 1101, 1200])
    assert settled(made, 1000) == [1000]
    assert settled(made, 1100) == [1001, 1100]
    assert settled(made, 1200) == [1101, 1200]


def test_the_first_row_has_a_frames_time_and_what_is_earlier_or_after_the_last_is_counted() -> None:
    made = windows()
    add(made, [899, 900, 901, 1000, 1101, 1102])
    assert settled(made, 1000) == [901, 1000]
    assert settled(made, 1100) == []
    made.close()
    assert (made.counts["imu_before_count"], made.counts["imu_after_count"]) == (2, 2)


def test_samples_may_come_out_of_order_and_after_their_frame_but_not_after_its_row_is_settled() -> None:
    made = windows()
    add(made, [1090, 1010])
    assert settled(made, 1000) == []
    add(made, [1050, 1000, 999])
    assert settled(made, 1100) == [1010, 1050, 1090]
    assert made.counts["imu_late_count"] == 2


def test_rows_without_a_stamp_or_with_an_earlier_one_take_nothing() -> None:
    made = windows()
    add(made, [1000, 1050, 1100])
    assert settled(made, 0) == []
    assert settled(made, 1000) == [1000]
    assert settled(made, 0) == []
    assert settled(made, 900) == []
    assert settled(made, 1000) == []
    assert settled(made, 1100) == [1050, 1100]


def test_a_bad_sample_is_dropped_alone_and_a_bad_delivery_whole() -> None:
    made = windows()
    made.add([1000, 1001, 1002, 0, -5], [[1000] * 6, [np.nan] * 6, [1e300] * 6, [0] * 6, [0] * 6])
    made.add([1003, 1004], np.zeros((2, 5)))
    made.add([1005], np.zeros((2, 6)))
    made.add([1006], [["x"] * 6])
    assert settled(made, 1100) == []  # the first row reaches back to 1000, which is outside
    assert made.counts["observation.imu_rejected_count"] == 4 + 2 + 1 + 1
    assert made.counts["imu_before_count"] == 1


def test_stamps_are_kept_to_the_nanosecond_and_their_source_may_reuse_its_buffers() -> None:
    made = windows()
    stamps, values = np.array([(1 << 62) + 1, (1 << 62) + 2]), np.ones((2, 6), np.float32)
    made.add(stamps, values)
    stamps[:], values[:] = 0, 9
    found, read = made.settle((1 << 62) + 3)
    assert found.tolist() == [(1 << 62) + 1, (1 << 62) + 2]
    assert (read == 1).all()


def test_an_episode_begins_without_the_samples_before_it_and_ends_with_those_it_has() -> None:
    """P-6."""
    made = ImuWindows(FPS)
    add(made, [1000])
    made.start()
    assert settled(made, 1000) == []
    add(made, [1050])
    made.close()
    add(made, [1060])
    made.start()
    assert settled(made, 1100) == []
    made.close()
    assert not +made.counts


def test_rows_that_never_bear_a_stamp_do_not_let_samples_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imu_windows, "MOST_WAITING", 100)
    made = windows()
    for first in range(1, 1001, 10):
        add(made, range(first, first + 10))
        assert settled(made, 0) == []
    made.close()
    assert (made.counts["imu_overflow_count"], made.counts["imu_after_count"]) == (900, 100)


def test_too_many_drop_the_oldest_only_also_of_what_was_put_together_when_a_row_was_settled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(imu_windows, "MOST_WAITING", 100)
    made = windows()
    add(made, range(1001, 1100))
    assert settled(made, 1000) == []
    add(made, range(1100, 1103))
    assert settled(made, 2000) == list(range(1003, 1103))
    assert made.counts["imu_overflow_count"] == 2


STAMPS = st.integers(1, 2000)


@given(
    hardware=st.lists(st.integers(0, 2000), min_size=1, max_size=12),
    samples=st.lists(STAMPS, max_size=40),
    cut=st.lists(st.integers(0, 40), max_size=3),
)
def test_every_sample_is_in_the_one_row_the_rule_names_or_counted(
    hardware: list[int], samples: list[int], cut: list[int]
) -> None:
    made = windows()
    edges = [0, *sorted(cut), len(samples)]
    for start, stop in pairwise(edges):
        add(made, samples[start:stop])
    found = [settled(made, each) for each in hardware]
    made.close()
    expected, last = [], 0
    for each in hardware:
        low = last if last else each - FRAME
        expected.append(sorted(ts for ts in samples if low < ts <= each) if each > last else [])
        last = max(last, each)
    assert found == expected
    lost = sum(made.counts[f"imu_{which}_count"] for which in ("before", "after"))
    assert sum(map(len, found)) + lost == len(samples)


def test_threads_that_deliver_while_rows_are_settled_lose_nothing() -> None:
    made = windows()
    made.settle(1)

    def deliver(first: int) -> None:
        for stamp in range(first, 4002, 4):
            add(made, [stamp])

    threads = [threading.Thread(target=deliver, args=(first,)) for first in range(2, 6)]
    for each in threads:
        each.start()
    found = [ts for hardware in range(10, 2000, 10) for ts in settled(made, hardware)]
    for each in threads:
        each.join()
    found += settled(made, 5000)
    made.close()
    assert len(found) == len(set(found))
    assert len(found) + made.counts["imu_late_count"] == 4000
