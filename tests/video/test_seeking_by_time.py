from pathlib import Path

import imageio_ffmpeg
import numpy as np
import pytest

from quickdraw.errors import VideoError
from quickdraw.video.decoding import as_rgb, pictures
from quickdraw.video.seeking import pictures_by_time

WAYS = {
    "as ours": ("-c:v", "libx264", "-g", "5", "-bf", "0"),
    "with B-frames": ("-c:v", "libx264", "-g", "30", "-bf", "3"),
    "with one keyframe": ("-c:v", "libx264", "-g", "999", "-bf", "2"),
    "of AV1": ("-c:v", "libsvtav1", "-preset", "12", "-g", "16", "-svtav1-params", "lp=1"),
}


@pytest.fixture(scope="module", params=WAYS)
def film(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60 pictures whose brightness tells their number, at 30 Hz."""
    path = tmp_path_factory.mktemp("by_time") / "film.mp4"
    writer = imageio_ffmpeg.write_frames(
        path, (64, 48), fps=30, codec=None, pix_fmt_out="yuv420p", output_params=[*WAYS[request.param], "-threads", "1"]
    )
    writer.send(None)
    for number in range(60):
        writer.send(np.full((48, 64, 3), 20 + 3 * number, np.uint8))
    writer.close()
    return path


def test_pictures_found_by_time_are_those_of_a_full_decode(film: Path) -> None:
    every = [as_rgb(picture) for picture in pictures(film)]
    numbers = [0, 1, 2, 29, 31, 30, 58, 59, 7]
    found = [as_rgb(picture) for picture in pictures_by_time(film, numbers, 30)]
    assert len(every) == 60
    for number, picture in zip(numbers, found, strict=True):
        np.testing.assert_array_equal(picture, every[number])


def test_a_picture_that_is_not_there_is_an_error(film: Path) -> None:
    with pytest.raises(VideoError, match=r"no picture at 2\.000 s"):
        list(pictures_by_time(film, [59, 60], 30))


def test_a_file_that_is_not_there_or_no_video_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "none.mp4").write_bytes(b"nothing")
    for name in ("none.mp4", "gone.mp4"):
        with pytest.raises(VideoError, match="unreadable"):
            next(pictures_by_time(tmp_path / name, [0], 30))
