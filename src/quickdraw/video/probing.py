"""What a file's video streams are, told by the file itself: never by its name, its extension or its slot's name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import av
from av.error import FFmpegError
from av.video.stream import VideoStream

from quickdraw.errors import VideoError
from quickdraw.video.decoding import opened

RANGES: Final = {1: "tv", 2: "pc"}  # AVColorRange -> ffmpeg's names; anything else is not told
NOT_TOLD: Final = "unknown"


@dataclass(frozen=True, slots=True)
class StreamFacts:
    """One video stream of a file.

    `index` counts all streams of the file, video or not, from 0, as `decoding.pictures` takes it. `codec` and `pix_fmt`
    are ffmpeg's names. `fps` is the average, pauses and all, and 0 where it is not told.
    `color_range` is `pc` (full), `tv` (limited) or `unknown`.
    """

    index: int
    codec: str
    pix_fmt: str
    width: int
    height: int
    fps: float
    color_range: str


def streams(path: Path) -> tuple[StreamFacts, ...]:
    """The video streams of a file in its own order, at least one; no picture is decoded.

    Raises VideoError where ffmpeg cannot open the file, it has no video, or does not know what a stream's pictures are.
    """
    with opened(path) as (container, _):
        return tuple(_facts(path, stream) for stream in container.streams.video)


def _facts(path: Path, stream: VideoStream) -> StreamFacts:
    context = stream.codec_context
    if context is None:
        raise VideoError(str(path), f"stream {stream.index}: no decoder is known for it", "a playable video file")
    if not context.pix_fmt:  # a depth stream that cannot be told from colour must not pass for colour
        found = f"stream {stream.index}: {context.name} without a picture that could be read"
        raise VideoError(str(path), found, "a playable video file")
    return StreamFacts(
        index=stream.index,
        codec=context.name,
        pix_fmt=context.pix_fmt,
        width=context.width,
        height=context.height,
        fps=float(stream.average_rate or 0),
        color_range=RANGES.get(int(context.color_range or 0), NOT_TOLD),
    )


def counts(path: Path) -> dict[int, int]:
    """How many pictures each video stream holds, by its `index`, by reading the file through without decoding it.

    A picture is a packet; what the headers claim is not asked. Raises VideoError where the file cannot be read.
    """
    try:
        with av.open(str(path), metadata_errors="replace") as container:
            found = {stream.index: 0 for stream in container.streams.video}
            for packet in container.demux(container.streams.video):
                found[packet.stream.index] += packet.size > 0  # an empty packet ends each stream
    except FFmpegError as error:
        raise VideoError(str(path), f"unreadable ({error.strerror})", "a whole, playable video file") from error
    return found
