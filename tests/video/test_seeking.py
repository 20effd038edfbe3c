"""Pictures of recordings by number, whatever order they are stored in: the same as decoding all of it gives."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path

import av
import numpy as np
import pytest

from quickdraw.errors import VideoError
from quickdraw.video.checksums import read_packets
from quickdraw.video.decoding import pictures
from quickdraw.video.seeking import pictures_by_rank

LENGTH = 90


def film(path: Path, options: Mapping[str, str], *, late: int = 0) -> Path:
    """Noise, of which no two pictures are alike; times begin `late` ticks after 0."""
    random = np.random.default_rng(7)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=30, options=dict(options))
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for number in range(LENGTH):
            picture = av.VideoFrame.from_ndarray(random.integers(0, 256, (48, 64, 3), np.uint8), format="rgb24")
            picture.pts = number + late
            container.mux(stream.encode(picture))
        container.mux(stream.encode())
    return path


def forward(path: Path) -> list[bytes]:
    return [picture.to_ndarray(format="gray").tobytes() for picture in pictures(path)]


@pytest.mark.parametrize(
    "options",
    [
        {"bf": "3", "g": "12", "b-pyramid": "normal"},
        {"bf": "0", "g": "5"},
        {"bf": "3", "g": "250"},
        {"bf": "2", "g": "10", "x264-params": "open-gop=1"},
    ],
    ids=["reordered", "as ours", "one keyframe", "open groups"],
)
@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_pictures_are_those_that_decoding_all_of_it_gives(
    tmp_path: Path, options: Mapping[str, str], suffix: str
) -> None:
    path = film(tmp_path / f"film{suffix}", options)
    right = forward(path)
    for wanted in ([0], [89], [11, 12, 13], [40, 41, 59], range(30, 70), [3, 88], [], [5, 200]):
        found = {number: p.to_ndarray(format="gray").tobytes() for number, p in pictures_by_rank(path, wanted)}
        assert found == {number: right[number] for number in wanted if number < LENGTH}


def test_a_recording_of_a_campaign_is_read_alike(sample_tree: Path) -> None:
    path = next(sample_tree.glob("campaign8-*/*/video/scene_left*.mp4"))
    assert (np.diff(read_packets(path).pts) < 0).any()  # which stores its pictures in another order
    right = {number: picture.to_ndarray(format="gray") for number, picture in enumerate(islice(pictures(path), 120))}
    found = {number: picture.to_ndarray(format="gray") for number, picture in pictures_by_rank(path, range(90, 120))}
    assert sorted(found) == list(range(90, 120))
    assert all(np.array_equal(found[number], right[number]) for number in found)


def test_a_file_that_is_damaged_is_refused(tmp_path: Path) -> None:
    path = film(tmp_path / "film.mp4", {"bf": "2", "g": "250"})
    data = bytearray(path.read_bytes())
    middle = data.index(b"mdat") + 20_000
    data[middle : middle + 3000] = bytes(3000)
    path.write_bytes(data)
    with pytest.raises(VideoError):
        list(pictures_by_rank(path, [80]))
    with pytest.raises(VideoError):
        list(pictures_by_rank(tmp_path / "none.mp4", [0]))
