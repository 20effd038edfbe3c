"""What a file is, told by its streams: whatever it is called, and whether its pictures can be counted on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quickdraw.errors import VideoError
from quickdraw.video.cut_off import refuse_cut
from quickdraw.video.decoding import as_gray, as_rgb, pictures
from quickdraw.video.ffv1_slices import is_intact
from quickdraw.video.probing import counts, streams

HEIGHT, WIDTH, COUNT = 48, 64, 8


def gray(count: int = COUNT) -> np.ndarray[Any, Any]:
    return np.random.default_rng(3).integers(0, 65536, (count, HEIGHT, WIDTH), np.uint16)


def lossless(tools: Any, path: Path, *options: str) -> Path:
    encoded: Path = tools.encode(path, gray(), "-c:v", "ffv1", "-level", "3", *options, pix_fmt="gray16le")
    return encoded


def test_a_stream_tells_its_codec_size_rate_and_range(tools: Any, tmp_path: Path) -> None:
    colour, depth = (
        tools.encode(tmp_path / "a.mp4", tools.numbered(5), *tools.x264),
        lossless(tools, tmp_path / "b.mkv"),
    )
    (found,) = streams(colour)
    assert (found.index, found.codec, found.pix_fmt) == (0, "h264", "yuv420p")
    assert (found.height, found.width, found.fps) == (tools.height, tools.width, 30.0)
    (found,) = streams(depth)
    assert (found.codec, found.pix_fmt, found.color_range) == ("ffv1", "gray16le", "pc")


def test_each_stream_of_a_file_is_told_and_read_by_its_number(tools: Any, tmp_path: Path) -> None:
    path = tmp_path / "two.mkv"
    tools.ffmpeg("-f", "lavfi", "-i", f"testsrc=s={WIDTH}x{HEIGHT}:d=0.2", "-f", "lavfi", "-i", "sine=d=0.2",
                 "-i", str(lossless(tools, tmp_path / "b.mkv")), "-map", "0", "-map", "1", "-map", "2", "-c:v:0",
                 "libx264", "-pix_fmt:v:0", "yuv420p", "-c:v:1", "copy", "-c:a", "pcm_s16le", str(path))  # fmt: skip
    assert [(each.index, each.codec) for each in streams(path)] == [(0, "h264"), (2, "ffv1")]
    np.testing.assert_array_equal([as_gray(each) for each in pictures(path, 2)], gray())
    assert len([as_rgb(each) for each in pictures(path)]) == 5
    with pytest.raises(VideoError, match="no video in stream 1"):
        list(pictures(path, 1))
    assert counts(path) == {0: 5, 2: COUNT}


def test_gray_is_never_made_of_another_format(tools: Any, tmp_path: Path) -> None:
    path = tools.encode(tmp_path / "a.mp4", tools.numbered(1), *tools.x264)
    with pytest.raises(ValueError, match="yuv420p"):
        as_gray(next(pictures(path)))


@pytest.mark.parametrize("content", [b"", b"no video at all" * 40])
def test_what_is_no_video_is_an_error(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.mkv"
    path.write_bytes(content)
    for ask in (streams, counts):
        with pytest.raises(VideoError):
            ask(path)


def test_a_stream_whose_pictures_cannot_be_told_is_an_error_and_not_colour(tools: Any, tmp_path: Path) -> None:
    path = lossless(tools, tmp_path / "b.mkv")
    path.write_bytes(path.read_bytes()[:1500])  # headers, and no picture
    with pytest.raises(VideoError, match="without a picture"):
        streams(path)


def test_a_picture_of_ffv1_with_one_wrong_bit_is_an_error(tools: Any, tmp_path: Path) -> None:
    path = lossless(tools, tmp_path / "b.mkv")
    content, rng = path.read_bytes(), np.random.default_rng(5)
    for place in rng.integers(2000, len(content) - 500, 40).tolist():
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        try:
            found = [as_gray(each) for each in pictures(path)]
        except VideoError:
            continue
        np.testing.assert_array_equal(found, gray(), f"byte {place}")  # a bit of the container that means nothing


def test_ffv1_without_checksums_is_read_as_it_is(tools: Any, tmp_path: Path) -> None:
    for name, options in {"old": ("-level", "1"), "plain": ("-slicecrc", "0")}.items():
        path = lossless(tools, tmp_path / f"{name}.mkv", *options)
        np.testing.assert_array_equal([as_gray(each) for each in pictures(path)], gray())


@pytest.mark.parametrize("packet", [b"", b"\0" * 7, b"\0" * 8, b"\0" * 100, b"\xff" * 100])
def test_what_is_no_chain_of_slices_is_not_intact(packet: bytes) -> None:
    assert not is_intact(packet) or packet == b"\0" * 8  # an empty slice, whose checksum is that of nothing


def test_a_matroska_file_that_is_cut_off_anywhere_is_an_error(tools: Any, tmp_path: Path) -> None:
    path = lossless(tools, tmp_path / "b.mkv")
    refuse_cut(path)
    content = path.read_bytes()
    for length in (len(content) - 1, len(content) // 2, 60, 6):
        path.write_bytes(content[:length])
        with pytest.raises(VideoError):
            refuse_cut(path)


def test_a_matroska_file_of_a_pipe_is_cut_off_where_a_part_of_it_is(tools: Any, tmp_path: Path) -> None:
    """It has no length; the parts it is made of have."""
    path = tmp_path / "pipe.mkv"
    source = ("-i", str(lossless(tools, tmp_path / "b.mkv")), "-c", "copy", "-cluster_time_limit", "60")
    path.write_bytes(tools.ffmpeg(*source, "-f", "matroska", "-"))
    assert len(list(pictures(path))) == COUNT
    refuse_cut(path)
    content = path.read_bytes()
    second = content.index(b"\x1f\x43\xb6\x75", content.index(b"\x1f\x43\xb6\x75") + 4)  # a cluster's name
    path.write_bytes(content[:second])
    refuse_cut(path)
    assert 0 < len(list(pictures(path))) < COUNT  # only their number tells
    for length in (len(content) - 1, second + 5, second - 1):
        path.write_bytes(content[:length])
        with pytest.raises(VideoError, match="cut off"):
            refuse_cut(path)


@pytest.mark.parametrize("options", [(), ("-movflags", "+faststart")], ids=["index-last", "index-first"])
def test_an_mp4_that_is_cut_off_anywhere_is_an_error(options: tuple[str, ...], tools: Any, tmp_path: Path) -> None:
    path = tools.encode(tmp_path / "a.mp4", tools.numbered(20), *tools.x264, *options)
    refuse_cut(path)
    content = path.read_bytes()
    for length in (len(content) - 1, len(content) // 2, 60):
        path.write_bytes(content[:length])
        with pytest.raises(VideoError):
            refuse_cut(path)


def test_files_of_other_kinds_are_passed_over(tools: Any, tmp_path: Path) -> None:
    refuse_cut(tools.encode(tmp_path / "a.avi", tools.numbered(1), *tools.x264))
    with pytest.raises(VideoError):
        refuse_cut(tmp_path / "missing.mkv")
