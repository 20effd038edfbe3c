from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cv2
import imageio_ffmpeg
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quickdraw.sim.barcode import MAX_NUMBER, Rgb, paint_frame_number, read_frame_number


def _noise(height: int = 480, width: int = 640) -> Rgb:
    return np.random.default_rng(5).integers(0, 255, size=(height, width, 3)).astype(np.uint8)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, MAX_NUMBER), st.sampled_from([(480, 640), (144, 192), (96, 128), (240, 320), (150, 211)]))
def test_a_painted_number_is_read_back_at_any_size(number: int, size: tuple[int, int]) -> None:
    rgb = _noise()
    paint_frame_number(rgb, number)
    scaled = cv2.resize(rgb, (size[1], size[0]), interpolation=cv2.INTER_AREA)
    assert read_frame_number(np.asarray(scaled, dtype=np.uint8)) == number


def test_numbers_survive_scaling_and_lossy_video(tmp_path: Path, pictures: Callable[..., list[Rgb]]) -> None:
    numbers = [0, 1, 2, 17, 255, 256, 4095, 18180, 43690, 65535] * 2
    path = tmp_path / "small.mp4"
    options = ["-crf", "23", "-g", "2"]
    writer = imageio_ffmpeg.write_frames(
        str(path), (192, 144), fps=30, codec="libx264", quality=None, macro_block_size=1, output_params=options
    )
    writer.send(None)
    for number in numbers:
        rgb = _noise()
        paint_frame_number(rgb, number)
        writer.send(np.ascontiguousarray(cv2.resize(rgb, (192, 144), interpolation=cv2.INTER_AREA)))
    writer.close()
    assert [read_frame_number(rgb) for rgb in pictures(path, (144, 192))] == numbers


@given(st.integers(0, MAX_NUMBER), st.integers(0, 19))
def test_one_wrong_block_pair_is_found_out(number: int, column: int) -> None:
    rgb = np.zeros((480, 640, 3), np.uint8)
    paint_frame_number(rgb, number)
    block = rgb[:48, column * 32 : (column + 1) * 32]
    block[:] = 255 - block
    with pytest.raises(ValueError, match="fails its checksum"):
        read_frame_number(rgb)


def test_a_picture_without_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match="no frame number"):
        read_frame_number(np.full((480, 640, 3), 128, np.uint8))


def test_a_number_too_large_for_the_strip_is_refused() -> None:
    with pytest.raises(ValueError, match=r"70000 is outside 0\.\.65535"):
        paint_frame_number(np.zeros((480, 640, 3), np.uint8), 70000)
