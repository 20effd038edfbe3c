"""Single pictures of a clip of ours: the same ones that decoding everything gives, and little else decoded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from quickdraw.core.episode import FramePlan
from quickdraw.errors import VideoError
from quickdraw.video import decoding
from quickdraw.video.decoding import as_rgb, pictures, pictures_at
from quickdraw.video.encoding import Encoding
from quickdraw.video.join import join
from quickdraw.video.transcode import transcode

type Tools = Any

ROWS = 47
PRESETS = {"h264": "veryfast", "hevc": "ultrafast", "av1": "12"}


def clip(folder: Path, tools: Tools, gop: int, codec: str = "h264") -> Path:
    source, path = tools.encode(folder / "source.mp4", tools.numbered(ROWS), *tools.x264), folder / "clip.mp4"
    encoding = Encoding(48, 80, 30, codec=codec, crf=20, preset=PRESETS[codec], gop=gop)
    transcode(FramePlan(source, np.arange(ROWS), ROWS), path, encoding)
    return path


@pytest.mark.parametrize("codec", PRESETS)
@pytest.mark.parametrize("gop", [1, 2, 5, 12, 250])
def test_a_picture_by_its_number_is_the_one_that_decoding_all_of_them_gives(
    gop: int, codec: str, tmp_path: Path, tools: Tools
) -> None:
    path = clip(tmp_path, tools, gop, codec)
    every = [as_rgb(picture) for picture in pictures(path)]
    assert len(every) == ROWS
    for numbers in ([0], [ROWS - 1], [13], [*range(0, ROWS, 5)], [3, 4, 11, 12, 46], [*range(ROWS)], []):
        found = [(number, as_rgb(picture)) for number, picture in pictures_at(path, numbers)]
        assert [number for number, _ in found] == numbers
        assert all((rgb == every[number]).all() for number, rgb in found)


def test_pictures_of_joined_clips_are_found_beyond_the_first(tmp_path: Path, tools: Tools) -> None:
    path = clip(tmp_path, tools, gop=5)
    join([(path, ROWS), (path, ROWS)], tmp_path / "two.mp4", 30)
    every = [as_rgb(picture) for picture in pictures(path)]
    wanted = [2, ROWS - 1, ROWS, ROWS + 3, 2 * ROWS - 1]
    found = dict(pictures_at(tmp_path / "two.mp4", wanted))
    assert list(found) == wanted
    assert all((as_rgb(picture) == every[number % ROWS]).all() for number, picture in found.items())


def test_what_no_picture_asked_for_needs_is_not_decoded(
    tmp_path: Path, tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, decoded = clip(tmp_path, tools, gop=5), list[int]()
    opened = decoding.opened

    class Counting:
        def __init__(self, stream: av.VideoStream) -> None:
            self.stream = stream

        def __getattr__(self, name: str) -> Any:
            return getattr(self.stream, name)

        def decode(self, packet: av.Packet) -> Any:
            decoded.append(packet.size)
            return self.stream.decode(packet)

    class Opened:
        def __init__(self, path: Path) -> None:
            self.inner = opened(path)

        def __enter__(self) -> Any:
            container, stream = self.inner.__enter__()
            return Demuxing(container), Counting(stream)

        def __exit__(self, *error: Any) -> None:
            self.inner.__exit__(*error)

    class Demuxing:
        def __init__(self, container: Any) -> None:
            self.container = container

        def demux(self, stream: Counting) -> Any:
            return self.container.demux(stream.stream)

    monkeypatch.setattr(decoding, "opened", Opened)
    assert [number for number, _ in pictures_at(path, [0, 5, 10])] == [0, 5, 10]
    assert len(decoded) == 3 + 1  # and the one that ends it
    decoded.clear()
    assert [number for number, _ in pictures_at(path, [12, 45])] == [12, 45]
    assert len(decoded) == 3 + 1 + 1


def test_numbers_beyond_the_end_are_passed_over(tmp_path: Path, tools: Tools) -> None:
    assert [number for number, _ in pictures_at(clip(tmp_path, tools, gop=5), [46, 47, 1000])] == [46]


def test_damage_in_what_is_needed_is_refused(tmp_path: Path, tools: Tools) -> None:
    path = clip(tmp_path, tools, gop=5)
    whole = bytearray(path.read_bytes())
    at = whole.index(b"mdat") + 400
    whole[at : at + 600] = np.random.default_rng(0).bytes(600)
    path.write_bytes(whole)
    with pytest.raises(VideoError, match=r"clip\.mp4: found picture \d+: .+, expected a decodable picture"):
        list(pictures_at(path, range(ROWS)))
