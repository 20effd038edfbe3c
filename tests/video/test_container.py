"""What an MP4's headers promise, against files made for it: whole, cut, turned, edited, fragmented, or no MP4."""

from __future__ import annotations

import io
import struct
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import av
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quickdraw.errors import Fault, VideoError
from quickdraw.video.checksums import read_packets
from quickdraw.video.container import ContainerHeader, Edit, read_header
from quickdraw.video.films import film_faults

PICTURES = 40


def encoded(codec: str = "libx264", container: str = "mp4", **options: str) -> bytes:
    """A film of 40 small pictures, with B-frames unless the options say otherwise."""
    movflags = {name: options.pop(name) for name in list(options) if name == "movflags"}
    with tempfile.NamedTemporaryFile() as file:  # on disk, for an index cannot be moved to the front elsewhere
        _encode(file.name, codec, container, movflags, options)
        return Path(file.name).read_bytes()


def _encode(path: str, codec: str, container: str, movflags: dict[str, str], options: dict[str, str]) -> None:
    with av.open(path, "w", format=container, options=movflags) as output:
        stream = output.add_stream(codec, rate=30, options=options)
        stream.width, stream.height, stream.pix_fmt = 48, 32, "yuv420p"
        for number in range(PICTURES):
            picture = np.full((32, 48, 3), 40 + 5 * number, np.uint8)
            output.mux(stream.encode(av.VideoFrame.from_ndarray(picture)))
        output.mux(stream.encode())


@pytest.fixture(scope="module")
def film() -> bytes:
    return encoded()


def header(data: bytes, folder: Path) -> ContainerHeader:
    (folder / "film.mp4").write_bytes(data)
    return read_header(folder / "film.mp4")


def faults(data: bytes, folder: Path, stamps: int = PICTURES) -> list[Fault]:
    return list(film_faults("c/run", header(data, folder), stamps))


def refused(data: bytes, folder: Path) -> str:
    with pytest.raises(VideoError) as error:
        header(data, folder)
    assert (error.value.path, error.value.expected) == (str(folder / "film.mp4"), "a whole, playable mp4")
    return error.value.found


def patched(data: bytes, kind: bytes, at: int, layout: str, *values: int) -> bytes:
    """The file with numbers put into the content of its one box of a kind."""
    assert data.count(kind) == 1
    changed = bytearray(data)
    struct.pack_into(layout, changed, data.index(kind) + 4 + at, *values)
    return bytes(changed)


def with_edits(data: bytes, edits: list[tuple[int, int, int]]) -> bytes:
    """The file, its index behind its pictures, with another edit list: (duration, media time, rate) each."""
    content = struct.pack(">II", 0, len(edits)) + b"".join(struct.pack(">IiHH", d, t, r, 0) for d, t, r in edits)
    old = data.index(b"elst") - 4
    new = struct.pack(">I4s", 8 + len(content), b"elst") + content
    grown = len(new) - int.from_bytes(data[old : old + 4])
    changed = bytearray(data[:old] + new + data[old + int.from_bytes(data[old : old + 4]) :])
    for kind in (b"moov", b"trak", b"edts"):
        at = data.index(kind) - 4
        changed[at : at + 4] = (int.from_bytes(data[at : at + 4]) + grown).to_bytes(4)
    return bytes(changed)


@pytest.mark.parametrize(
    "options",
    [{}, {"bf": "0"}, {"movflags": "faststart"}, {"preset": "ultrafast"}, {"bf": "5", "g": "3"}],
    ids=str,
)
def test_what_an_encoder_writes_is_read_as_ffmpeg_reads_it_and_is_no_fault(
    options: dict[str, str], tmp_path: Path
) -> None:
    found = header(encoded(**options), tmp_path)
    assert (found.samples.count, found.width_px, found.height_px) == (PICTURES, 48, 32)
    assert found.is_upright
    assert not found.is_fragmented
    assert len(read_packets(tmp_path / "film.mp4").crcs) == PICTURES
    assert faults((tmp_path / "film.mp4").read_bytes(), tmp_path) == []


def test_every_film_of_the_sample_is_read_in_milliseconds_and_is_no_fault(sample_tree: Path) -> None:
    films = sorted(sample_tree.glob("campaign*/recording_*/video/*.mp4"))
    assert len(films) == 28
    took = []
    for path in films:
        started = time.perf_counter()
        found = read_header(path)
        took.append(time.perf_counter() - started)
        with av.open(str(path)) as container:
            stream = container.streams.video[0]
            assert (found.samples.count, found.width_px, found.height_px) == (
                stream.frames,
                stream.width,
                stream.height,
            )
        assert list(film_faults("c/run", found, found.samples.count)) == []
        assert found.samples.end_byte <= path.stat().st_size
    assert sorted(took)[len(took) // 2] < 0.01


def test_too_few_and_too_many_pictures_are_faults_with_both_numbers(film: bytes, tmp_path: Path) -> None:
    for stamps in (PICTURES - 1, PICTURES + 1):
        (fault,) = faults(film, tmp_path, stamps)
        assert str(fault) == f"c/run: {tmp_path}/film.mp4: pictures: found 40, expected {stamps}, one per stamp"


@pytest.mark.parametrize("movflags", ["frag_keyframe+empty_moov", "frag_keyframe", "empty_moov+frag_every_frame"])
def test_a_fragmented_film_is_counted_by_demuxing(movflags: str, tmp_path: Path) -> None:
    data = encoded(g="10", movflags=movflags)
    assert header(data, tmp_path).is_fragmented
    assert faults(data, tmp_path) == []
    (fault,) = faults(data, tmp_path, 41)
    assert (fault.field, fault.found, fault.expected) == ("pictures", "40", "41, one per stamp")


def test_a_header_that_counts_nothing_is_not_believed(film: bytes, tmp_path: Path) -> None:
    emptied = patched(film, b"stsz", 8, ">I", 0)
    assert header(emptied, tmp_path).samples.count == 0
    (fault,) = faults(emptied, tmp_path)
    assert fault.field == "pictures"


@pytest.mark.parametrize(("share", "found"), [(0.2, "(cut off)"), (0.6, "(cut off)")])
def test_a_film_cut_short_before_its_index_is_refused(share: float, found: str, film: bytes, tmp_path: Path) -> None:
    """What a power loss leaves: pictures, and no index yet."""
    assert found in refused(film[: int(len(film) * share)], tmp_path)


def test_a_film_cut_short_behind_its_index_is_refused_with_both_sizes(tmp_path: Path) -> None:
    data = encoded(movflags="faststart")
    cut = data[:-100]
    assert f"up to byte {len(data)} in a file of {len(cut)} (cut off)" in refused(cut, tmp_path)
    at = data.index(b"mdat") - 4  # the box says it ends with the file: only the sample table knows better
    shrunk = cut[:at] + (len(cut) - at).to_bytes(4) + cut[at + 4 :]
    assert refused(shrunk, tmp_path) == f"pictures up to byte {len(data)} in a file of {len(cut)} (cut off)"


def test_a_film_without_an_index_is_refused_with_what_is_there(film: bytes, tmp_path: Path) -> None:
    assert refused(film[: film.index(b"moov") - 4], tmp_path) == "no index (moov), but ftyp, free, mdat"
    assert refused(b"", tmp_path) == "no index (moov), but nothing: the file is empty"


@pytest.mark.parametrize("container", ["matroska", "avi", "mpegts"])
def test_another_container_under_an_mp4s_name_is_refused(container: str, tmp_path: Path) -> None:
    assert refused(encoded(container=container), tmp_path) == "no mp4"


def test_a_file_that_is_gone_and_one_without_video_are_refused(tmp_path: Path) -> None:
    with pytest.raises(VideoError, match=r"unreadable \(No such file or directory\)"):
        read_header(tmp_path / "gone.mp4")
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as output:
        stream = output.add_stream("aac", rate=48000)
        frame = av.AudioFrame.from_ndarray(np.zeros((2, 1024), np.float32), format="fltp", layout="stereo")
        frame.sample_rate = 48000
        output.mux(stream.encode(frame))
        output.mux(stream.encode())
    assert refused(file.getvalue(), tmp_path) == "no video track"


TURNS = {
    "90": ((0, 1, -1, 0), "rotation metadata of -90 degrees (matrix (0.0, 1.0, -1.0, 0.0))"),
    "180": ((-1, 0, 0, -1), "rotation metadata of 180 degrees (matrix (-1.0, 0.0, 0.0, -1.0))"),
    "mirrored": ((-1, 0, 0, 1), "rotation metadata of 180 degrees (matrix (-1.0, 0.0, 0.0, 1.0))"),
    "mirrored up": ((1, 0, 0, -1), "rotation metadata of 0 degrees (matrix (1.0, 0.0, 0.0, -1.0))"),
}


@pytest.mark.parametrize("turn", TURNS)
def test_a_film_that_asks_to_be_turned_or_mirrored_is_a_fault(turn: str, film: bytes, tmp_path: Path) -> None:
    (a, b, c, d), told = TURNS[turn]
    matrix = [65536 * value for value in (a, b, 0, c, d)]
    (fault,) = faults(patched(film, b"tkhd", 40, ">5i", *matrix), tmp_path)
    found = fault.found.replace("-180", "180").replace("-0 ", "0 ")
    assert (fault.field, found, fault.expected) == ("display matrix", told, "pictures stored upright")


def ticks(data: bytes, folder: Path) -> int:
    """Ticks a picture."""
    header(data, folder)
    with av.open(str(folder / "film.mp4")) as container:
        base = container.streams.video[0].time_base
        assert base is not None
        return round(1 / 30 / base)


def test_an_edit_list_that_shows_every_picture_once_is_no_fault(film: bytes, tmp_path: Path) -> None:
    one = ticks(film, tmp_path)
    for edits in ([(1334, 2 * one, 1)], [(1334, one, 1)], [(1401, 0, 1)], [(500, -1, 1), (1334, 2 * one, 1)]):
        assert faults(with_edits(film, edits), tmp_path) == []


def test_an_edit_list_that_hides_or_repeats_pictures_is_a_fault(film: bytes, tmp_path: Path) -> None:
    one = ticks(film, tmp_path)
    told = {
        "from 0.100 s for 1.334 s, where the first picture is at 0.067 s": [(1334, 3 * one, 1)],
        "from 0.067 s for 1.200 s, where the last picture is at 1.367 s": [(1200, 2 * one, 1)],
        "from 0.067 s for 1.300 s, where the last picture is at 1.367 s": [(1300, 2 * one, 1)],
        "from 0.067 s for 0.000 s, where the last picture is at 1.367 s": [(0, 2 * one, 1)],
        "from 0.000 s for 1.334 s, where the last picture is at 1.367 s": [(1334, 0, 1)],
        "2 edits: from 0.067 s for 0.500 s, from 0.067 s for 1.334 s": [(500, 2 * one, 1), (1334, 2 * one, 1)],
        "rate 2": [(1334, 2 * one, 2)],
        "rate 0": [(1334, 2 * one, 0)],
    }
    for found, edits in told.items():
        (fault,) = faults(with_edits(film, edits), tmp_path)
        assert (fault.field, fault.found, fault.expected) == ("edit list", found, "every picture shown once")


def test_a_picture_that_ffmpeg_would_throw_away_is_one_whose_edit_is_a_fault(film: bytes, tmp_path: Path) -> None:
    one = ticks(film, tmp_path)
    for duration_ms in (0, 1, 700, 1299, 1300, 1301, 1334, 5000):
        for start in (0, 1, 2, 3, 12, 39, 42):
            wrong = faults(with_edits(film, [(duration_ms, start * one, 1)]), tmp_path)
            assert bool(wrong) is bool(read_packets(tmp_path / "film.mp4").discarded), (duration_ms, start)


def test_edits_are_told_in_seconds(film: bytes, tmp_path: Path) -> None:
    one = ticks(film, tmp_path)
    found = header(with_edits(film, [(250, -1, 1), (1334, one, 1)]), tmp_path)
    assert found.edits == (Edit(0.25, None, 1.0), Edit(1.334, pytest.approx(1 / 30), 1.0))


def hostile() -> Iterator[tuple[str, bytes, int, str, tuple[int, ...]]]:
    yield "four billion pictures", b"stsz", 4, ">II", (0, 0xFFFFFFFF)
    yield "four billion pictures of one byte", b"stsz", 4, ">II", (1, 0xFFFFFFFF)
    yield "huge pictures", b"stsz", 4, ">II", (0xFFFFFFFF, PICTURES)
    yield "four billion chunks", b"stco", 4, ">I", (0xFFFFFFFF,)
    yield "four billion runs of chunks", b"stsc", 4, ">I", (0xFFFFFFFF,)
    yield "a first chunk far away", b"stsc", 8, ">I", (0xFFFFFFFF,)
    yield "no chunks", b"stco", 4, ">I", (0,)
    yield "four billion times", b"stts", 4, ">I", (0xFFFFFFFF,)
    yield "no ticks a second", b"mdhd", 12, ">I", (0,)


@pytest.mark.parametrize("case", list(hostile()), ids=lambda case: case[0])
def test_a_table_that_claims_too_much_is_refused_without_believing_it(
    case: tuple[str, bytes, int, str, tuple[int, ...]], film: bytes, tmp_path: Path
) -> None:
    _, kind, at, layout, values = case
    started = time.monotonic()
    try:
        wrong = faults(patched(film, kind, at, layout, *values), tmp_path)
    except VideoError as error:
        wrong = [Fault("", "", error.found, error.expected)]
    assert wrong or kind in (b"stts", b"stsc", b"stco")  # more entries than there are bytes: those that are there count
    assert time.monotonic() - started < 1


def test_a_file_of_boxes_without_end_is_given_up(tmp_path: Path) -> None:
    assert refused(struct.pack(">I4s", 8, b"free") * 200_000, tmp_path) == "more than 100000 boxes"
    assert refused(struct.pack(">I4sQ", 1, b"ftyp", 2**63), tmp_path).endswith("in a file of 16 (cut off)")
    assert refused(struct.pack(">I4sQ", 1, b"ftyp", 3), tmp_path) == "no mp4"


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_stands_in_the_index_it_is_read_or_refused(data: st.DataObject, film: bytes, tmp_path: Path) -> None:
    moov = film.index(b"moov")
    changed = bytearray(film)
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(moov - 4, len(film) - 1))
        changed[at] = data.draw(st.integers(0, 255))
    try:
        found = header(bytes(changed), tmp_path)
    except VideoError:
        return
    assert found.samples.end_byte <= len(changed)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=200))
def test_random_bytes_are_refused(data: bytes, tmp_path: Path) -> None:
    refused(data, tmp_path)
    refused(b"\0\0\0\x08moov" + data, tmp_path)
