"""Whether a video file is whole: one that is cut off plays to the cut without a word.

What is cut off at the end would be taken for pictures that are missing at the start, where depth may lack some. A
Matroska file (RFC 9559, 4) says how long it is, and one that was written to a pipe how long its parts are; an MP4 says
where its pictures lie.
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO, Final

from quickdraw.errors import VideoError
from quickdraw.video.container import ContainerHeader, read_header

EBML: Final = bytes.fromhex("1a45dfa3")
SEGMENT: Final = 0x18538067
MOST_PARTS: Final = 100_000  # days of clusters; more is a file made to keep its reader busy
EXPECTED: Final = "a whole video"


def refuse_cut(path: Path) -> ContainerHeader | None:
    """Raise VideoError where a Matroska or MP4 file ends before it should; files of other kinds are passed over.

    A Matroska file without a length, of a pipe or a killed encoder, may end behind any whole part of it. Of an MP4 the
    headers, which tell how long it is, are handed on.
    """
    try:
        with path.open("rb") as file:
            head = file.read(8)
            if head[:4] == EBML:
                file.seek(4)
                _refuse_cut_segment(path, file, path.stat().st_size)
    except OSError as error:
        raise VideoError(str(path), f"unreadable ({error.strerror})", EXPECTED) from error
    return read_header(path) if head[4:] == b"ftyp" else None


def _refuse_cut_segment(path: Path, file: BinaryIO, there: int) -> None:
    """`file` stands behind the name of its header and has `there` bytes."""
    header_bytes = _number(file, is_size=True)
    file.seek(header_bytes or 0, 1)
    if header_bytes is None or _number(file) != SEGMENT:
        raise VideoError(str(path), "no segment after the header", EXPECTED)
    length = _number(file, is_size=True)
    end = file.tell() + length if length is not None else _end_of_parts(file, there)
    if end > there:
        raise VideoError(str(path), f"a segment up to byte {end} in a file of {there} (cut off)", EXPECTED)


def _end_of_parts(file: BinaryIO, there: int) -> int:
    """Where the last part of a segment without a length ends; `there`, where a part has none either."""
    for _ in range(MOST_PARTS):
        if file.tell() >= there:
            return file.tell()
        _number(file)
        length = _number(file, is_size=True)
        if length is None:
            break
        file.seek(length, 1)
    return there


def _number(file: BinaryIO, *, is_size: bool = False) -> int | None:
    """A number of 1 to 8 bytes, as many as the first has leading zero bits and one.

    The one bit that tells their number is part of a name and not of a size, which is None where all its bits are 1.
    """
    first = int.from_bytes(file.read(1))
    more = 8 - first.bit_length()
    value, bits = first << 8 * more | int.from_bytes(file.read(more)), (1 << 7 * (more + 1)) - 1
    if not is_size:
        return value
    return None if value & bits == bits else value & bits
