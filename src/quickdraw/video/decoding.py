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
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from quickdraw.core.grid import Int64
from quickdraw.errors import VideoError

# One thread: tasks are what runs in parallel, and slice threads hide corrupt pictures. `explode` stops at damage
# instead of painting over it.
DECODER = {"err_detect": "+crccheck+bitstream+buffer+explode"}


@contextmanager
def opened(path: Path) -> Iterator[tuple[InputContainer, VideoStream]]:
    """The file and its one video stream. Raises VideoError where ffmpeg cannot open it or it has no video."""
    try:
        container = av.open(str(path))
    except FFmpegError as error:
        raise VideoError(str(path), f"unreadable ({error.strerror})", "a playable video file") from error
    with container:
        if not container.streams.video:
            raise VideoError(str(path), "no video stream", "one video stream")
        stream = container.streams.video[0]
        stream.thread_type = "NONE"
        stream.codec_context.thread_count = 1
        stream.codec_context.options = DECODER
        yield container, stream


def pictures(path: Path) -> Iterator[VideoFrame]:
    """Every picture of the file, as the decoder gives it.

    Raises VideoError at a damaged picture, at one of another size, and where the file asks to be rotated.
    """
    with opened(path) as (container, stream):
        number, size = 0, None
        try:
            for frame in container.decode(stream):
                size = size or (frame.width, frame.height)
                _refuse_odd(path, number, frame, size)
                yield frame
                number += 1
        except FFmpegError as error:
            raise VideoError(str(path), f"picture {number}: {error.strerror}", "a decodable picture") from error


def _refuse_odd(path: Path, number: int, frame: VideoFrame, size: tuple[int, int]) -> None:
    if frame.is_corrupt:
        raise VideoError(str(path), f"picture {number}: flagged corrupt", "an undamaged picture")
    if (frame.width, frame.height) != size:
        found = f"picture {number}: {frame.width}x{frame.height}"
        raise VideoError(str(path), found, f"{size[0]}x{size[1]} like picture 0")
    if frame.rotation:
        raise VideoError(str(path), f"rotation metadata of {frame.rotation} degrees", "pictures stored upright")


def rgb_pictures(path: Path, wanted: Int64) -> Iterator[npt.NDArray[np.uint8]]:
    """The pictures numbered `wanted` `(K,)` int64, ascending, each `(H, W, 3)` uint8 RGB. Decodes the whole file."""
    numbers = set(wanted.tolist())
    for number, frame in enumerate(pictures(path)):
        if number in numbers:
            yield np.asarray(frame.to_ndarray(format="rgb24"), np.uint8)
