"""The reading matrix of lerobot_v3.md 2.4: picture k is the k-th decoded one, whatever the container says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from quickdraw.errors import VideoError
from quickdraw.video.decoding import as_rgb, pictures

type Tools = Any


def numbers_of(path: Path, tools: Tools) -> list[int]:
    decoded = [frame.to_ndarray(format="rgb24") for frame in pictures(path)]
    numbers: list[int] = tools.read_numbers(np.stack(decoded))
    return numbers


TIMES = {
    "jitter of 8 ms": "N/30+0.1+0.008*sin(N*12.9898)",
    "one gap of a second": "N/30+if(gte(N,50),1,0)",
    "a third of the frames dropped": "(floor(N/2)*3+mod(N,2))/30",
    "pairs 1 ms apart": "floor(N/2)*2/30+mod(N,2)*0.001",
    "first time half a second": "0.5+N/30",
    "rate drifting from 25 to 31 Hz": "N/25-N*N*0.00004",
}


@pytest.mark.parametrize("case", TIMES)
def test_picture_k_is_the_kth_decoded_one_whatever_the_container_times(case: str, tmp_path: Path, tools: Tools) -> None:
    path = tools.timed(tmp_path / "a.mp4", tools.numbered(100), TIMES[case])
    with av.open(str(path)) as container:  # the case is what it says: not 100 pictures evenly timed from 0
        stream = container.streams.video[0]
        times = sorted(
            float(packet.pts * stream.time_base) for packet in container.demux(stream) if packet.pts is not None
        )
    assert len(times) == 100
    assert times[0] > 0.05 or np.ptp(np.diff(times)) > 0.005
    assert numbers_of(path, tools) == list(range(100))


def test_every_picture_of_an_evenly_timed_file_is_read_in_order(hundred: Callable[[], Path], tools: Tools) -> None:
    assert numbers_of(hundred(), tools) == list(range(100))


def test_three_b_frames_are_put_in_order_and_the_last_ones_are_not_lost(tmp_path: Path, tools: Tools) -> None:
    path = tools.encode(tmp_path / "b.mp4", tools.numbered(100), "-c:v", "libx264", "-pix_fmt", "yuv420p", "-g", "30",
                        "-bf", "3", "-b_strategy", "0", "-preset", "veryfast")  # fmt: skip
    with av.open(str(path)) as container:
        dts = [packet.pts for packet in container.demux(video=0) if packet.pts is not None]
    assert dts != sorted(dts)
    assert numbers_of(path, tools) == list(range(100))


def test_fifteen_hertz_tagged_as_thirty_gives_each_picture_once(tmp_path: Path, tools: Tools) -> None:
    path = tools.timed(tmp_path / "a.mp4", tools.numbered(100), "N/15", timescale=30)
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        assert stream.codec_context.framerate == 30
        assert stream.average_rate is not None
        assert 14.5 < stream.average_rate < 15.5
    assert numbers_of(path, tools) == list(range(100))


def test_a_fragmented_file_whose_header_counts_no_frame_is_read_whole(tmp_path: Path, tools: Tools) -> None:
    path = tools.encode(tmp_path / "f.mp4", tools.numbered(100), *tools.x264, "-bf", "0", "-g", "10", "-movflags",
                        "frag_keyframe+empty_moov")  # fmt: skip
    with av.open(str(path)) as container:
        assert container.streams.video[0].frames == 0
    assert numbers_of(path, tools) == list(range(100))


def test_a_file_without_moov_is_refused_by_name(tmp_path: Path, hundred: Callable[[], Path]) -> None:
    whole = hundred().read_bytes()
    path = tmp_path / "truncated.mp4"
    path.write_bytes(whole[: len(whole) * 6 // 10])
    with pytest.raises(VideoError, match=r"truncated\.mp4: found unreadable \(Invalid data.*expected a playable video"):
        list(pictures(path))


def test_a_faststart_file_cut_at_sixty_per_cent_is_an_error_not_a_short_episode(tmp_path: Path, tools: Tools) -> None:
    whole = tools.encode(tmp_path / "whole.mp4", tools.numbered(100), *tools.x264, "-bf", "0", "-g", "10", "-movflags",
                         "faststart").read_bytes()  # fmt: skip
    path = tmp_path / "cut.mp4"
    path.write_bytes(whole[: len(whole) * 6 // 10])
    read = []
    with pytest.raises(VideoError, match=r"cut\.mp4: found picture \d+: Invalid data.*expected a decodable picture"):
        read.extend(pictures(path))
    assert 10 < len(read) < 100


@pytest.mark.parametrize("degrees", [90, 180, -90])
def test_rotation_metadata_is_refused_with_its_angle(
    degrees: int, tmp_path: Path, hundred: Callable[[], Path], tools: Tools
) -> None:
    path = tmp_path / "rotated.mp4"
    tools.ffmpeg("-display_rotation", str(degrees), "-i", str(hundred()), "-c", "copy", str(path))
    with pytest.raises(
        VideoError, match=rf"rotation metadata of -?{abs(degrees)} degrees, expected pictures stored upr"
    ):
        list(pictures(path))


def test_an_edit_list_leaves_the_decoded_pictures_in_order_though_the_header_counts_more(
    tmp_path: Path, tools: Tools
) -> None:
    whole = tools.encode(tmp_path / "whole.mp4", tools.numbered(100), *tools.x264, "-bf", "0", "-g", "30")
    path = tmp_path / "edited.mp4"
    tools.ffmpeg("-ss", "0.45", "-i", str(whole), "-c", "copy", str(path))
    numbers = numbers_of(path, tools)
    with av.open(str(path)) as container:
        assert container.streams.video[0].frames > len(numbers)
    assert numbers == list(range(100 - len(numbers), 100))


@pytest.mark.parametrize("content", [b"", b"not a video at all\n" * 50, b"\0" * 4096])
def test_what_is_no_video_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.mp4"
    path.write_bytes(content)
    with pytest.raises(VideoError, match=r"x\.mp4: found unreadable \(.+\), expected a playable video file"):
        list(pictures(path))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VideoError, match=r"gone\.mp4: found unreadable \(No such file or directory\)"):
        list(pictures(tmp_path / "gone.mp4"))


def test_a_file_of_sound_alone_has_no_video_stream(tmp_path: Path, tools: Tools) -> None:
    path = tmp_path / "sound.mp4"
    tools.ffmpeg("-f", "lavfi", "-i", "sine=duration=0.2", "-c:a", "aac", str(path))
    with pytest.raises(VideoError, match=r"sound\.mp4: found no video stream, expected one video stream"):
        list(pictures(path))


def test_pictures_that_change_their_size_half_way_are_refused(tmp_path: Path, tools: Tools) -> None:
    parts = []
    for name, (height, width) in {"a": (96, 160), "b": (64, 64)}.items():
        part = tools.encode(tmp_path / f"{name}.h264", tools.numbered(5, height, width), *tools.x264, "-bf", "0")
        parts.append(part.read_bytes())
    path = tmp_path / "both.h264"
    path.write_bytes(b"".join(parts))
    with pytest.raises(VideoError, match=r"found picture 5: 64x64, expected 160x96 like picture 0"):
        list(pictures(path))


def test_a_picture_as_rgb_is_what_ffmpegs_binary_makes_of_it_red_first(
    hundred: Callable[[], Path], tools: Tools
) -> None:
    shown = np.stack([as_rgb(picture) for picture in pictures(hundred())])
    assert (shown.shape, shown.dtype) == ((100, tools.height, tools.width, 3), np.uint8)
    every = tools.decode(hundred(), tools.height, tools.width)
    assert np.abs(shown.astype(int) - every).mean() < 1.5
    red, green, blue = shown[0, tools.height // 2 + 10, :20].mean(axis=0)  # the moving texture
    assert red > green + 60 > blue + 60


def test_a_reader_that_stops_early_leaves_no_file_open(hundred: Callable[[], Path]) -> None:
    """A generator that is dropped closes its container; ResourceWarnings would fail this test."""
    first = next(pictures(hundred()))
    assert (first.width, first.height) == (160, 96)
