"""What an MP4's headers promise: how many pictures, how large, how turned, and whether their bytes are in the file.

Read without PyAV, from `moov` alone, in a few milliseconds whatever the file's size. FFmpeg's own view hides what
matters here: it applies edit lists in silence and does not look whether the samples lie within the file.
Box layouts: ISO/IEC 14496-12.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from math import atan2, degrees
from pathlib import Path
from typing import BinaryIO

from quickdraw.errors import VideoError
from quickdraw.video.boxes import Box, children, first, unpack
from quickdraw.video.samples import Samples, read_samples

MOST_TOP_BOXES = 100_000  # a day of one-second fragments; more is a file made to keep its reader busy
MOST_MOOV_BYTES = 256_000_000  # some 20 million pictures
EXPECTED = "a whole, playable mp4"
UPRIGHT = (1.0, 0.0, 0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Edit:
    """One entry of an edit list: what is shown for `duration_s` from `media_s` on (None: nothing), at `rate`.

    A fragmented file, whose end is not known when this is written, may say 0 s for all of it.
    """

    duration_s: float
    media_s: float | None
    rate: float


@dataclass(frozen=True, slots=True)
class ContainerHeader:
    """The video track of a file, as its headers tell it.

    `matrix` is the linear part (a, b, c, d) of the display matrix. With `is_fragmented`, pictures are (also) described
    outside of `samples`, which is then no count of them.
    """

    path: Path
    width_px: int
    height_px: int
    matrix: tuple[float, float, float, float]
    edits: tuple[Edit, ...]
    is_fragmented: bool
    samples: Samples

    @property
    def rotation_deg(self) -> float:
        """How far the display matrix turns the picture, counter-clockwise."""
        return -degrees(atan2(self.matrix[1], self.matrix[0]))

    @property
    def is_upright(self) -> bool:
        """Whether pictures are shown as they are stored: neither turned nor mirrored."""
        return self.matrix == UPRIGHT

    @property
    def start_s(self) -> float:
        """For how long nothing is shown before the first picture, as the edit list tells it."""
        empty = itertools.takewhile(lambda edit: edit.media_s is None, self.edits)
        return sum(edit.duration_s for edit in empty)


def read_header(path: Path) -> ContainerHeader:
    """The headers of the file's first video track.

    Raises VideoError where the file is no whole MP4: no such boxes, cut off, or samples beyond its end.
    """
    try:
        with path.open("rb") as file:
            return _Reader(path, file, path.stat().st_size).header()
    except (struct.error, ValueError, OverflowError) as error:
        raise VideoError(str(path), f"damaged headers ({error})", EXPECTED) from error
    except OSError as error:
        raise VideoError(str(path), f"unreadable ({error.strerror})", EXPECTED) from error


@dataclass(frozen=True, slots=True)
class _Reader:
    path: Path
    file: BinaryIO
    size: int

    def header(self) -> ContainerHeader:
        moov, has_fragments = self._moov()
        movie_scale = self._timescale(moov, b"mvhd")
        track = self._video_track(moov)
        table = first(track, b"mdia", b"minf", b"stbl")
        if table is None:
            raise self._error("a video track without a sample table")
        media_scale = self._timescale(first(track, b"mdia") or b"", b"mdhd")
        samples = read_samples(table, media_scale)
        if samples.end_byte > self.size:
            raise self._error(f"pictures up to byte {samples.end_byte} in a file of {self.size} (cut off)")
        width_px, height_px = self._size(table)
        return ContainerHeader(
            path=self.path,
            width_px=width_px,
            height_px=height_px,
            matrix=self._matrix(track),
            edits=tuple(_edits(first(track, b"edts", b"elst"), movie_scale, media_scale)),
            is_fragmented=has_fragments or first(moov, b"mvex") is not None,
            samples=samples,
        )

    def _video_track(self, moov: bytes) -> bytes:
        for track in children(moov, b"trak"):
            handler = first(track, b"mdia", b"hdlr")
            if handler is not None and handler[8:12] == b"vide":
                return track
        raise self._error("no video track")

    def _moov(self) -> tuple[bytes, bool]:
        """The `moov` box's content, and whether there is a fragment beside it."""
        moov, has_fragments, seen = b"", False, list[str]()
        for box in self._top_boxes():
            seen.append(box.name)
            if box.kind == b"moof":
                has_fragments = True
            elif box.kind == b"moov" and not moov:
                if box.end - box.start > MOST_MOOV_BYTES:
                    raise self._error(f"headers of {box.end - box.start} bytes")
                self.file.seek(box.start)
                moov = self.file.read(box.end - box.start)
        if not moov:
            there = ", ".join(dict.fromkeys(seen)) or "nothing: the file is empty"
            raise self._error(f"no index (moov), but {there}")
        return moov, has_fragments

    def _top_boxes(self) -> Iterator[Box]:
        """The boxes of the file, seeking from one to the next."""
        at = 0
        for _ in range(MOST_TOP_BOXES):
            if at >= self.size:
                return
            self.file.seek(at)
            box = Box.at(self.file.read(16), at, self.size)
            if box is None or (at == 0 and not box.kind.isalnum()):
                raise self._error("no mp4" if at == 0 else f"no box of an mp4 at byte {at}")
            if box.end > self.size:
                raise self._error(f"a box {box.name} up to byte {box.end} in a file of {self.size} (cut off)")
            yield box
            at = box.end
        raise self._error(f"more than {MOST_TOP_BOXES} boxes")

    def _timescale(self, parent: bytes, kind: bytes) -> int:
        """Ticks a second, from a movie's or a medium's header."""
        header = first(parent, kind)
        if header is None:
            raise self._error(f"no box {kind.decode()}")
        (scale,) = unpack(">I", header, 20 if header[:1] == b"\x01" else 12)
        if not scale:
            raise self._error(f"a box {kind.decode()} of 0 ticks a second")
        return int(scale)

    def _size(self, table: bytes) -> tuple[int, int]:
        entries = first(table, b"stsd")
        if entries is None:
            raise self._error("no box stsd")
        width_px, height_px = unpack(">HH", entries, 40)  # of the first entry
        return int(width_px), int(height_px)

    def _matrix(self, track: bytes) -> tuple[float, float, float, float]:
        header = first(track, b"tkhd")
        if header is None:
            raise self._error("no box tkhd")
        a, b, _, c, d = unpack(">5i", header, 52 if header[:1] == b"\x01" else 40)
        return a / 65536, b / 65536, c / 65536, d / 65536

    def _error(self, found: str) -> VideoError:
        return VideoError(str(self.path), found, EXPECTED)


def _edits(box: bytes | None, movie_scale: int, media_scale: int) -> Iterator[Edit]:
    """The entries of an edit list; none where there is no list."""
    if box is None:
        return
    entry = ">QqHh" if box[:1] == b"\x01" else ">IiHh"
    (count,) = unpack(">I", box, 4)
    for number in range(min(count, len(box) // struct.calcsize(entry))):
        duration, media_time, whole, part = unpack(entry, box, 8 + number * struct.calcsize(entry))
        media_s = None if media_time < 0 else media_time / media_scale
        yield Edit(duration / movie_scale, media_s, whole + part / 65536)
