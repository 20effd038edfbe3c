"""Whether a camera's pictures may be copied as they are coded, and what of a stream all copies must have alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from quickdraw.core.grid import Int64
from quickdraw.data.pooled_episodes.options import PooledOptions
from quickdraw.data.pooled_episodes.slots import Shown
from quickdraw.errors import Fault
from quickdraw.video.copying import CopiedStream

CODECS: Final = ("h264", "hevc", "av1")
PIX_FMT: Final = "yuv420p"
ENCODE, LOSSLESS = "+source.video.mode=encode", "+source.depth.mode=lossless"
MOST_NAMED: Final = 3  # pictures a clip can begin at


def copy_faults(shown: Shown, picture: Int64, starts: int, options: PooledOptions, where: str) -> Iterator[Fault]:
    """Why a camera cannot be copied that is to be. `picture` `(T,)` int64 are the pictures that rows show.

    `starts` is the frame that the first picture of depth is of.
    """
    if not is_copied(shown, options):
        return
    option = ENCODE if shown.kind == "rgb" else LOSSLESS
    for found, expected in _reasons(shown, picture, starts, options):
        yield Fault(where, shown.slot, found, expected, path=str(shown.path), option=option)
    if shown.copied and shown.copied.gop > options.video.gop:
        found, expected = (
            f"keyframes {shown.copied.gop} pictures apart",
            f"at most {options.video.gop} where it is copied",
        )
        longer = f"+source.video.gop={shown.copied.gop}"
        yield Fault(where, shown.slot, found, expected, path=str(shown.path), option=longer)


def is_copied(shown: Shown, options: PooledOptions) -> bool:
    """Whether a camera is to be copied."""
    return options.video.mode == "copy" if shown.kind == "rgb" else options.depth.mode == "copy"


def facts(stream: CopiedStream) -> dict[str, Any]:
    """What of a copied stream says how it was coded, JSON-ready."""
    return {
        "codec": stream.codec,
        "pix_fmt": stream.pix_fmt,
        "height_px": stream.height_px,
        "width_px": stream.width_px,
        "gop": stream.gop,
        "reordered": stream.reordered,
        "configuration": stream.configuration,
        "full_range": stream.full_range,
    }


def _reasons(shown: Shown, picture: Int64, starts: int, options: PooledOptions) -> Iterator[tuple[str, str]]:
    """(found, expected) of everything that is in the way."""
    stream = shown.copied
    if stream is None:
        yield "millimetres in FFV1", "logarithmic codes where it is copied"
        return
    yield from _of_colour(shown, stream, options) if shown.kind == "rgb" else _of_depth(stream, starts)
    if stream.reordered:
        yield "pictures shown in another order than decoded (B-frames)", "none where it is copied"
    elif int(picture[0]) not in stream.restarts:
        named = ", ".join(map(str, stream.restarts[:MOST_NAMED])) or "none"
        more = ", ..." if len(stream.restarts) > MOST_NAMED else ""
        expected = f"from a keyframe on that a clip can begin at ({named}{more}) where it is copied"
        yield f"rows that show pictures from {picture[0]} on", expected
    if int(picture[-1]) - int(picture[0]) + 1 != len(picture):
        yield "rows that pass over pictures", "a row for every picture where it is copied"


def _of_colour(shown: Shown, stream: CopiedStream, options: PooledOptions) -> Iterator[tuple[str, str]]:
    if stream.codec not in CODECS or stream.pix_fmt != PIX_FMT:
        yield f"{stream.codec} {stream.pix_fmt}", f"{', '.join(CODECS)} of {PIX_FMT} where it is copied"
    if options.hw and options.hw != (shown.height_px, shown.width_px):
        yield f"{shown.height_px}x{shown.width_px} (height x width)", f"{options.hw[0]}x{options.hw[1]} of +source.hw"


def _of_depth(stream: CopiedStream, starts: int) -> Iterator[tuple[str, str]]:
    if not stream.full_range:
        yield "depth codes not flagged full range (pc)", "full range where they are copied"
    if starts:
        yield f"depth that begins at frame {starts}", "depth from the first frame on where it is copied"
