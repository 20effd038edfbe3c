"""IMU samples on rows, against loops over exact fractions of a nanosecond."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import ceil
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quickdraw.data.command_line.composing import default_config
from quickdraw.data.options import as_json
from quickdraw.data.pooled_episodes import features, imu
from quickdraw.data.pooled_episodes.options import Imu as Sampling
from quickdraw.data.pooled_episodes.options import PooledOptions
from quickdraw.formats.pooled.series import Imu

OPTIONS = msgspec.convert(as_json(default_config("pooled_episodes").source) | {"target_hz": 30}, PooledOptions)

START = 7_000_000_000_000


def numbered(n: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Samples that tell which they are: 10 k, 10 k + 1, ..."""
    return (10 * np.arange(n)[:, None] + np.arange(6)).astype(np.float32)


def windows(stamps: list[int], rows: list[int], fps: int, many: int) -> list[list[int] | None]:
    """Which samples each row has, None for a row without: the issue's rule, word by word."""
    found: list[list[int] | None] = []
    for hw in rows:
        inside = [at for at in stamps if at > 0 and Fraction(hw) - Fraction(10**9, fps) < at <= hw]
        if hw <= 0 or not inside:
            found.append(None)
            continue
        chosen = []
        for j in range(many):
            target = hw - Fraction((many - 1 - j) * 10**9, many * fps)
            ranked = sorted((abs(at - target), at, number) for number, at in enumerate(stamps) if at > 0)
            chosen.append(ranked[0][2])
        found.append(chosen)
    return found


@st.composite
def recordings(draw: st.DrawFn) -> tuple[list[int], list[int], list[int], int, int]:
    """Rows' stamps, samples' stamps and rows: jitter, gaps, ties, rows and samples without a stamp, late hanging."""
    fps = draw(st.sampled_from([25, 30]))
    many = draw(st.sampled_from([1, 2, 4, 8]))
    steps = draw(
        st.lists(st.sampled_from([0, 33_333_333, 33_333_334, 40_000_000, 400_000_000]), min_size=1, max_size=6)
    )
    rows = [START + sum(steps[:at]) for at in range(len(steps) + 1)]
    rows = [0 if draw(st.integers(0, 9)) == 0 else each for each in rows]
    offset = st.one_of(st.integers(-20, 120).map(lambda k: k * 5_000_000), st.integers(-(10**8), 6 * 10**8))
    stamps = draw(st.lists(st.one_of(offset.map(lambda k: START + k), st.just(0)), min_size=1, max_size=30))
    hung = sorted(draw(st.lists(st.integers(0, len(rows) - 1), min_size=len(stamps), max_size=len(stamps))))
    return rows, stamps, hung, fps, many


@settings(deadline=None, max_examples=150)
@given(recordings())
def test_a_row_has_the_samples_nearest_to_even_steps_before_its_picture(
    made: SimpleNamespace, recording: tuple[list[int], list[int], list[int], int, int]
) -> None:
    rows, stamps, hung, fps, many = recording
    if not any(rows) or not any(stamps):
        return
    values = numbered(len(stamps))
    series = Imu(np.array(stamps, np.int64), values, np.array(hung, np.int64))
    options = replace(OPTIONS, target_hz=fps, imu=Sampling("window", many))
    found = imu.sampled(series, made.frames(rows, fps), options)
    for row, wanted in enumerate(windows(stamps, rows, fps, many)):
        assert bool(found.present[row]) is (wanted is not None)
        expected = np.zeros(6 * many) if wanted is None else values[wanted].ravel()
        np.testing.assert_array_equal(found.values[row], expected)


@settings(deadline=None, max_examples=40)
@given(recordings())
def test_mean_and_last_are_of_the_samples_in_a_frames_time(
    made: SimpleNamespace, recording: tuple[list[int], list[int], list[int], int, int]
) -> None:
    rows, stamps, hung, fps, _ = recording
    if not any(rows) or not any(stamps):
        return
    values, frames = numbered(len(stamps)), made.frames(rows, fps)
    series = Imu(np.array(stamps, np.int64), values, np.array(hung, np.int64))
    mean = imu.sampled(series, frames, replace(OPTIONS, target_hz=fps, imu=Sampling("mean", 8)))
    last = imu.sampled(series, frames, replace(OPTIONS, target_hz=fps, imu=Sampling("last", 8)))
    for row, hw in enumerate(rows):
        inside = [n for n, at in enumerate(stamps) if at > 0 and hw - Fraction(10**9, fps) < at <= hw]
        assert bool(mean.present[row]) is bool(last.present[row]) is bool(inside)
        expected = values[inside].astype(np.float64).mean(axis=0) if inside else np.zeros(6)
        np.testing.assert_allclose(mean.values[row], expected, rtol=1e-6)
        newest = max(inside, key=lambda n: (stamps[n], n), default=None)
        np.testing.assert_array_equal(last.values[row], np.zeros(6) if newest is None else values[newest])


def test_the_last_sample_is_never_after_the_picture_and_a_windows_may_be(made: SimpleNamespace) -> None:
    series = Imu(START + np.array([-4_000_000, 1_000_000]), numbered(2), np.array([0, 0]))
    frames = made.frames([START])
    last = imu.sampled(series, frames, replace(OPTIONS, imu=Sampling("last", 8)))
    np.testing.assert_array_equal(last.values, [numbered(2)[0]])
    assert last.displacement is not None
    assert last.displacement.max_s == 0.004
    window = imu.sampled(series, frames, replace(OPTIONS, imu=Sampling("window", 1)))
    np.testing.assert_array_equal(window.values, [numbered(2)[1]])
    assert window.displacement is not None
    assert window.displacement.max_s == 0.001


def test_a_window_is_exact_at_any_rate_after_any_time(made: SimpleNamespace) -> None:
    """256 samples a row at 1000 Hz, 30 days into a recording, stamps in nanoseconds since 1970."""
    rng = np.random.default_rng(3)
    begun = 1_790_000_000_000_000_000
    rows = [begun, begun + 30 * 86_400 * 10**9]
    stamps = [row - int(back) for row in rows for back in sorted(rng.integers(0, 10**6, 400))[::-1]]
    series = Imu(np.array([1, *stamps]), numbered(801), np.zeros(801, np.int64))
    found = imu.sampled(series, made.frames(rows, 1000), replace(OPTIONS, target_hz=1000, imu=Sampling("window", 256)))
    for row, wanted in enumerate(windows([1, *stamps], rows, 1000, 256)):
        np.testing.assert_array_equal(found.values[row], numbered(801)[wanted].ravel())


@pytest.mark.parametrize("clock", [0, 7])
@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(0, 2), min_size=0, max_size=25), st.sampled_from([1, 3, 8]), st.booleans())
def test_without_a_clock_a_frame_has_what_hung_on_its_rows(
    made: SimpleNamespace, clock: int, hung: list[int], many: int, doubled: bool
) -> None:
    hung.sort()
    values = numbered(len(hung))
    rows = [clock * (each + 1) for each in range(3)]
    index = [0, 0, 1] if doubled else [0, 1, 2]  # rows 0 and 1 are one frame
    frames = made.frames(rows, 30, index)
    series = Imu(np.arange(1, len(hung) + 1), values, np.array(hung, np.int64))
    window = imu.sampled(series, frames, replace(OPTIONS, imu=Sampling("window", many)))
    mean = imu.sampled(series, frames, replace(OPTIONS, imu=Sampling("mean", 8)))
    last = imu.sampled(series, frames, replace(OPTIONS, imu=Sampling("last", 8)))
    for frame in range(len(frames)):
        own = values[[index[row] == frame for row in hung]] if hung else values
        m = len(own)
        assert bool(window.present[frame]) is (m > 0)
        if m:
            expected = [own[ceil((j + 1) * m / many) - 1] for j in range(many)]
            np.testing.assert_array_equal(window.values[frame], np.ravel(expected))
            np.testing.assert_allclose(mean.values[frame], own.mean(axis=0), rtol=1e-6)
            np.testing.assert_array_equal(last.values[frame], own[-1])


def test_samples_of_dropped_rows_are_looked_for_too_and_not_finite_ones_never(
    made: SimpleNamespace, episode: Callable[..., Any]
) -> None:
    hw = [START, START, START + 40_000_000, START + 40_000_000]
    stamps = [[START - 30_000_000], [START - 1_000_000, START], [], [START + 20_000_000, START + 39_000_000]]
    samples = [[[1.0] * 6], [[2.0] * 6, [np.nan] * 6], [], [[4.0] * 6, [5.0] * 6]]
    one = episode(
        {
            "frame_index": pa.array([0, 0, 1, 1]),
            "hardware_ns": pa.array(hw),
            "imu_ts_ns": pa.array(stamps, pa.list_(pa.int64())),
            "observation.imu": pa.array(samples, pa.list_(pa.list_(pa.float32(), 6))),
        }
    )
    frames = made.frames(hw, 25, [0, 0, 1, 1])
    options = replace(OPTIONS, target_hz=25, imu=Sampling("window", 2))
    held = features.hold(one, frames, options)
    entry = held.columns["observation.imu"]
    assert entry == {"column": "observation.imu", "width": 12, "filled": True, "missing": 0, "odd": 1}
    found = imu.sampled(one.imu(), frames, options)
    np.testing.assert_array_equal(found.values[:, ::6], [[1, 2], [4, 5]])
    assert held.displacement["imu"].max_s == pytest.approx(0.010)


def test_a_clock_that_steps_back_is_none_and_stamps_decades_away_do_no_harm(made: SimpleNamespace) -> None:
    values = numbered(3)
    back = made.frames([START, START - 5, START + 7])
    found = imu.sampled(
        Imu(np.array([1, 2, 3]), values, np.array([0, 0, 2])), back, replace(OPTIONS, imu=Sampling("last", 8))
    )
    np.testing.assert_array_equal(found.values, [values[1], np.zeros(6), values[2]])
    frames = made.frames([START, START + 33_333_334])
    far = Imu(np.array([1, START, 2**63 - 1]), values, np.array([0, 0, 1]))
    found = imu.sampled(far, frames, replace(OPTIONS, imu=Sampling("window", 8)))
    assert found.present.tolist() == [True, False]
    np.testing.assert_array_equal(found.values[0].reshape(8, 6), np.tile(values[1], (8, 1)))


@pytest.mark.parametrize("mode", ["window", "mean", "last"])
@pytest.mark.parametrize(
    ("before_ns", "inside"), [(40_000_000, False), (39_999_999, True), (0, True), (-1, False), (40_000_001, False)]
)
def test_a_frames_time_is_open_at_its_beginning_and_closed_at_its_end(
    made: SimpleNamespace, mode: Any, before_ns: int, inside: bool
) -> None:
    series = Imu(np.array([START - before_ns]), numbered(1) + 1, np.array([0]))
    found = imu.sampled(series, made.frames([START], 25), replace(OPTIONS, target_hz=25, imu=Sampling(mode, 8)))
    assert found.present.tolist() == [inside]
    assert found.filled is inside
    assert bool(found.values.any()) is inside
