"""Pictures of a file in order: picture k is the k-th decoded one, never the one at some container time.

Header counts, container times and seeking are what other readers duplicate, drop or repeat pictures by; none is used.
A picture the decoder had to conceal damage in is an error, not a picture.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import av
import numpy as np
import numpy.typing as npt
from av.container import InputContainer
from av.error import FFmpegError
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from quickdraw.errors import VideoError

# One thread: tasks are what runs in parallel, and slice threads hide corrupt pictures. `explode` stops at damage
# instead of painting over it.
DECODER = {"err_detect": "+crccheck+bitstream+buffer+explode"}

type Picture = VideoFrame

FORBIDDEN = (b"\0\0\0", b"\0\0\1", b"\0\0\2")


@contextmanager
def opened(path: Path) -> Iterator[tuple[InputContainer, VideoStream]]:
    """The file and its one video stream. Raises VideoError where ffmpeg cannot open it or it has no video."""
    try:
        container = av.open(str(path), metadata_errors="replace")
    except FFmpegError as error:
        raise VideoError(str(path), f"unreadable ({error.strerror})", "a playable video file") from error
    with container:
        if not container.streams.video:
            raise VideoError(str(path), "no video stream", "one video stream")
        stream = container.streams.video[0]
        if stream.codec_context is None:
            raise VideoError(str(path), "a video stream no decoder is known for", "a playable video file")
        stream.thread_type = "NONE"
        stream.codec_context.thread_count = 1
        stream.codec_context.options = DECODER
        yield container, stream


def pictures(path: Path) -> Iterator[Picture]:
    """Every picture of the file, as the decoder gives it.

    Raises VideoError at a damaged picture, at one of another size, and where the file asks to be rotated.
    """
    with opened(path) as (container, stream):
        number, size = 0, None
        try:
            for packet in container.demux(stream):
                _refuse_forged(path, number, packet, stream)
                for frame in stream.decode(packet):
                    size = size or (frame.width, frame.height)
                    _refuse_odd(path, number, frame, size)
                    yield frame
                    number += 1
        except FFmpegError as error:
            raise VideoError(str(path), f"picture {number}: {error.strerror}", "a decodable picture") from error


def _refuse_forged(path: Path, number: int, packet: Packet, stream: VideoStream) -> None:
    """Raise VideoError where an H.264 packet holds bytes that no encoder writes.

    Zeroed bytes, as a lost disk block leaves them, decode to plausible rubbish without a word. But inside a unit of the
    stream 00 00 00, 00 00 01 and 00 00 02 are forbidden (ITU-T H.264, 7.4.1): encoders escape them.
    """
    configuration = bytes(stream.codec_context.extradata or b"")
    if stream.codec_context.name != "h264" or configuration[:1] != b"\x01":  # not H.264 as mp4 stores it
        return
    data, at, prefix = bytes(packet), 0, (configuration[4] & 3) + 1
    while at < len(data):
        start = at + prefix
        at = start + int.from_bytes(data[at:start])
        unit = data[start:at]
        if any(forbidden in unit for forbidden in FORBIDDEN):
            raise VideoError(str(path), f"picture {number}: bytes no encoder writes", "an undamaged picture")


def _refuse_odd(path: Path, number: int, frame: VideoFrame, size: tuple[int, int]) -> None:
    if frame.is_corrupt:
        raise VideoError(str(path), f"picture {number}: flagged corrupt", "an undamaged picture")
    if (frame.width, frame.height) != size:
        found = f"picture {number}: {frame.width}x{frame.height}"
        raise VideoError(str(path), found, f"{size[0]}x{size[1]} like picture 0")
    if frame.rotation:
        raise VideoError(str(path), f"rotation metadata of {frame.rotation} degrees", "pictures stored upright")


def as_rgb(picture: Picture) -> npt.NDArray[np.uint8]:
    """A decoded picture as `(H, W, 3)` uint8 RGB."""
    return np.asarray(picture.to_ndarray(format="rgb24"), np.uint8)
