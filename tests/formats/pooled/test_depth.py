"""Depth videos: told from colour by their streams, exact or bounded, refused where they are damaged.

The witness is ffmpeg's binary, which decodes to raw samples; nothing of ours is between it and the numbers.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import cv2
import imageio_ffmpeg
import numpy as np
import numpy.typing as npt
import pytest

from quickdraw.errors import VideoError
from quickdraw.formats.pooled.depth import Mode, open_depth
from quickdraw.formats.pooled.depth_codes import INVALID_BELOW, metric, quantise, shade
from quickdraw.formats.pooled.recording.depth_writer import DepthWriter, described, encoder_of, extension
from quickdraw.video import self_test
from quickdraw.video.encoders import LOG12

FFMPEG = imageio_ffmpeg.get_ffmpeg_exe()
HEIGHT, WIDTH = 240, 320
Planes = npt.NDArray[np.uint16]
LAYOUTS: list[tuple[Mode, bool]] = [("ffv1", False), ("ffv1", True), ("log12", False)]
NAMES = ["ffv1-single", "ffv1-dual", "log12"]


def ffmpeg(*arguments: str, data: bytes = b"") -> bytes:
    command = [FFMPEG, "-v", "error", "-y", *arguments]
    result = subprocess.run(command, input=data, capture_output=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr.decode()
    return result.stdout


def told(path: Path) -> str:
    """What the binary says of a file's streams; without an output its exit code says nothing."""
    return subprocess.run([FFMPEG, "-i", str(path)], capture_output=True, text=True, check=False).stderr


def raw(path: Path, pix_fmt: str, stream: str = "0:v:0") -> Planes:
    """Every picture as the binary decodes it, `(N, H, W)` of 16 bits."""
    found = ffmpeg(
        "-i", str(path), "-map", stream, "-fps_mode", "passthrough", "-pix_fmt", pix_fmt, "-f", "rawvideo", "-"
    )
    return np.frombuffer(found, "<u2").reshape(-1, HEIGHT, WIDTH)


def scene(count: int = 8) -> Planes:
    """`(count, H, W)` mm as a depth camera sees a ball before a wall: noise of 0.2 %, holes, and a shadow beside it."""
    rng, (rows, columns) = np.random.default_rng(11), np.mgrid[:HEIGHT, :WIDTH]
    planes = []
    for number in range(count):
        from_ball = np.hypot(columns - 120 - 4 * number, rows - 120)
        depth = np.where(from_ball < 60, 600 + 0.3 * rows, 1200 + 2.0 * columns + 200 * np.sin(rows / 50 + number / 8))
        depth *= 1 + rng.normal(0, 0.002, depth.shape)
        depth[(from_ball >= 60) & (from_ball < 66)] = 0
        depth[rng.random(depth.shape) < 0.003] = 0
        depth[:, :20] = 0
        planes.append(np.rint(depth).astype(np.uint16))
    return np.stack(planes)


def every_value(count: int = 3) -> Planes:
    """`(count, H, W)`, every value of 16 bits in each, elsewhere each time."""
    return np.stack([np.resize(np.arange(1 << 16), (HEIGHT, WIDTH)) + 977 * number for number in range(count)]).astype(
        "u2"
    )


def record(path: Path, planes: Iterable[Planes], mode: Mode = "ffv1", preview: bool = False) -> Path:
    with DepthWriter(path, height_px=HEIGHT, width_px=WIDTH, fps=30.0, mode=mode, preview=preview) as writer:
        for plane in planes:
            writer.write(plane)
    return path


@pytest.fixture(scope="module")
def log12(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("log12") / "episode-000.mp4", scene(), "log12")


@pytest.mark.parametrize("preview", [False, True], ids=["single", "dual"])
def test_ffv1_keeps_every_value(preview: bool, tmp_path: Path) -> None:
    given = every_value()
    path = record(tmp_path / "episode-000.mkv", given, preview=preview)
    video = open_depth(path)
    assert video is not None
    assert (video.kind, video.index, video.height, video.width, video.fps) == (
        "ffv1",
        int(preview),
        HEIGHT,
        WIDTH,
        30.0,
    )
    np.testing.assert_array_equal(raw(path, "gray16le", f"0:{int(preview)}"), given)
    read = list(video.frames())
    np.testing.assert_array_equal(read, given)
    assert {(each.dtype.str, each.flags.writeable) for each in read} == {("<u2", True)}
    with pytest.raises(ValueError, match="no codes"):
        next(video.codes())


def test_the_first_stream_of_a_dual_file_is_a_heat_map_players_show(tmp_path: Path) -> None:
    ramp = np.broadcast_to(np.linspace(0, 6000, WIDTH).astype(np.uint16), (HEIGHT, WIDTH))
    path = record(tmp_path / "episode-000.mkv", [ramp] * 3, preview=True)
    first, second = (line for line in told(path).splitlines() if "Stream #0" in line)
    assert "h264" in first
    assert "ffv1, gray16le(pc" in second
    heat = np.frombuffer(ffmpeg("-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"), np.uint8)
    expected = cv2.applyColorMap(shade(quantise(ramp)), cv2.COLORMAP_JET)[..., ::-1].astype(int)
    error = np.abs(heat.reshape(3, HEIGHT, WIDTH, 3) - expected)
    assert error.mean() < 3
    assert (error.max(axis=-1) < 25).mean() > 0.98


def test_log_codes_are_decoded_as_ffmpeg_decodes_them(log12: Path) -> None:
    video = open_depth(log12)
    assert video is not None
    assert (video.kind, video.index, video.color_range) == ("log12", 0, "pc")
    codes = raw(log12, "gray12le")
    np.testing.assert_array_equal(list(video.codes()), codes)
    np.testing.assert_array_equal(list(video.frames()), metric(codes))


def test_a_log_file_is_flagged_full_range_hvc1_and_of_a_fixed_step(log12: Path) -> None:
    assert re.search(r"Video: hevc \(Rext\) \(hvc1 / \w+\), gray12le\(pc[,)]", told(log12))
    content = log12.read_bytes()
    assert b"rc=cqp" in content  # x265 tells its settings in the stream
    assert b"qp=6" in content
    assert b"crf=" not in content
    assert b"range=1" in content
    assert content.index(b"moov") < content.index(b"mdat")
    assert not {"-crf", "-profile:v", "-profile"} & set(LOG12.options)


def test_log_codes_of_a_noisy_camera_are_close(log12: Path) -> None:
    given = quantise(scene())
    error = np.abs(raw(log12, "gray12le").astype(int) - given)
    print(f"code error: mean {error.mean():.2f}, p99 {np.percentile(error, 99):.0f}, most {error.max()};"
          f" {log12.stat().st_size / len(given) / 1000:.1f} KB a picture of {WIDTH}x{HEIGHT}")  # fmt: skip
    assert error.mean() <= 3
    assert np.percentile(error, 99) <= 15


def test_holes_are_smeared_by_lossy_coding_and_yet_read_as_holes(log12: Path) -> None:
    given = scene()
    hole, codes = given == 0, raw(log12, "gray12le")
    assert (codes[hole] > 0).mean() > 0.02  # code 0 alone would not tell them
    assert codes[hole].max() < INVALID_BELOW <= codes[~hole].min()
    video = open_depth(log12)
    assert video is not None
    read = np.stack(list(video.frames()))
    np.testing.assert_array_equal(read == 0, hole)
    error = np.abs(read[~hole].astype(float) / given[~hole] - 1)
    assert np.percentile(error, 99) < 0.015


def test_codes_of_a_file_not_flagged_full_are_no_millimetres(tmp_path: Path) -> None:
    path, codes = tmp_path / "episode-000.mp4", quantise(scene(2))
    source = ("-f", "rawvideo", "-pix_fmt", "gray12le", "-s", f"{WIDTH}x{HEIGHT}", "-r", "30", "-i", "-")
    ffmpeg(*source, "-c:v", "libx265", "-x265-params", "qp=6:log-level=none", "-tag:v", "hvc1", str(path),
           data=codes.tobytes())  # fmt: skip
    video = open_depth(path)
    assert video is not None
    assert video.kind == "log12"
    assert len(list(video.codes())) == 2
    if video.color_range == "pc":  # this ffmpeg may flag gray by itself; then say the opposite
        limited = tmp_path / "limited.mp4"
        ffmpeg("-i", str(path), "-c", "copy", "-bsf:v", "hevc_metadata=video_full_range_flag=0", str(limited))
        video = open_depth(limited)
        assert video is not None
    with pytest.raises(VideoError, match="colour range"):
        next(video.frames())


@pytest.mark.parametrize("name", ["D435_depth_rgb.mp4", "d435_depth_2.mkv", "depth.avi", "umi_depth.mp4"])
def test_colour_is_colour_whatever_it_is_called(name: str, tmp_path: Path) -> None:
    ffmpeg("-f", "lavfi", "-i", "testsrc=s=64x48:d=0.1", "-c:v", "libx264", "-pix_fmt", "yuv420p", str(tmp_path / name))
    assert open_depth(tmp_path / name) is None


def test_lossless_colour_and_eight_bit_gray_are_no_depth(tmp_path: Path) -> None:
    for name, codec, pix_fmt in (("a", "ffv1", "bgr0"), ("b", "ffv1", "gray"), ("c", "libx265", "gray10le")):
        path = tmp_path / f"{name}.mkv"
        quiet = ("-x265-params", "log-level=none") if codec == "libx265" else ()
        ffmpeg("-f", "lavfi", "-i", "testsrc=s=64x48:d=0.1", "-c:v", codec, "-pix_fmt", pix_fmt, *quiet, str(path))
        assert open_depth(path) is None


@pytest.mark.parametrize(("mode", "preview"), LAYOUTS, ids=NAMES)
def test_depth_is_depth_whatever_it_is_called(mode: Mode, preview: bool, tmp_path: Path) -> None:
    path = record(tmp_path / "grown", scene(1), mode, preview)
    for name in ("head_rgb.mp4", "head_rgb.mkv", "color.avi", ".episode-000.mkv.tmp"):
        shutil.copy(path, tmp_path / name)
        video = open_depth(tmp_path / name)
        assert video is not None
        assert video.kind == mode


def test_the_sample_has_all_three_layouts_and_no_other_depth(sample_pooled: Path) -> None:
    found = {
        (path.parent.name, path.stem): (video.kind, video.index)
        for path in sorted(sample_pooled.glob("recordings/*/videos/chunk-*/*/episode-*"))
        if (video := open_depth(path)) is not None
    }
    kinds = {"000": ("log12", 0), "002": ("ffv1", 1)} | dict.fromkeys(("001", "003", "004", "005"), ("ffv1", 0))
    assert found == {("umi_depth", f"episode-{number}"): kind for number, kind in kinds.items()}


@pytest.mark.parametrize(("mode", "preview"), LAYOUTS, ids=NAMES)
def test_a_damaged_file_is_an_error_and_never_other_depth(mode: Mode, preview: bool, tmp_path: Path) -> None:
    path = record(tmp_path / "whole", scene(4), mode, preview)
    video = open_depth(path)
    assert video is not None
    truth, content, rng, errors = list(video.frames()), path.read_bytes(), np.random.default_rng(7), 0
    for number, place in enumerate(rng.integers(3000, len(content), 40).tolist()):
        damaged = bytearray(content)
        if number % 2:
            damaged[place] ^= 1 << int(rng.integers(8))
        else:
            damaged[place : place + 32] = bytes(len(damaged[place : place + 32]))
        path.write_bytes(damaged)
        try:
            video = open_depth(path)
            found = list(video.frames()) if video is not None else []
        except VideoError:
            errors += 1
            continue
        assert found, place
        np.testing.assert_array_equal(found, truth[: len(found)], f"byte {place}")
    assert errors >= 20


@pytest.mark.parametrize(("mode", "preview"), LAYOUTS, ids=NAMES)
def test_a_file_cut_off_is_an_error(mode: Mode, preview: bool, tmp_path: Path) -> None:
    path = record(tmp_path / "whole", scene(4), mode, preview)
    content = path.read_bytes()
    for length in np.linspace(1, len(content) - 1, 15).astype(int).tolist():
        path.write_bytes(content[:length])
        with pytest.raises(VideoError):
            read_whole(path)


def read_whole(path: Path) -> None:
    video = open_depth(path)
    assert video is not None
    list(video.frames())


def test_what_a_killed_writer_leaves_is_an_error_or_fewer_of_its_pictures(tmp_path: Path) -> None:
    path, given = tmp_path / "episode-000.mkv", np.random.default_rng(0).integers(0, 65536, (60, HEIGHT, WIDTH), "u2")
    writer = DepthWriter(path, height_px=HEIGHT, width_px=WIDTH, fps=30.0)
    for plane in given:
        writer.write(plane)
        if path.exists() and path.stat().st_size > 1_000_000:
            break
    writer.kill()
    writer.kill()
    assert path.stat().st_size > 1_000_000
    try:
        video = open_depth(path)
        found = list(video.frames()) if video is not None else []
    except VideoError:
        return
    assert 0 < len(found) < writer.written
    np.testing.assert_array_equal(found, given[: len(found)])


@pytest.mark.parametrize(("mode", "preview"), LAYOUTS, ids=NAMES)
def test_odd_pictures_are_as_good_as_even_ones(mode: Mode, preview: bool, tmp_path: Path) -> None:
    given = np.full((3, 31, 33), 1234, np.uint16)
    with DepthWriter(tmp_path / "a", height_px=31, width_px=33, fps=30.0, mode=mode, preview=preview) as writer:
        for plane in given:
            writer.write(plane)
    video = open_depth(tmp_path / "a")
    assert video is not None
    read = np.stack(list(video.frames()))
    assert np.abs(read.astype(int) - given).max() <= (3 if mode == "log12" else 0)


def test_colour_that_is_cut_off_is_an_error_too(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    ffmpeg("-f", "lavfi", "-i", "testsrc=s=64x48:d=1", "-c:v", "libx264", "-movflags", "+faststart", str(path))
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(VideoError, match="cut off"):
        open_depth(path)


def test_an_encoder_that_dies_is_an_error_of_the_writer(tmp_path: Path) -> None:
    with pytest.raises(VideoError, match="No such file"):
        record(tmp_path / "nowhere" / "a.mkv", every_value(60))


@pytest.mark.parametrize("dtype", ["i2", ">u2", "f4", "u1", "u4"])
def test_only_millimetres_of_sixteen_bits_are_depth(dtype: str, tmp_path: Path) -> None:
    with DepthWriter(tmp_path / "a.mkv", height_px=HEIGHT, width_px=WIDTH, fps=30.0) as writer:
        writer.write(np.zeros((HEIGHT, WIDTH), np.uint16))
        with pytest.raises(ValueError, match="not uint16"):
            writer.write(np.zeros((HEIGHT, WIDTH), dtype))
    assert writer.written == 1


def test_log_depth_is_refused_before_it_is_recorded_where_ffmpeg_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "ffmpeg"
    broken.write_text("#!/bin/sh\necho Unknown encoder libx265 >&2\nexit 8\n")
    broken.chmod(0o755)
    monkeypatch.setattr("quickdraw.video.encoder_process.ffmpeg", lambda: str(broken))
    monkeypatch.setattr(self_test, "ffmpeg", lambda: str(broken))
    with pytest.raises(VideoError, match="Unknown encoder"):
        record(tmp_path / "a.mp4", scene(1), "log12")
    assert not (tmp_path / "a.mp4").exists()


def test_each_mode_has_its_extension_and_its_words_in_the_row() -> None:
    assert (extension("ffv1"), extension("log12"), encoder_of("ffv1", preview=True).extension) == ("mkv", "mp4", "mkv")
    assert described("ffv1") == {"codec": "FFV1 gray16le", "format": "uint16 mm"}
    assert described("log12") == {"codec": "HEVC (Rext) gray12le", "qp": 6, "format": "12bit log codes"}
    with pytest.raises(ValueError, match="known are"):
        encoder_of("log12", preview=True)
    with pytest.raises(ValueError, match="known are"):
        encoder_of("png")  # type: ignore[arg-type]  # what a caller without types may pass
