"""Streams read through before they are copied: what is told of them, and which no player would play a copy of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from quickdraw.errors import VideoError
from quickdraw.video.copying import CopiedStream, read_stream

type Tools = Any

COUNT, GOP = 36, 12
CODECS = ("h264", "hevc", "av1")


@pytest.mark.parametrize("extension", ["mp4", "mkv"])
@pytest.mark.parametrize("codec", CODECS)
def test_a_stream_is_told_by_reading_it_through(
    codec: str, extension: str, recorded: Callable[..., Path], tools: Tools
) -> None:
    found = read_stream(recorded(codec, extension))
    assert replace(found, configuration="") == CopiedStream(
        codec=codec,
        pix_fmt="yuv420p",
        height_px=tools.height,
        width_px=tools.width,
        pictures=COUNT,
        gop=GOP,
        reordered=False,
        configuration="",
        full_range=False,
        restarts=(0, 12, 24),
        times=found.times,
    )
    assert found.configuration == read_stream(recorded(codec, "mkv")).configuration
    np.testing.assert_allclose(found.times.at_s, np.arange(COUNT) / 30, atol=5.1e-4)


@pytest.mark.parametrize("extension", ["mp4", "mkv"])
def test_a_file_that_is_cut_off_is_refused_unread(
    extension: str, recorded: Callable[..., Path], tmp_path: Path
) -> None:
    whole, cut = recorded("h264", extension).read_bytes(), tmp_path / f"cut.{extension}"
    cut.write_bytes(whole[: len(whole) * 2 // 3])
    with pytest.raises(VideoError, match=r"cut\.m"):
        read_stream(cut)


def test_parameters_that_change_on_the_way_are_refused(tmp_path: Path, tools: Tools) -> None:
    """Two films behind one another under the header of the first, as a copying cutter makes them."""
    for name, crf in (("a", "18"), ("b", "40")):
        tools.encode(
            tmp_path / f"{name}.h264", tools.numbered(6), *tools.ways["h264"], "-crf", crf, "-refs", str(int(crf) // 10)
        )
    (tmp_path / "ab.h264").write_bytes((tmp_path / "a.h264").read_bytes() + (tmp_path / "b.h264").read_bytes())
    tools.ffmpeg("-i", str(tmp_path / "ab.h264"), "-c", "copy", str(tmp_path / "ab.mp4"))
    with pytest.raises(VideoError, match=r"ab\.mp4: found picture 6: the codec's parameters change on the way"):
        read_stream(tmp_path / "ab.mp4")


@pytest.mark.parametrize(("extension", "message"), [("ts", "a file of MPEG-TS"), ("avi", "a file of AVI")])
def test_other_containers_are_refused(
    extension: str, message: str, recorded: Callable[..., Path], tmp_path: Path, tools: Tools
) -> None:
    path = tmp_path / f"other.{extension}"
    tools.ffmpeg("-i", str(recorded()), "-c", "copy", str(path))
    with pytest.raises(VideoError, match=message):
        read_stream(path)


def test_annex_b_in_matroska_is_refused(recorded: Callable[..., Path], tmp_path: Path) -> None:
    """ffmpeg writes none, so its header is replaced by how one in Annex B begins: with a start code."""
    path = tmp_path / "annex_b.mkv"
    with av.open(str(recorded("h264", "mkv"))) as container:
        header = bytes(container.streams.video[0].codec_context.extradata or b"")
    data = recorded("h264", "mkv").read_bytes()
    assert data.count(header) == 1
    path.write_bytes(data.replace(header, b"\0\0\0\1" + header[8:] + bytes(4)))
    with pytest.raises(VideoError, match=r"annex_b\.mkv: found h264 in Annex B, as streams have it, expected units"):
        read_stream(path)


def test_pictures_an_edit_list_hides_are_refused(recorded: Callable[..., Path], tmp_path: Path, tools: Tools) -> None:
    path = tmp_path / "edited.mp4"
    tools.ffmpeg("-ss", "0.6", "-i", str(recorded()), "-c", "copy", str(path))
    with pytest.raises(VideoError, match=r"picture 0: hidden by an edit list"):
        read_stream(path)


@pytest.mark.parametrize(("open_gop", "restarts"), [("0", (0, 12, 24)), ("1", (0,))])
def test_a_clip_begins_where_nothing_before_is_needed(
    open_gop: str, restarts: tuple[int, ...], tmp_path: Path, tools: Tools
) -> None:
    """At an open GOP decoding can begin, but of what is shown before it nothing is known."""
    params = tools.ways["hevc"][-1].replace("open-gop=0", f"open-gop={open_gop}")
    path = tools.encode(tmp_path / "film.mp4", tools.numbered(COUNT), *tools.ways["hevc"][:-1], params)
    found = read_stream(path)
    assert (found.gop, found.restarts) == (GOP, restarts)
