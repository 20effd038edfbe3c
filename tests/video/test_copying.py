"""Copies: the very same pictures under exact times, and refusal of what would not play or was damaged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt
import pytest

from quickdraw.core.depth import CONTRACT
from quickdraw.core.episode import FramePlan
from quickdraw.errors import InvariantError, VideoError
from quickdraw.formats.pooled.depth_codes import quantise
from quickdraw.video.checksums import packet_crcs, read_packets
from quickdraw.video.copying import Copying, copy_clip, read_stream
from quickdraw.video.decoding import as_gray, pictures, pictures_at
from quickdraw.video.encoders import LOG12
from quickdraw.video.join import join

type Tools = Any

COUNT, GOP = 36, 12
CODECS = ("h264", "hevc", "av1")
REORDERED = ("-c:v", "libx264", "-pix_fmt", "yuv420p", "-g", "12", "-bf", "3", "-b_strategy", "0")


def plan_of(path: Path, first: int = 0, last: int = COUNT - 1, pictures: int = COUNT) -> FramePlan:
    return FramePlan(path, np.arange(first, last + 1), pictures)


def copying_of(path: Path, rate_hz: int = 30) -> Copying:
    found = read_stream(path)
    return Copying(found.height_px, found.width_px, rate_hz, found.codec, found.pix_fmt, found.gop)


def yuv(path: Path, tools: Tools, pix_fmt: str = "yuv420p") -> npt.NDArray[np.uint8]:
    """The samples of every picture, `(N, bytes)`, by ffmpeg's binary."""
    facts = read_stream(path)
    raw = tools.ffmpeg("-i", str(path), "-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", pix_fmt, "-")
    each = facts.height_px * facts.width_px * (2 if pix_fmt == "gray12le" else 3) // (1 if "gray" in pix_fmt else 2)
    return np.frombuffer(raw, np.uint8).reshape(-1, each)


@pytest.mark.parametrize("extension", ["mp4", "mkv"])
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(("first", "last"), [(0, COUNT - 1), (12, 30), (24, 24)])
def test_a_copy_shows_the_very_same_pictures_at_exact_times(
    codec: str, extension: str, first: int, last: int, recorded: Callable[..., Path], tmp_path: Path, tools: Tools
) -> None:
    source, target = recorded(codec, extension), tmp_path / "clip.mp4"
    copy_clip(plan_of(source, first, last), target, copying_of(source, 25))
    np.testing.assert_array_equal(yuv(target, tools), yuv(source, tools)[first : last + 1])
    np.testing.assert_array_equal(packet_crcs(target), packet_crcs(source)[first : last + 1])
    packets = read_packets(target)
    assert [pts * packets.tick_s for pts in packets.pts.tolist()] == [Fraction(k, 25) for k in range(last - first + 1)]
    with av.open(str(target)) as container:
        stream = container.streams.video[0]
        assert stream.codec_context.codec_tag == {"h264": "avc1", "hevc": "hvc1", "av1": "av01"}[codec]
        assert stream.average_rate == 25
        keys = [packet.is_keyframe for packet in container.demux(stream) if packet.size]
    assert keys == [number % GOP == 0 for number in range(first, last + 1)]


@pytest.mark.parametrize("codec", CODECS)
def test_copies_of_equal_configuration_join_and_are_reached_at_random(
    codec: str, recorded: Callable[..., Path], tmp_path: Path, tools: Tools
) -> None:
    sources, clips = [recorded(codec, "mp4"), recorded(codec, "mkv"), recorded(codec, "mp4")], []
    for number, (source, first, last) in enumerate(zip(sources, (0, 12, 24), (35, 20, 35), strict=True)):
        copy_clip(plan_of(source, first, last), tmp_path / f"{number}.mp4", copying_of(source))
        clips.append((tmp_path / f"{number}.mp4", last - first + 1))
    joined = tmp_path / "joined.mp4"
    join(clips, joined, 30)
    rows = [*range(36), *range(12, 21), *range(24, 36)]
    assert tools.read_numbers(tools.decode(joined, tools.height, tools.width)) == rows
    np.testing.assert_array_equal(yuv(joined, tools), yuv(sources[0], tools)[rows])
    asked = [5, 36, 44, 45, 56]
    for number, picture in pictures_at(joined, asked):
        assert tools.read_numbers(picture.to_ndarray(format="rgb24")[None]) == [rows[number]]
    with av.open(str(joined)) as container:
        stream = container.streams.video[0]
        for number in reversed(asked):
            container.seek(number * 512, stream=stream)
            frame = next(frame for frame in container.decode(stream) if frame.pts == number * 512)
            assert tools.read_numbers(frame.to_ndarray(format="rgb24")[None]) == [rows[number]]


def test_equal_sources_make_equal_bytes(recorded: Callable[..., Path], tmp_path: Path) -> None:
    for name in ("a.mp4", "b.mp4"):
        copy_clip(plan_of(recorded()), tmp_path / name, copying_of(recorded()))
    assert (tmp_path / "a.mp4").read_bytes() == (tmp_path / "b.mp4").read_bytes()


def test_uneven_stamps_of_the_source_become_even(tmp_path: Path, tools: Tools) -> None:
    source = tools.timed(tmp_path / "uneven.mp4", tools.numbered(20), "0.4+N/30+0.01*sin(N)")
    copy_clip(plan_of(source, 10, 19, 20), tmp_path / "clip.mp4", copying_of(source))
    assert read_packets(tmp_path / "clip.mp4").pts.tolist() == [512 * k for k in range(10)]
    assert tools.read_numbers(tools.decode(tmp_path / "clip.mp4", tools.height, tools.width)) == list(range(10, 20))


@pytest.mark.parametrize("extension", ["mp4", "mkv"])
def test_b_frames_are_seen_and_refused(extension: str, tmp_path: Path, tools: Tools) -> None:
    path = tools.encode(tmp_path / f"b.{extension}", tools.numbered(COUNT), *REORDERED)
    assert read_stream(path).reordered
    with pytest.raises(VideoError, match=r"found pictures stored out of order, expected one of h264, hevc, av1"):
        copy_clip(plan_of(path), tmp_path / "clip.mp4", copying_of(path))


def test_a_recovery_point_is_no_keyframe(tmp_path: Path, tools: Tools) -> None:
    """With x264's periodic intra refresh ffmpeg flags pictures that show the whole only many pictures later."""
    path = tools.encode(tmp_path / "refresh.mp4", tools.numbered(COUNT), *tools.ways["h264"], "-intra-refresh", "1")
    assert read_stream(path).gop == COUNT
    with pytest.raises(VideoError, match=r"picture 12: a film cannot begin there, expected a keyframe"):
        copy_clip(plan_of(path, 12, 30), tmp_path / "clip.mp4", copying_of(path))


def test_an_open_gop_of_hevc_can_be_jumped_to_but_no_clip_begins_there(tmp_path: Path, tools: Tools) -> None:
    params = tools.ways["hevc"][-1].replace("open-gop=0", "open-gop=1")
    path = tools.encode(tmp_path / "open.mp4", tools.numbered(COUNT), *tools.ways["hevc"][:-1], params)
    assert (read_stream(path).gop, read_stream(path).reordered) == (GOP, False)
    copy_clip(plan_of(path, 0, 20), tmp_path / "clip.mp4", copying_of(path))
    np.testing.assert_array_equal(yuv(tmp_path / "clip.mp4", tools), yuv(path, tools)[:21])
    with av.open(str(tmp_path / "clip.mp4")) as container:
        container.seek(14 * 512, stream=container.streams.video[0])
        frame = next(container.decode(video=0))
    assert frame.pts == 12 * 512
    assert tools.read_numbers(frame.to_ndarray(format="rgb24")[None]) == [12]
    with pytest.raises(VideoError, match=r"open\.mp4: found picture 12: a film cannot begin there"):
        copy_clip(plan_of(path, 12, 30), tmp_path / "clip.mp4", copying_of(path))


def test_a_clip_cannot_begin_between_keyframes(recorded: Callable[..., Path], tmp_path: Path) -> None:
    with pytest.raises(VideoError, match=r"h264\.mp4: found picture 13: a film cannot begin there"):
        copy_clip(plan_of(recorded(), 13, 30), tmp_path / "clip.mp4", copying_of(recorded()))


def test_pictures_that_are_not_shown_one_after_another_are_no_copy(
    recorded: Callable[..., Path], tmp_path: Path
) -> None:
    plan = FramePlan(recorded(), np.array([0, 1, 1, 2]), COUNT)
    with pytest.raises(InvariantError, match="not shown one after another"):
        copy_clip(plan, tmp_path / "clip.mp4", copying_of(recorded()))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"height_px": 100}, "found h264 yuv420p 160x96, expected h264 yuv420p 160x100"),
        ({"codec": "hevc"}, "found h264 yuv420p 160x96, expected hevc"),
        ({"gop": 11}, "found up to 12 pictures from keyframe to keyframe, expected 11 at most"),
        ({"scale": CONTRACT}, "depth codes not flagged as of full range"),
    ],
)
def test_another_stream_than_the_datasets_is_refused(
    changed: dict[str, Any], message: str, recorded: Callable[..., Path], tmp_path: Path
) -> None:
    with pytest.raises(VideoError, match=message):
        copy_clip(plan_of(recorded()), tmp_path / "clip.mp4", replace(copying_of(recorded()), **changed))


def test_rows_beyond_the_pictures_that_were_planned_are_a_fault_of_ours(
    recorded: Callable[..., Path], tmp_path: Path
) -> None:
    with pytest.raises(InvariantError, match="25 rows from picture 12 on, of 36"):
        copy_clip(plan_of(recorded(), 12, COUNT), tmp_path / "clip.mp4", copying_of(recorded()))


@pytest.mark.parametrize("promised", [COUNT - 1, COUNT + 1])
def test_another_number_of_pictures_than_planned_is_refused(
    promised: int, recorded: Callable[..., Path], tmp_path: Path
) -> None:
    with pytest.raises(VideoError, match=rf"found 36 pictures, expected {promised}"):
        copy_clip(plan_of(recorded(), last=30, pictures=promised), tmp_path / "clip.mp4", copying_of(recorded()))


@pytest.mark.parametrize("codec", ["h264", "hevc"])
@pytest.mark.parametrize("damage", ["zeros", "noise"])
@pytest.mark.parametrize("place", [0.2, 0.5, 0.9])
def test_a_damaged_file_is_refused(
    codec: str, damage: str, place: float, recorded: Callable[..., Path], tmp_path: Path
) -> None:
    source, broken = recorded(codec), tmp_path / "broken.mp4"
    data, length = bytearray(source.read_bytes()), 150
    start = data.index(b"mdat") + 4
    at = start + int(place * (data.index(b"moov") - start))
    data[at : at + length] = bytes(length) if damage == "zeros" else np.random.default_rng(3).bytes(length)
    broken.write_bytes(data)
    with pytest.raises(VideoError, match=r"broken\.mp4: found picture \d+: "):
        copy_clip(plan_of(broken), tmp_path / "clip.mp4", copying_of(source))


def log_depth(path: Path, tools: Tools, *extra: str) -> tuple[Path, npt.NDArray[np.uint16]]:
    """The recorder's own log depth of 24 pictures, and its mm."""
    random = np.random.default_rng(1)
    depth_mm = np.rint(np.linspace(90, 5200, 80) * random.normal(1, 0.004, (24, 48, 80))).astype(np.uint16)
    source = ("-f", "rawvideo", "-pix_fmt", "gray12le", "-s", "80x48", "-r", "30", "-i", "-")
    options = (*LOG12.options, "-f", "mp4", *extra)
    tools.ffmpeg(*source, *options, str(path), data=quantise(depth_mm).astype("<u2").tobytes())
    return path, depth_mm


def test_the_recorders_log_depth_is_copied_code_by_code_and_lerobot_reads_its_mm(
    tmp_path: Path, tools: Tools, lerobot: Callable[[str, dict[str, Any]], dict[str, Any]]
) -> None:
    source, _ = log_depth(tmp_path / "depth.mp4", tools)
    found = read_stream(source)
    assert (found.codec, found.pix_fmt, found.full_range, found.reordered) == ("hevc", "gray12le", True, False)
    copying = replace(copying_of(source), scale=CONTRACT)
    copy_clip(plan_of(source, 0, 19, 24), tmp_path / "clip.mp4", copying)
    np.testing.assert_array_equal(yuv(tmp_path / "clip.mp4", tools, "gray12le"), yuv(source, tools, "gray12le")[:20])
    codes = np.stack([as_gray(picture) for picture in pictures(tmp_path / "clip.mp4")])
    asked = {"path": tmp_path / "clip.mp4", "info": copying.info(), "timestamps": [row / 30 for row in range(20)],
             "target": tmp_path / "read.npy"}  # fmt: skip
    lerobot("read_depth", {"clips": [asked], "scales": []})
    read = np.load(tmp_path / "read.npy")
    np.testing.assert_array_equal(read, np.rint(100 * np.exp(codes / 4095 * np.log(50))))
    assert copying.channels == 1
    assert copying.levels is CONTRACT.levels
    assert copying.info()["is_depth_map"] is True


def test_info_of_copied_colour_says_what_is_known(recorded: Callable[..., Path]) -> None:
    copying = copying_of(recorded())
    info = copying.info()
    assert (info["video.height"], info["video.width"], info["video.codec"], info["video.g"]) == (96, 160, "h264", GOP)
    assert (info["video.crf"], info["video.preset"], info["video.extra_options"]) == (None, None, {})
    assert (info["video.channels"], copying.channels, info["is_depth_map"]) == (3, 3, False)
    np.testing.assert_array_equal(copying.levels, np.arange(256) / 255)


def test_the_stream_of_that_number_is_copied(recorded: Callable[..., Path], tmp_path: Path, tools: Tools) -> None:
    both = tmp_path / "both.mkv"
    inputs: Sequence[str] = ("-i", str(recorded("hevc")), "-i", str(recorded("h264")))
    tools.ffmpeg(*inputs, "-map", "0:v", "-map", "1:v", "-c", "copy", str(both))
    assert (read_stream(both).codec, read_stream(both, 1).codec) == ("hevc", "h264")
    copy_clip(replace(plan_of(both), stream=1), tmp_path / "clip.mp4", copying_of(recorded("h264")))
    np.testing.assert_array_equal(packet_crcs(tmp_path / "clip.mp4"), packet_crcs(recorded("h264")))
