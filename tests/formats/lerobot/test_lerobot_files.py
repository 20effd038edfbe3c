"""Which file an episode goes to, and which episode is too long for lerobot's float32 clock."""

from __future__ import annotations

import struct
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from quickdraw.formats.lerobot.files import Place, beyond_reader, place_clips
from quickdraw.formats.lerobot.schema import MB, Limits

CLIPS = st.lists(st.tuples(st.integers(1, 40_000), st.integers(1, 300 * MB)), min_size=1, max_size=40)
LIMITS = st.builds(
    Limits, files_per_chunk=st.integers(1, 5), video_mb=st.integers(1, 300), video_s=st.integers(1, 1500)
)
RATES = st.integers(1, 120)
RELAXED = settings(deadline=None)  # cores are shared


def by_file(clips: list[tuple[int, int]], places: list[Place]) -> list[list[tuple[int, int]]]:
    """The clips of each file."""
    files: list[list[tuple[int, int]]] = [[] for _ in range(places[-1].number + 1)]
    for clip, place in zip(clips, places, strict=True):
        files[place.number].append(clip)
    return files


@RELAXED
@given(CLIPS, RATES, LIMITS)
def test_numbers_start_at_0_and_go_up_by_one(clips: list[tuple[int, int]], rate: int, limits: Limits) -> None:
    numbers = [place.number for place in place_clips(*map(list, zip(*clips, strict=True)), rate, limits)]
    assert numbers[0] == 0
    assert all(b - a in (0, 1) for a, b in pairwise(numbers))


@RELAXED
@given(CLIPS, RATES, LIMITS)
def test_first_frames_count_what_lies_before_in_the_same_file(
    clips: list[tuple[int, int]], rate: int, limits: Limits
) -> None:
    places = place_clips(*map(list, zip(*clips, strict=True)), rate, limits)
    for i, place in enumerate(places):
        before = [clips[j][0] for j in range(i) if places[j].number == place.number]
        assert place.first_frame == sum(before)


@RELAXED
@given(CLIPS, RATES, LIMITS)
def test_no_file_of_several_clips_is_too_long_or_too_large(
    clips: list[tuple[int, int]], rate: int, limits: Limits
) -> None:
    for held in by_file(clips, place_clips(*map(list, zip(*clips, strict=True)), rate, limits)):
        if len(held) > 1:
            assert sum(frames for frames, _ in held) <= limits.video_s * rate
            assert sum(size for _, size in held) < limits.video_mb * MB


@RELAXED
@given(CLIPS, RATES, LIMITS)
def test_no_file_could_have_taken_the_next_clip(clips: list[tuple[int, int]], rate: int, limits: Limits) -> None:
    files = by_file(clips, place_clips(*map(list, zip(*clips, strict=True)), rate, limits))
    for held, following in pairwise(files):
        more = [*held, following[0]]
        too_long = sum(frames for frames, _ in more) > limits.video_s * rate
        assert too_long or sum(size for _, size in more) >= limits.video_mb * MB


@RELAXED
@given(CLIPS, RATES, LIMITS)
def test_chunks_hold_as_many_files_as_the_limit_says(clips: list[tuple[int, int]], rate: int, limits: Limits) -> None:
    for place in place_clips(*map(list, zip(*clips, strict=True)), rate, limits):
        indices = place.indices(limits)
        assert 0 <= indices["file_index"] < limits.files_per_chunk
        assert indices["chunk_index"] * limits.files_per_chunk + indices["file_index"] == place.number


@RELAXED
@given(CLIPS, RATES, LIMITS)
def test_cameras_do_not_influence_one_another(clips: list[tuple[int, int]], rate: int, limits: Limits) -> None:
    """Places are a function of one camera's clips: fewer bytes never lead to more files."""
    frames, sizes = map(list, zip(*clips, strict=True))
    half = [size // 2 for size in sizes]
    assert place_clips(frames, half, rate, limits)[-1].number <= place_clips(frames, sizes, rate, limits)[-1].number


def test_lerobots_defaults_are_the_limits_of_a_file_and_1000_s_its_length() -> None:
    assert Limits() == Limits(files_per_chunk=1000, data_mb=100, video_mb=200, video_s=1000)
    assert [p.number for p in place_clips([29_999, 1, 1], [1, 1, 1], 30, Limits())] == [0, 0, 1]


def float32(x: float) -> float:
    """x as a float32, by struct."""
    rounded: float = struct.unpack("<f", struct.pack("<f", x))[0]
    return rounded


def error_s(row: int, rate: int) -> Fraction:
    """How far a row's float32 timestamp is from row / rate, exactly."""
    return abs(Fraction(float32(row / rate)) - Fraction(row, rate))


@RELAXED
@given(st.integers(1, 2048 * 60), RATES)
def test_no_episode_of_up_to_2048_s_is_beyond_lerobots_reader(frames: int, rate: int) -> None:
    assume(frames <= 2048 * rate)
    assert not beyond_reader(frames, rate)


@settings(deadline=None, max_examples=40)
@given(st.integers(2049, 3000), RATES)
def test_an_episode_is_beyond_the_reader_as_soon_as_one_of_its_rows_is(seconds: int, rate: int) -> None:
    frames = seconds * rate
    suspects = range(2048 * rate, frames)
    assert beyond_reader(frames, rate) == any(error_s(row, rate) >= Fraction(1, 10_000) for row in suspects)


@pytest.mark.parametrize("rate", [16, 32, 64])
def test_a_rate_whose_ticks_are_float32_numbers_is_never_beyond_it(rate: int) -> None:
    assert not beyond_reader(4000 * rate, rate)


def test_at_30_hz_the_first_row_out_of_reach_lies_just_past_2048_s() -> None:
    first = next(row for row in range(2048 * 30, 2050 * 30) if error_s(row, 30) >= Fraction(1, 10_000))
    assert 2048 * 30 < first < 2049 * 30
    assert not beyond_reader(first, 30)
    assert beyond_reader(first + 1, 30)
