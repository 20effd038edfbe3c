"""Times of pictures, by an mp4's own table and by reading through, against ffmpeg's probe of the same file."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickdraw.core.grid import Float64
from quickdraw.errors import VideoError
from quickdraw.video.container import read_header
from quickdraw.video.samples import Samples, read_samples
from quickdraw.video.times import Times, times_of

type Tools = Any

COUNT = 20
CODINGS = {
    "plain": ("-bf", "0"),
    "reordered": ("-bf", "3", "-b_strategy", "0"),
    "late": ("-bf", "0", "-output_ts_offset", "0.1"),
    "late and reordered": ("-bf", "3", "-b_strategy", "0", "-output_ts_offset", "0.1"),
    "unedited": ("-bf", "3", "-b_strategy", "0", "-use_editlist", "0"),
    "fragmented": ("-bf", "0", "-movflags", "frag_keyframe+empty_moov"),
}


def told(path: Path, stream: int = 0) -> Times:
    return times_of(path, stream, read_header(path) if path.suffix == ".mp4" else None)


def by_ffmpeg(path: Path, tools: Tools, *options: str) -> Float64:
    """When each packet is shown [s], in that order, by ffmpeg's binary."""
    lines = tools.ffmpeg("-copyts", "-i", str(path), *options, "-c", "copy", "-f", "framecrc", "-").decode().split("\n")
    (tick,) = (line.split()[-1] for line in lines if line.startswith("#tb 0:"))
    shown = [int(line.split(",")[2]) for line in lines if line and not line.startswith("#")]
    over, under = map(int, tick.split("/"))
    return np.sort(np.array(shown) * over / under)


@pytest.mark.parametrize("name", CODINGS)
def test_an_mp4_is_shown_when_its_tables_say(name: str, tmp_path: Path, tools: Tools) -> None:
    path = tools.encode(tmp_path / "film.mp4", tools.numbered(COUNT), *tools.x264, *CODINGS[name])
    start_s = 0.1 if name.startswith("late") else 0.0
    at_s = told(path).at_s
    np.testing.assert_allclose(at_s, start_s + np.arange(COUNT) / 30, atol=1e-3)
    if name != "unedited":  # whose film begins when its first picture is shown
        np.testing.assert_allclose(at_s, by_ffmpeg(path, tools), atol=1e-3)


@pytest.mark.parametrize("name", ["plain", "reordered", "late"])
def test_an_mkv_is_shown_when_its_blocks_say(name: str, tmp_path: Path, tools: Tools) -> None:
    path = tools.encode(tmp_path / "film.mkv", tools.numbered(COUNT), *tools.x264, *CODINGS[name])
    found = told(path)
    np.testing.assert_allclose(found.at_s, by_ffmpeg(path, tools), atol=1e-9)
    assert found.end_s == pytest.approx(found.at_s[-1] + 1 / 30, abs=1.1e-3)
    assert (found.are_counted(30), found.begins(3 * name.startswith("late"), 30), found.is_cut(30)) == (
        True,
        True,
        False,
    )


@pytest.mark.parametrize("extension", ["mp4", "mkv"])
def test_a_dropped_picture_leaves_its_time_empty(extension: str, tmp_path: Path, tools: Tools) -> None:
    path = tmp_path / f"film.{extension}"
    tools.encode(path, tools.numbered(COUNT), *tools.x264, "-vf", "select='not(eq(n,7))'", "-fps_mode", "passthrough")
    found = told(path)
    assert (len(found), found.are_counted(30)) == (COUNT - 1, True)
    np.testing.assert_allclose(found.at_s, np.delete(np.arange(COUNT), 7) / 30, atol=1e-3)


def test_each_stream_has_its_own_times(tmp_path: Path, tools: Tools) -> None:
    for name, count in (("a", 10), ("b", 15)):
        tools.encode(tmp_path / f"{name}.mkv", tools.numbered(count), *tools.x264)
    both = tmp_path / "both.mkv"
    inputs = (each for name in "ab" for each in ("-i", str(tmp_path / f"{name}.mkv")))
    tools.ffmpeg(*inputs, "-map", "0:v", "-map", "1:v", "-c", "copy", str(both))
    assert [len(told(both, stream)) for stream in (0, 1)] == [10, 15]
    assert [round(told(both, stream).end_s, 1) for stream in (0, 1)] == [0.3, 0.5]


def test_a_file_without_times_says_nothing(tmp_path: Path, tools: Tools) -> None:
    path = tools.encode(tmp_path / "film.h264", tools.numbered(5), *tools.x264, "-bf", "0")
    found = told(path)
    assert np.isnan(found.at_s).all()
    assert (len(found), found.are_counted(30), found.begins(0, 30), found.is_cut(30)) == (5, False, False, False)
    assert found.rate(30) == (0, 0)


def test_no_video_has_no_times(tmp_path: Path) -> None:
    (tmp_path / "film.mkv").write_bytes(b"text" * 99)
    with pytest.raises(VideoError, match="unreadable"):
        told(tmp_path / "film.mkv")


@pytest.mark.parametrize(
    ("step", "are_counted"),
    [(1, True), (0, True), (7.14, True), (1.16, False), (0.84, False), (0.5, False), (30, True)],
)
def test_times_are_counted_that_are_whole_frames_apart(step: float, are_counted: bool) -> None:
    assert Times(np.array([0, 1, 1 + step, 2 + step])).are_counted(1) == are_counted


@pytest.mark.parametrize("rate_hz", [15, 30, 60, 90, 120, 240, 400])
def test_times_of_whole_ms_are_counted_at_any_rate(rate_hz: int) -> None:
    even = np.arange(1000) / rate_hz
    assert Times(np.round(even, 3)).are_counted(rate_hz)
    assert not Times(np.sort(even + (np.arange(1000) % 7 == 6) * 0.48 / rate_hz)).are_counted(rate_hz)


def test_times_of_few_pictures_are_counted() -> None:
    assert Times(np.array([0.7])).are_counted(30)
    assert Times(np.zeros(0)).are_counted(30)
    assert not Times(np.array([0, np.nan])).are_counted(30)


@given(
    rate_hz=st.integers(5, 240),
    count=st.integers(30, 300),
    pauses=st.dictionaries(st.integers(1, 29), st.floats(0.1, 100), max_size=5),
    is_rounded=st.booleans(),
)
def test_the_rate_is_that_of_most_steps_whatever_pauses_there_are(
    rate_hz: int, count: int, pauses: dict[int, float], is_rounded: bool
) -> None:
    at_s = np.array([k / rate_hz + sum(more for at, more in pauses.items() if k >= at) for k in range(count)])
    found, rounded = Times(np.round(at_s, 3) if is_rounded else at_s).rate(rate_hz)
    assert found == pytest.approx(rate_hz, rel=6 * rounded if is_rounded else 1e-9)  # a rounding each stretch


def test_the_rate_of_times_that_jitter_is_their_average() -> None:
    jitter = np.random.default_rng(3).uniform(-0.012, 0.012, 300)
    jitter[[0, -1]] = 0
    assert Times(np.arange(300) / 30 + jitter).rate(30)[0] == pytest.approx(30, rel=1e-9)


@pytest.mark.parametrize("other_hz", [29, 31, 24, 60])
def test_another_rate_is_told_from_times_of_whole_ms(other_hz: int) -> None:
    found, rounded = Times(np.round(np.arange(90) / other_hz, 3)).rate(30)
    assert abs(found / 30 - 1) > 0.03 > 30 * rounded
    assert found == pytest.approx(other_hz, rel=rounded)


@pytest.mark.parametrize("at_s", [[], [0.7], [0.7, 0.7], [0, np.nan]])
def test_fewer_than_two_times_tell_no_rate(at_s: list[float]) -> None:
    assert Times(np.array(at_s, np.float64)).rate(30) == (0, 0)


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=20), st.data())
def test_samples_are_shown_as_their_runs_say(steps: list[int], data: st.DataObject) -> None:
    """Against adding them up one by one; shifts may be told of fewer pictures than there are, or of more."""
    shifts = data.draw(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=25))
    samples = Samples(
        len(steps), 0.0, 0.0, 0,
        steps=np.array([(1, each) for each in steps]),
        shifts=np.array([(1, each & 0xFFFFFFFF) for each in shifts]).reshape(-1, 2),
        scale=1000,
    )  # fmt: skip
    padded = (shifts + [0] * len(steps))[: len(steps)]
    shown = sorted(sum(steps[:at]) + shift for at, shift in enumerate(padded))
    np.testing.assert_allclose(samples.shown_s(), [(each - shown[0]) / 1000 for each in shown])


@pytest.mark.parametrize("apart", [0, 999_999, 1_000_000])
def test_pictures_that_share_their_bytes_are_not_believed(apart: int) -> None:
    """A thousand chunks of a million pictures of a byte each, so many bytes apart: at 0, 4 kB tell of a milliard."""
    boxes = {
        b"stsz": struct.pack(">II", 1, 10**9),
        b"stts": struct.pack(">III", 1, 10**9, 512),
        b"stsc": struct.pack(">IIII", 1, 1, 10**6, 1),
        b"stco": struct.pack(">I1000I", 1000, *(apart * k for k in range(1000))),
    }
    table = b"".join(struct.pack(">I4sI", 12 + len(told), kind, 0) + told for kind, told in boxes.items())
    if apart < 10**6:
        with pytest.raises(ValueError, match="pictures of 1000000000 bytes before byte"):
            read_samples(table, 15360)
    else:
        assert read_samples(table, 15360).end_byte == 10**9
