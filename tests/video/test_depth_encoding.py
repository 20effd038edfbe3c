"""Depth clips: every code as it was, read by ffmpeg's binary and by lerobot; equal bytes, and joined like any other."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quickdraw.core.depth import LEROBOT, Depth
from quickdraw.core.episode import DepthPlan
from quickdraw.errors import VideoError
from quickdraw.video.checksums import packet_crcs, read_packets
from quickdraw.video.decoding import as_gray, pictures, pictures_at
from quickdraw.video.depth_encoding import DepthEncoding, encode_depth
from quickdraw.video.join import join

type Tools = Any
Depths = npt.NDArray[np.uint16]


def wall(count: int, height: int = 48, width: int = 80) -> Depths:
    """`(count, H, W)`: a slope with noise and holes, some of it beyond 10 m."""
    random = np.random.default_rng(count)
    slope = np.linspace(300, 11_000, width)[None, None] + 20 * np.arange(count)[:, None, None]
    depth_mm = np.rint(slope * random.normal(1, 0.004, (count, height, width))).astype(np.uint16)
    depth_mm[random.random(depth_mm.shape) < 0.05] = 0
    return depth_mm


def plan_of(depth_mm: Depths, rows: Sequence[int], pictures: int | None = None) -> DepthPlan:
    given = len(depth_mm) if pictures is None else pictures
    return DepthPlan(Path("camera.mkv"), np.array(rows, np.int64), given, lambda: iter(depth_mm))


def encoding_of(depth_mm: Depths, gop: int = 5, rate_hz: int = 30) -> DepthEncoding:
    return DepthEncoding(depth_mm.shape[1], depth_mm.shape[2], rate_hz, gop)


def codes_in(path: Path, shape: tuple[int, ...], tools: Tools) -> Depths:
    """The stored samples, by ffmpeg's binary."""
    raw = tools.ffmpeg("-i", str(path), "-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", "gray12le", "-")
    return np.frombuffer(raw, "<u2").reshape(-1, *shape[1:])


def shown(depth_mm: Depths, rows: Sequence[int]) -> Depths:
    """What each row shows; -1 is nothing at all."""
    with_none = np.concatenate([depth_mm, np.zeros_like(depth_mm[:1])])
    return np.stack([with_none[row] for row in rows])


ROWS = [-1, -1, 0, 0, 1, 3, 4, 7, 8, 9, 10, 11]


def test_every_code_of_every_row_comes_back_and_pixels_too_far_are_counted(tmp_path: Path, tools: Tools) -> None:
    depth_mm = wall(12)
    beyond = encode_depth(plan_of(depth_mm, ROWS), tmp_path / "clip.mp4", encoding_of(depth_mm))
    expected = shown(depth_mm, ROWS)
    np.testing.assert_array_equal(codes_in(tmp_path / "clip.mp4", depth_mm.shape, tools), LEROBOT.codes(expected))
    assert beyond == (expected > 10_000).sum() > 0


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    height=st.integers(16, 70), width=st.integers(16, 70), gop=st.integers(1, 7), count=st.integers(1, 9),
    seed=st.integers(0, 99), noisy=st.booleans(),
)  # fmt: skip
def test_it_is_lossless_at_any_size_and_gop(
    height: int, width: int, gop: int, count: int, seed: int, noisy: bool, tmp_path: Path, tools: Tools
) -> None:
    random = np.random.default_rng(seed)
    depth_mm = random.integers(0, 65_536 if noisy else 40, (count, height, width)).astype(np.uint16)
    path = tmp_path / "clip.mp4"
    encode_depth(plan_of(depth_mm, range(count)), path, encoding_of(depth_mm, gop))
    np.testing.assert_array_equal(codes_in(path, depth_mm.shape, tools), LEROBOT.codes(depth_mm))
    with av.open(str(path)) as container:
        keys = [packet.is_keyframe for packet in container.demux(video=0) if packet.size]
    assert keys == [number % gop == 0 for number in range(count)]


def test_our_decoder_and_random_access_give_the_same_codes(tmp_path: Path) -> None:
    depth_mm = wall(23)
    path = tmp_path / "clip.mp4"
    encode_depth(plan_of(depth_mm, range(23)), path, encoding_of(depth_mm))
    codes = LEROBOT.codes(depth_mm)
    for read, expected in zip(pictures(path), codes, strict=True):
        np.testing.assert_array_equal(as_gray(read), expected)
    for number, read in pictures_at(path, [3, 4, 17, 22]):
        np.testing.assert_array_equal(as_gray(read), codes[number])


def test_lerobot_reads_every_mm_within_its_bound_and_0_as_0(
    tmp_path: Path, lerobot: Callable[[str, dict[str, Any]], dict[str, Any]]
) -> None:
    every = np.arange(10_001).clip(0, 10_000).astype(np.uint16)
    depth_mm = np.stack([np.roll(np.resize(every, 101 * 100), 37 * shift).reshape(101, 100) for shift in range(7)])
    encoding, path = encoding_of(depth_mm), tmp_path / "clip.mp4"
    encode_depth(plan_of(depth_mm, range(7)), path, encoding)
    asked = {"path": path, "info": encoding.info(), "timestamps": [row / 30 for row in range(7)],
             "target": tmp_path / "read.npy"}  # fmt: skip
    lerobot("read_depth", {"clips": [asked], "scales": []})
    read = np.load(tmp_path / "read.npy")
    np.testing.assert_array_equal(read, encoding.levels[LEROBOT.codes(depth_mm)])
    error = np.abs(read - depth_mm)
    assert (read[depth_mm == 0] == 0).all()
    assert error[depth_mm < 1000].max() <= 1
    assert error.max() <= 2


def test_the_file_says_what_info_says_and_times_are_exact(tmp_path: Path) -> None:
    depth_mm = wall(11)
    encoding, path = encoding_of(depth_mm, rate_hz=25), tmp_path / "clip.mp4"
    encode_depth(plan_of(depth_mm, range(11)), path, encoding)
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        context, info = stream.codec_context, encoding.info()
        assert (context.name, context.pix_fmt, context.codec_tag) == ("hevc", info["video.pix_fmt"], "hvc1")
        assert (context.height, context.width, stream.average_rate) == (48, 80, info["video.fps"])
        assert int(context.color_range) == 2
        assert not context.has_b_frames
    packets = read_packets(path)
    assert [pts * packets.tick_s for pts in packets.pts.tolist()] == [Fraction(row, 25) for row in range(11)]
    assert path.read_bytes().index(b"moov") < path.read_bytes().index(b"mdat")
    assert info["video.extra_options"]["x265-params"].startswith("lossless=1")
    assert (info["video.channels"], info["is_depth_map"], info["depth_unit"]) == (1, True, "mm")


def test_equal_depth_makes_equal_bytes(tmp_path: Path) -> None:
    depth_mm = wall(9)
    for name in ("a.mp4", "b.mp4"):
        encode_depth(plan_of(depth_mm, range(9)), tmp_path / name, encoding_of(depth_mm))
    assert (tmp_path / "a.mp4").read_bytes() == (tmp_path / "b.mp4").read_bytes()


def test_clips_join_and_show_all_their_codes(tmp_path: Path, tools: Tools) -> None:
    depths, clips = [wall(count) for count in (1, 7, 12, 5)], []
    for number, depth_mm in enumerate(depths):
        path = tmp_path / f"{number}.mp4"
        encode_depth(plan_of(depth_mm, range(len(depth_mm))), path, encoding_of(depth_mm))
        clips.append((path, len(depth_mm)))
    join(clips, tmp_path / "joined.mp4", 30)
    whole = np.concatenate(depths)
    np.testing.assert_array_equal(codes_in(tmp_path / "joined.mp4", whole.shape, tools), LEROBOT.codes(whole))
    crcs = np.concatenate([packet_crcs(path) for path, _ in clips])
    np.testing.assert_array_equal(packet_crcs(tmp_path / "joined.mp4"), crcs)


@pytest.mark.parametrize(("promised", "found"), [(11, "12 pictures"), (13, "12 pictures")])
def test_other_than_the_planned_number_of_frames_is_refused(promised: int, found: str, tmp_path: Path) -> None:
    depth_mm = wall(12)
    with pytest.raises(VideoError, match=rf"camera\.mkv: found {found}, expected {promised}"):
        encode_depth(plan_of(depth_mm, range(11), promised), tmp_path / "clip.mp4", encoding_of(depth_mm))


@pytest.mark.parametrize(("height", "width"), [(15, 64), (64, 15), (1, 1)])
def test_pictures_smaller_than_x265_takes_are_refused_by_their_size(height: int, width: int, tmp_path: Path) -> None:
    depth_mm = np.zeros((2, height, width), np.uint16)
    with pytest.raises(VideoError, match=rf"found pictures of {width}x{height}, expected at least 16x16"):
        encode_depth(plan_of(depth_mm, [0, 1]), tmp_path / "clip.mp4", encoding_of(depth_mm))


def test_frames_of_another_size_than_the_datasets_are_refused(tmp_path: Path) -> None:
    with pytest.raises(VideoError, match=r"found pictures of 80x48, expected 80x50"):
        encode_depth(plan_of(wall(3), range(3)), tmp_path / "clip.mp4", DepthEncoding(50, 80, 30, 5))


def test_damage_met_on_the_way_reaches_the_caller(tmp_path: Path) -> None:
    def frames() -> Iterator[Depth]:
        yield from wall(2)
        raise VideoError("camera.mkv", "picture 2: flagged corrupt", "an undamaged picture")

    plan = DepthPlan(Path("camera.mkv"), np.arange(4), 4, frames)
    with pytest.raises(VideoError, match="picture 2: flagged corrupt"):
        encode_depth(plan, tmp_path / "clip.mp4", DepthEncoding(48, 80, 30, 5))


QUIET = """
import sys, resource
from pathlib import Path
import numpy as np
from quickdraw.core.episode import DepthPlan
from quickdraw.video.depth_encoding import DepthEncoding, encode_depth
frame = np.random.default_rng(0).integers(0, 5000, (120, 160)).astype(np.uint16)
for count in (30, 600):
    plan = DepthPlan(Path("camera"), np.arange(count), count, lambda: (np.roll(frame, k) for k in range(count)))
    encode_depth(plan, Path(sys.argv[1]), DepthEncoding(120, 160, 30, 5))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_the_encoder_says_nothing_and_memory_does_not_grow_with_the_length(tmp_path: Path) -> None:
    command = [sys.executable, "-c", QUIET, str(tmp_path / "clip.mp4")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    short_kb, long_kb = (int(line) for line in done.stdout.splitlines())
    assert done.stderr == ""
    assert long_kb - short_kb < 8000
