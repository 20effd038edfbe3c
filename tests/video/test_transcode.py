"""Transcoding: rows show exactly the pictures asked for, in the colours and the form that is promised."""

from __future__ import annotations

import hashlib
import random
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import av
import cv2
import imageio_ffmpeg
import numpy as np
import numpy.typing as npt
import pytest

from quickdraw.core.episode import FramePlan
from quickdraw.errors import VideoError
from quickdraw.video.encoding import Encoding
from quickdraw.video.transcode import transcode

type Tools = Any
Pictures = npt.NDArray[np.uint8]
SMALL = Encoding(height_px=48, width_px=80, rate_hz=30, crf=18, preset="veryfast", gop=2)


def plan_of(path: Path, rows: list[int], count: int) -> FramePlan:
    return FramePlan(path, np.array(rows, np.int64), count)


def shown(path: Path, rows: list[int], count: int, tmp_path: Path, tools: Tools) -> list[int]:
    """The number each row of the clip shows."""
    target = tmp_path / "clip.mp4"
    transcode(plan_of(path, rows, count), target, SMALL)
    numbers: list[int] = tools.read_numbers(tools.decode(target, 48, 80))
    return numbers


def sorted_rows(seed: int) -> list[int]:
    rng = random.Random(seed)
    return sorted(rng.choices(range(100), k=130))


@pytest.mark.parametrize(
    "rows",
    [
        list(range(100)),
        [0],
        [99],
        [0, 0, 0, 1, 1, 5, 9, 9, 9, 9],
        list(range(3, 100, 7)),
        [7] * 40,
        sorted_rows(0),
        sorted_rows(1),
    ],
    ids=["all", "first", "last", "repeats and skips", "every seventh", "one only", "random", "random again"],
)
def test_row_i_shows_exactly_the_picture_it_asks_for(
    rows: list[int], tmp_path: Path, hundred: Callable[[], Path], tools: Tools
) -> None:
    assert shown(hundred(), rows, 100, tmp_path, tools) == rows


@pytest.mark.parametrize(
    "pts",
    ["N/30+0.1+0.008*sin(N*12.9898)", "N/30+if(gte(N,50),1,0)", "(floor(N/2)*3+mod(N,2))/30",
     "floor(N/2)*2/30+mod(N,2)*0.001", "0.5+N/30", "N/15"],
    ids=["jitter", "gap of 1 s", "third dropped", "pairs", "starts at 0.5 s", "15 Hz"],
)  # fmt: skip
def test_container_times_choose_no_picture(pts: str, tmp_path: Path, tools: Tools) -> None:
    path = tools.timed(tmp_path / "source.mp4", tools.numbered(100), pts)
    rows = [0, 1, 1, 2, 48, 49, 50, 51, 51, 97, 98, 99, 99]
    assert shown(path, rows, 100, tmp_path, tools) == rows


@pytest.mark.parametrize("options", [("-g", "30", "-bf", "3"), ("-bf", "0", "-movflags", "frag_keyframe+empty_moov")])
def test_b_frames_and_fragments_of_the_source_choose_no_picture(
    options: tuple[str, ...], tmp_path: Path, tools: Tools
) -> None:
    video = ("-c:v", "libx264", "-pix_fmt", "yuv420p", "-preset", "veryfast")
    path = tools.encode(tmp_path / "source.mp4", tools.numbered(100), *video, *options)
    assert shown(path, sorted_rows(2), 100, tmp_path, tools) == sorted_rows(2)


@pytest.mark.parametrize("stamps", [1, 99, 101, 250])
def test_a_count_unlike_the_stamps_is_refused_with_both_counts(
    stamps: int, tmp_path: Path, hundred: Callable[[], Path]
) -> None:
    rows = [0, stamps - 1]
    with pytest.raises(VideoError, match=rf"cfr\.mp4: found 100 pictures, expected {stamps}, one per capture stamp"):
        transcode(plan_of(hundred(), rows, stamps), tmp_path / "clip.mp4", SMALL)


def test_an_edit_list_that_hides_pictures_is_a_count_unlike_the_stamps(tmp_path: Path, tools: Tools) -> None:
    whole = tools.encode(tmp_path / "whole.mp4", tools.numbered(100), *tools.x264, "-bf", "0", "-g", "30")
    path = tmp_path / "edited.mp4"
    tools.ffmpeg("-ss", "0.45", "-i", str(whole), "-c", "copy", str(path))
    with pytest.raises(VideoError, match=r"edited\.mp4: found \d\d pictures, expected 100, one per capture stamp"):
        transcode(plan_of(path, [0, 50], 100), tmp_path / "clip.mp4", SMALL)


def mdat(data: bytes) -> tuple[int, int]:
    """Where the coded pictures lie in an mp4."""
    start = data.index(b"mdat") + 4
    return start, start + int.from_bytes(data[start - 8 : start - 4]) - 8


@pytest.mark.parametrize("seed", range(6))
def test_overwritten_bytes_amid_the_pictures_are_an_error_not_a_concealed_picture(
    seed: int, tmp_path: Path, hundred: Callable[[], Path]
) -> None:
    data = bytearray(hundred().read_bytes())
    start, end = mdat(bytes(data))
    rng = random.Random(seed)
    at = rng.randrange(start + 2000, end - 3000)
    data[at : at + 1500] = rng.randbytes(1500) if seed % 2 else bytes(1500)
    path = tmp_path / "damaged.mp4"
    path.write_bytes(data)
    with pytest.raises(
        VideoError, match=r"damaged\.mp4: found picture \d+: .+, expected an? (un)?d(amaged|ecodable) pic"
    ):
        transcode(plan_of(path, list(range(100)), 100), tmp_path / "clip.mp4", SMALL)


@pytest.mark.parametrize("kind", ["key", "predicted"])
@pytest.mark.parametrize("seed", range(5))
def test_a_few_bytes_of_damage_within_one_picture_are_an_error(
    kind: str, seed: int, tmp_path: Path, hundred: Callable[[], Path]
) -> None:
    """Whether the decoder stops at it or paints over it and flags the picture: neither picture is handed out."""
    data = bytearray(hundred().read_bytes())
    with av.open(str(hundred())) as container:
        packets = [p for p in container.demux(video=0) if p.size and p.is_keyframe is (kind == "key")]
    packet = packets[3 + seed]
    rng = random.Random(seed)
    at = (packet.pos or 0) + packet.size // 3
    data[at : at + 24] = rng.randbytes(24)
    path = tmp_path / "damaged.mp4"
    path.write_bytes(data)
    with pytest.raises(VideoError, match=r"damaged\.mp4: found picture \d+: "):
        transcode(plan_of(path, list(range(100)), 100), tmp_path / "clip.mp4", SMALL)


def test_a_source_cut_at_sixty_per_cent_is_an_error_even_when_the_rows_lie_before_the_cut(
    tmp_path: Path, tools: Tools
) -> None:
    whole = tools.encode(tmp_path / "whole.mp4", tools.numbered(100), *tools.x264, "-bf", "0", "-g", "10", "-movflags",
                         "faststart").read_bytes()  # fmt: skip
    path = tmp_path / "cut.mp4"
    path.write_bytes(whole[: len(whole) * 6 // 10])
    with pytest.raises(VideoError, match=r"cut\.mp4: found picture \d+: Invalid data"):
        transcode(plan_of(path, [0, 1, 2], 100), tmp_path / "clip.mp4", SMALL)


def test_rotation_metadata_is_refused(tmp_path: Path, hundred: Callable[[], Path], tools: Tools) -> None:
    path = tmp_path / "rotated.mp4"
    tools.ffmpeg("-display_rotation", "90", "-i", str(hundred()), "-c", "copy", str(path))
    with pytest.raises(VideoError, match=r"rotation metadata of -?90 degrees, expected pictures stored upright"):
        transcode(plan_of(path, [0, 1], 100), tmp_path / "clip.mp4", SMALL)


@pytest.mark.parametrize("gop", [1, 2, 5])
@pytest.mark.parametrize("rate_hz", [30, 15])
def test_the_clip_is_h264_without_b_frames_evenly_timed_from_zero_with_regular_keyframes(
    gop: int, rate_hz: int, tmp_path: Path, tools: Tools
) -> None:
    """A calm scene: where the picture changes at once, x264 puts a keyframe earlier (see the next test)."""
    scene = np.random.default_rng(0).integers(60, 200, (1, 96, 160, 3), np.uint8)
    calm = np.repeat(scene, 50, axis=0)
    for k in range(50):
        calm[k, 40:60, k : k + 20] = (200, 60, 60)
    path = tools.encode(tmp_path / "calm.mp4", calm, *tools.x264, "-bf", "0")
    target = tmp_path / "clip.mp4"
    encoding = Encoding(height_px=48, width_px=80, rate_hz=rate_hz, crf=18, preset="veryfast", gop=gop)
    transcode(plan_of(path, list(range(50)), 50), target, encoding)
    with av.open(str(target)) as container:
        stream = container.streams.video[0]
        context = stream.codec_context
        assert (stream.codec.canonical_name, context.pix_fmt) == ("h264", "yuv420p")
        assert (context.width, context.height, context.has_b_frames) == (80, 48, False)
        assert (stream.frames, stream.start_time, stream.average_rate) == (50, 0, rate_hz)
        packets = [packet for packet in container.demux(stream) if packet.dts is not None]
        tick = stream.time_base
    assert [packet.pts for packet in packets] == [packet.dts for packet in packets]
    assert [packet.pts * tick * rate_hz for packet in packets] == list(range(50))
    if rate_hz == 30:
        assert [(packet.pts, 1 / packet.time_base) for packet in packets] == [(k * 512, 15360) for k in range(50)]
    assert [k for k, packet in enumerate(packets) if packet.is_keyframe] == list(range(0, 50, gop))


def test_a_cut_in_the_scene_leaves_no_more_than_gop_pictures_between_keyframes(tmp_path: Path, tools: Tools) -> None:
    rng = np.random.default_rng(0)
    scenes = np.repeat(rng.integers(0, 256, (8, 96, 160, 3), np.uint8), 7, axis=0)
    path = tools.encode(tmp_path / "cuts.mp4", scenes, *tools.x264, "-bf", "0")
    target = tmp_path / "clip.mp4"
    transcode(plan_of(path, list(range(56)), 56), target, SMALL)
    with av.open(str(target)) as container:
        keys = [k for k, packet in enumerate(container.demux(video=0)) if packet.is_keyframe and packet.dts is not None]
    assert keys[0] == 0
    assert max(np.diff(keys)) <= 2


def test_ffmpeg_names_the_clip_bt601_limited_range(tmp_path: Path, hundred: Callable[[], Path]) -> None:
    target = tmp_path / "clip.mp4"
    transcode(plan_of(hundred(), [0, 1, 2], 100), target, SMALL)
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-hide_banner", "-i", str(target)]
    text = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    assert re.search(r"Video: h264 .*yuv420p\(tv, smpte170m, progressive\), 80x48.*30 fps", text), text
    assert text.count("Stream #") == 1
    data = target.read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")  # faststart


def test_the_same_source_gives_the_same_bytes(tmp_path: Path, hundred: Callable[[], Path]) -> None:
    digests = set()
    for name in ("a.mp4", "b.mp4"):
        transcode(plan_of(hundred(), sorted_rows(4), 100), tmp_path / name, SMALL)
        digests.add(hashlib.sha256((tmp_path / name).read_bytes()).hexdigest())
    assert len(digests) == 1


COLOURS = np.array([[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 0], [255, 0, 255], [0, 255, 255], [255, 255, 255],
                    [0, 0, 0], [128, 128, 128], [200, 90, 60], [60, 120, 30], [90, 60, 160]], np.uint8)  # fmt: skip


def chart(height: int = 96, width: int = 160) -> Pictures:
    """Ten equal pictures of 3 x 4 patches."""
    rows = np.linspace(0, 3, height, endpoint=False).astype(int)[:, None]
    columns = np.linspace(0, 4, width, endpoint=False).astype(int)[None, :]
    return np.repeat(COLOURS[rows * 4 + columns][None], 10, axis=0)


def patches(picture: Pictures) -> npt.NDArray[np.float64]:
    """Mean colour of the middle of each patch of `chart`, `(12, 3)`."""
    height, width = picture.shape[:2]
    middle = [
        picture[int((r + 0.3) * height / 3) : int((r + 0.7) * height / 3),
                int((c + 0.3) * width / 4) : int((c + 0.7) * width / 4)]
        for r in range(3) for c in range(4)
    ]  # fmt: skip
    return np.array([patch.reshape(-1, 3).mean(axis=0) for patch in middle])


def converted(matrix: str, full: bool, pix_fmt: str) -> tuple[str, ...]:
    levels = "full" if full else "limited"
    return ("-vf", f"scale=out_color_matrix={matrix}:out_range={levels}:flags=accurate_rnd,format={pix_fmt}")


LOSSLESS = ("-c:v", "libx264", "-crf", "4", "-bf", "0", "-preset", "ultrafast")
BT709 = ("-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709")
COLOUR_SOURCES = {
    "untagged BT.601": (*converted("bt601", False, "yuv420p,setparams=colorspace=unknown:range=unknown"), *LOSSLESS),
    "BT.601 tagged": (*converted("bt601", False, "yuv420p"), *LOSSLESS, "-colorspace", "smpte170m"),
    "BT.709": (*converted("bt709", False, "yuv420p"), *LOSSLESS, *BT709, "-color_range", "tv"),
    "BT.709 full range": (*converted("bt709", True, "yuv420p"), *LOSSLESS, *BT709, "-color_range", "pc"),
    "BT.601 full range": (*converted("bt601", True, "yuvj420p"), *LOSSLESS, "-color_range", "pc"),
    "yuv444p": (*converted("bt601", False, "yuv444p"), *LOSSLESS),
    "yuv422p": (*converted("bt601", False, "yuv422p"), *LOSSLESS),
    "motion JPEG": (*converted("bt601", True, "yuvj422p"), "-c:v", "mjpeg", "-q:v", "2", "-strict", "unofficial"),
}


@pytest.mark.parametrize("case", COLOUR_SOURCES)
@pytest.mark.parametrize(("height", "width"), [(96, 160), (144, 192), (48, 80)])
def test_colours_survive_whatever_matrix_and_range_the_source_has(
    case: str, height: int, width: int, tmp_path: Path, tools: Tools
) -> None:
    """BT.709 taken for BT.601, or full range for limited, would be 10 to 30 levels off."""
    path = tools.encode(tmp_path / "source.mov", chart(), *COLOUR_SOURCES[case])
    target = tmp_path / "clip.mp4"
    encoding = Encoding(height_px=height, width_px=width, rate_hz=30, crf=10, preset="veryfast", gop=2)
    transcode(plan_of(path, list(range(10)), 10), target, encoding)
    by_ffmpeg = patches(tools.decode(target, height, width)[5])
    np.testing.assert_allclose(by_ffmpeg, COLOURS, rtol=0, atol=5)
    with av.open(str(target)) as container:
        by_pyav = patches(np.asarray(next(container.decode(video=0)).to_image()))
    np.testing.assert_allclose(by_pyav, COLOURS, rtol=0, atol=5)


TAGS = {
    "untagged BT.601": (2, 0),
    "BT.709": (1, 1),
    "BT.709 full range": (1, 2),
    "BT.601 full range": (5, 2),
    "motion JPEG": (5, 2),
}


@pytest.mark.parametrize("case", TAGS)
def test_the_sources_of_the_colour_tests_are_tagged_as_their_names_say(case: str, tmp_path: Path, tools: Tools) -> None:
    path = tools.encode(tmp_path / "source.mov", chart(), *COLOUR_SOURCES[case])
    with av.open(str(path)) as container:
        frame = next(container.decode(video=0))
    assert (frame.colorspace, frame.color_range) == TAGS[case]


def test_a_bt709_source_is_converted_and_not_only_relabelled(tmp_path: Path, tools: Tools) -> None:
    """The same RGB through both matrices must end as the same YUV."""
    luma = []
    for case in ("untagged BT.601", "BT.709", "BT.709 full range"):
        path = tools.encode(tmp_path / "source.mov", chart(), *COLOUR_SOURCES[case])
        transcode(plan_of(path, [0, 9], 10), tmp_path / "clip.mp4", SMALL)
        with av.open(str(tmp_path / "clip.mp4")) as container:
            luma.append(next(container.decode(video=0)).to_ndarray(format="gray").astype(int))
    assert np.abs(luma[0] - luma[1]).mean() < 1.5
    assert np.abs(luma[0] - luma[2]).mean() < 1.5


def test_pure_red_reads_as_red_with_pil_and_not_as_blue(tmp_path: Path, tools: Tools) -> None:
    red = np.zeros((4, 96, 160, 3), np.uint8)
    red[..., 0] = 255
    path = tools.encode(tmp_path / "red.mp4", red, *tools.x264)
    transcode(plan_of(path, [0, 1, 2, 3], 4), tmp_path / "clip.mp4", SMALL)
    with av.open(str(tmp_path / "clip.mp4")) as container:
        image = next(container.decode(video=0)).to_image()
    image.save(tmp_path / "red.png")
    blue, green, red_level = cv2.imread(str(tmp_path / "red.png"))[24, 40]
    assert image.getpixel((40, 24)) == (red_level, green, blue)
    assert red_level > 245
    assert max(green, blue) < 10


def test_an_unknown_colour_matrix_is_refused_by_name(tmp_path: Path, tools: Tools) -> None:
    path = tools.encode(
        tmp_path / "rgb.mp4", chart(), "-c:v", "libx264rgb", "-pix_fmt", "rgb24", "-preset", "ultrafast"
    )
    with pytest.raises(VideoError, match=r"rgb\.mp4: found colour matrix 0, expected one of \[1, 2, 4, 5, 6, 7, 9\]"):
        transcode(plan_of(path, [0], 10), tmp_path / "clip.mp4", SMALL)


@pytest.mark.parametrize(("height", "width"), [(97, 161), (95, 160), (96, 159)])
@pytest.mark.parametrize("codec", [("-c:v", "libx264", "-pix_fmt", "yuv444p", "-preset", "ultrafast"),
                                   ("-c:v", "mjpeg", "-q:v", "3", "-pix_fmt", "yuvj420p")])  # fmt: skip
def test_odd_source_sizes_are_scaled_like_any_other(
    height: int, width: int, codec: tuple[str, ...], tmp_path: Path, tools: Tools
) -> None:
    path = tools.encode(tmp_path / "odd.mov", chart(height, width), *codec)
    transcode(plan_of(path, [0, 4, 9], 10), tmp_path / "clip.mp4", SMALL)
    clip = tools.decode(tmp_path / "clip.mp4", 48, 80)
    assert len(clip) == 3
    np.testing.assert_allclose(patches(clip[1]), COLOURS, rtol=0, atol=12)


def test_pictures_are_area_averages_of_the_source_upright_and_not_mirrored(tmp_path: Path, tools: Tools) -> None:
    """480 x 640 to 144 x 192 against cv2's INTER_AREA on a smooth picture with a corner of its own."""
    y, x = np.mgrid[0:480, 0:640]
    picture = np.stack([x * 255 / 639, y * 255 / 479, 128 + 60 * np.sin(x / 25) * np.cos(y / 30)], axis=-1)
    picture[:60, :90] = (250, 240, 20)
    source = np.repeat(picture.astype(np.uint8)[None], 3, axis=0)
    path = tools.encode(tmp_path / "big.mp4", source, *LOSSLESS, "-pix_fmt", "yuv420p")
    target = tmp_path / "clip.mp4"
    transcode(plan_of(path, [0, 1, 2], 3), target, Encoding(144, 192, 30, crf=10, preset="veryfast", gop=2))
    clip = tools.decode(target, 144, 192)
    expected = cv2.resize(source[0], (192, 144), interpolation=cv2.INTER_AREA)
    assert np.abs(clip[1].astype(int) - expected).mean() < 2.0
    for wrong in (expected[::-1], expected[:, ::-1], expected[..., ::-1]):
        assert np.abs(clip[1].astype(int) - wrong).mean() > 10.0


def test_damage_before_the_first_wanted_picture_is_found_too(tmp_path: Path, hundred: Callable[[], Path]) -> None:
    data = bytearray(hundred().read_bytes())
    start, _ = mdat(bytes(data))
    data[start + 3000 : start + 5000] = bytes(2000)
    path = tmp_path / "damaged.mp4"
    path.write_bytes(data)
    with pytest.raises(VideoError, match=r"damaged\.mp4: found picture [1-5]\d: "):
        transcode(plan_of(path, [99], 100), tmp_path / "clip.mp4", SMALL)


def test_the_stream_of_that_number_is_shown(tmp_path: Path, hundred: Callable[[], Path], tools: Tools) -> None:
    first, both = tools.encode(tmp_path / "first.mp4", tools.numbered(7), *tools.x264), tmp_path / "both.mkv"
    tools.ffmpeg("-i", str(first), "-i", str(hundred()), "-map", "0:v", "-map", "1:v", "-c", "copy", str(both))
    for stream, rows, count in ((None, [0, 6], 7), (0, [5], 7), (1, [3, 77, 99], 100)):
        target = tmp_path / "clip.mp4"
        transcode(FramePlan(both, np.array(rows, np.int64), count, stream), target, SMALL)
        assert tools.read_numbers(tools.decode(target, 48, 80)) == rows
