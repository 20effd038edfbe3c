"""What a camera's mp4 promises in its headers, against the stamps beside it; no picture is decoded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from quickdraw.errors import Fault, Refused, VideoError
from quickdraw.video.container import ContainerHeader, Edit, read_header

TOLERANCE_S = 1e-6  # edit lists give times in ticks, of which ours are quotients


def read_film(where: str, camera: str, video: Path) -> ContainerHeader:
    """The headers of a camera's mp4. Raises Refused where it is no whole mp4."""
    try:
        return read_header(video)
    except VideoError as error:
        raise Refused([Fault(where, camera, error.found, error.expected, path=error.path)]) from error


def film_faults(where: str, film: ContainerHeader, stamps: int | None) -> Iterator[Fault]:
    """What makes picture k of the file another one than the one that stamp k was taken for.

    `stamps` is their number, None where it is not known.
    """
    path = str(film.path)
    if not film.is_upright:
        found = f"rotation metadata of {film.rotation_deg:.0f} degrees (matrix {film.matrix})"
        yield Fault(where, "display matrix", found, "pictures stored upright", path=path)
    edited = _hidden(film)
    if edited:
        yield Fault(where, "edit list", edited, "every picture shown once", path=path)
    try:
        count, discarded = _pictures(film)
    except VideoError as error:
        yield Fault(where, "pictures", error.found, error.expected, path=path)
        return
    if discarded and not edited:
        yield Fault(where, "edit list", f"{discarded} pictures thrown away", "every picture shown once", path=path)
    if stamps is not None and count != stamps:
        yield Fault(where, "pictures", str(count), f"{stamps}, one per stamp", path=path)


def _pictures(film: ContainerHeader) -> tuple[int, int]:
    """How many there are, and how many of them are thrown away as far as only demuxing tells."""
    if film.samples.count and not film.is_fragmented:
        return film.samples.count, 0
    from quickdraw.video.checksums import read_packets  # here, for it costs PyAV, and few files need it

    packets = read_packets(film.path)
    return len(packets.crcs), packets.discarded


def _hidden(film: ContainerHeader) -> str:
    """How the edit list hides or repeats pictures, or nothing. What every encoder with B-frames writes is fine."""
    shown = [edit for edit in film.edits if edit.media_s is not None]
    if len(shown) > 1:
        return f"{len(shown)} edits: {', '.join(map(_told, shown))}"
    for edit in shown:
        if edit.rate != 1:
            return f"rate {edit.rate:g}"
        if not film.samples.count:  # then demuxing must tell
            return ""
        if _start_s(edit) > film.samples.first_s + TOLERANCE_S:
            return f"{_told(edit)}, where the first picture is at {film.samples.first_s:.3f} s"
        last_s = film.samples.first_s + film.samples.last_s
        if not film.is_fragmented and _start_s(edit) + edit.duration_s <= last_s:
            return f"{_told(edit)}, where the last picture is at {last_s:.3f} s"
    return ""


def _start_s(edit: Edit) -> float:
    return edit.media_s or 0.0


def _told(edit: Edit) -> str:
    return f"from {_start_s(edit):.3f} s for {edit.duration_s:.3f} s"
