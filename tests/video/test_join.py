"""Joining by stream copy: the same packets, the same pictures, times from whole numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from quickdraw.core.episode import FramePlan
from quickdraw.errors import InvariantError
from quickdraw.video.encoding import Encoding
from quickdraw.video.join import join
from quickdraw.video.transcode import transcode

type Tools = Any


def encoding(**changed: Any) -> Encoding:
    return Encoding(
        **{"height_px": 48, "width_px": 80, "rate_hz": 30, "crf": 18, "preset": "veryfast", "gop": 2} | changed
    )


def clip(source: Path, rows: Sequence[int], target: Path, **changed: Any) -> tuple[Path, int]:
    transcode(FramePlan(source, np.array(rows, np.int64), 100), target, encoding(**changed))
    return target, len(rows)


def packets(path: Path) -> list[tuple[int, int, bytes, bool]]:
    """(pts, dts, payload, keyframe) of every packet; the time base is checked to be 1 / (512 rate)."""
    with av.open(str(path)) as container:
        found = [p for p in container.demux(video=0) if p.dts is not None]
        return [(p.pts or 0, p.dts or 0, bytes(p), p.is_keyframe) for p in found]


ROWS = ([0, 1, 2, 3, 4], [10], list(range(20, 60)), [99, 99, 99])


@pytest.fixture
def clips(tmp_path: Path, hundred: Callable[[], Path]) -> list[tuple[Path, int]]:
    return [clip(hundred(), rows, tmp_path / f"clip{i}.mp4") for i, rows in enumerate(ROWS)]


def test_packets_are_copied_byte_for_byte_in_order(clips: list[tuple[Path, int]], tmp_path: Path) -> None:
    target = tmp_path / "deep" / "down" / "joined.mp4"
    join(clips, target, 30)
    parts = [packet for path, _ in clips for packet in packets(path)]
    assert [(payload, key) for _, _, payload, key in packets(target)] == [(payload, key) for *_, payload, key in parts]


def test_picture_n_of_the_whole_has_time_n_over_the_rate_exactly(clips: list[tuple[Path, int]], tmp_path: Path) -> None:
    target = tmp_path / "joined.mp4"
    join(clips, target, 30)
    n = sum(count for _, count in clips)
    assert [(pts, dts) for pts, dts, *_ in packets(target)] == [(k * 512, k * 512) for k in range(n)]
    with av.open(str(target)) as container:
        stream = container.streams.video[0]
        assert (stream.frames, stream.start_time, stream.time_base) == (n, 0, Fraction(1, 15360))
        assert (stream.average_rate, stream.duration) == (30, n * 512)
        assert [frame.time for frame in container.decode(stream)] == [k / 30 for k in range(n)]


def test_the_joined_file_shows_the_clips_pictures_without_loss(
    clips: list[tuple[Path, int]], tmp_path: Path, tools: Tools
) -> None:
    target = tmp_path / "joined.mp4"
    join(clips, target, 30)
    whole = tools.decode(target, 48, 80)
    np.testing.assert_array_equal(whole, np.concatenate([tools.decode(path, 48, 80) for path, _ in clips]))
    assert tools.read_numbers(whole) == [row for rows in ROWS for row in rows]


def test_the_joined_file_keeps_tags_and_starts_with_its_index(clips: list[tuple[Path, int]], tmp_path: Path) -> None:
    target = tmp_path / "joined.mp4"
    join(clips, target, 30)
    with av.open(str(target)) as container:
        frame = next(container.decode(video=0))
        assert (frame.colorspace, frame.color_range) == (6, 1)
        assert container.streams.video[0].codec_context.pix_fmt == "yuv420p"
    data = target.read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")
    assert b"edts" not in data or packets(target)[0][0] == 0


def test_every_picture_of_the_joined_file_can_be_reached_by_its_time(
    clips: list[tuple[Path, int]], tmp_path: Path, tools: Tools
) -> None:
    target = tmp_path / "joined.mp4"
    join(clips, target, 30)
    expected = [row for rows in ROWS for row in rows]
    with av.open(str(target)) as container:
        stream = container.streams.video[0]
        for n in (len(expected) - 1, 5, 6, 0, 7, 45):
            container.seek(n * 512, stream=stream)
            frame = next(frame for frame in container.decode(stream) if frame.pts == n * 512)
            assert tools.read_numbers(frame.to_ndarray(format="rgb24")[None]) == [expected[n]]


def test_joining_twice_gives_the_same_bytes_and_one_clip_joins_to_itself(
    clips: list[tuple[Path, int]], tmp_path: Path
) -> None:
    for name in ("a.mp4", "b.mp4"):
        join(clips, tmp_path / name, 30)
    assert (tmp_path / "a.mp4").read_bytes() == (tmp_path / "b.mp4").read_bytes()
    join(clips[:1], tmp_path / "one.mp4", 30)
    assert packets(tmp_path / "one.mp4") == packets(clips[0][0])


@pytest.mark.parametrize("rate_hz", [7, 15, 24, 25, 29, 60])
def test_other_whole_rates_have_exact_times_too(rate_hz: int, tmp_path: Path, hundred: Callable[[], Path]) -> None:
    parts = [clip(hundred(), rows, tmp_path / f"c{i}.mp4", rate_hz=rate_hz) for i, rows in enumerate(ROWS)]
    target = tmp_path / "joined.mp4"
    join(parts, target, rate_hz)
    with av.open(str(target)) as container:
        stream = container.streams.video[0]
        times = [Fraction(frame.pts) * stream.time_base for frame in container.decode(stream)]
    assert times == [Fraction(k, rate_hz) for k in range(sum(map(len, ROWS)))]


@pytest.mark.parametrize(("promised", "message"), [(4, "5 pictures for 4 rows"), (6, "5 pictures for 6 rows")])
def test_a_clip_of_another_length_than_promised_is_an_invariant_broken(
    promised: int, message: str, clips: list[tuple[Path, int]], tmp_path: Path
) -> None:
    with pytest.raises(InvariantError, match=rf"clip0\.mp4: {message}"):
        join([(clips[0][0], promised), clips[1]], tmp_path / "joined.mp4", 30)


@pytest.mark.parametrize(
    "changed", [{"height_px": 64}, {"width_px": 96}, {"preset": "ultrafast"}], ids=["height", "width", "preset"]
)
def test_a_clip_encoded_unlike_the_first_is_an_invariant_broken(
    changed: dict[str, Any], clips: list[tuple[Path, int]], tmp_path: Path, hundred: Callable[[], Path]
) -> None:
    other = clip(hundred(), [1, 2, 3], tmp_path / "other.mp4", **changed)
    with pytest.raises(InvariantError, match=r"other\.mp4: encoded unlike .*clip0\.mp4"):
        join([clips[0], other], tmp_path / "joined.mp4", 30)


def test_a_clip_of_another_rate_is_an_invariant_broken(
    clips: list[tuple[Path, int]], tmp_path: Path, hundred: Callable[[], Path]
) -> None:
    other = clip(hundred(), [1, 2, 3], tmp_path / "other.mp4", rate_hz=15)
    with pytest.raises(InvariantError, match=r"other\.mp4: (encoded unlike .*|picture 1 at 1024/1024, not 512)"):
        join([clips[0], other], tmp_path / "joined.mp4", 30)


@pytest.mark.parametrize("pts", ["N/30+0.1", "N/30+if(gte(N,5),0.2,0)"], ids=["starts late", "gap"])
def test_a_clip_not_evenly_timed_from_zero_is_an_invariant_broken(pts: str, tmp_path: Path, tools: Tools) -> None:
    path = tools.timed(tmp_path / "late.mp4", tools.numbered(10), pts, timescale=15360)
    with pytest.raises(InvariantError, match=r"late\.mp4: picture \d at \d+/\d+, not \d+"):
        join([(path, 10)], tmp_path / "joined.mp4", 30)


def test_a_clip_with_b_frames_is_an_invariant_broken(tmp_path: Path, tools: Tools) -> None:
    path = tools.encode(tmp_path / "b.mp4", tools.numbered(30), "-c:v", "libx264", "-pix_fmt", "yuv420p", "-bf", "3",
                        "-b_strategy", "0")  # fmt: skip
    with pytest.raises(InvariantError, match=r"b\.mp4: picture 0 at 0/-\d+, not 0"):
        join([(path, 30)], tmp_path / "joined.mp4", 30)


def test_a_time_base_that_does_not_divide_the_rate_is_an_invariant_broken(tmp_path: Path, tools: Tools) -> None:
    path = tools.timed(tmp_path / "odd.mp4", tools.numbered(10), "N/30", timescale=1000)
    with pytest.raises(InvariantError, match=r"time base 1/\d+ does not divide 1/30 s"):
        join([(path, 10)], tmp_path / "joined.mp4", 30)
