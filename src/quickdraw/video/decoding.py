"""Pictures of a file in order: picture k is the k-th decoded one, never the one at some container time.

Header counts, container times and seeking are what other readers duplicate, drop or repeat pictures by; none is used.
A picture the decoder had to conceal damage in is an error, not a picture.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import av
import numpy as np
import numpy.typing as npt
from av.container import InputContainer
from av.error import FFmpegError
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.reformatter import VideoReformatter
from av.video.stream import VideoStream

from quickdraw.errors import VideoError
from quickdraw.video.ffv1_slices import is_intact

# One thread: tasks are what runs in parallel, and slice threads hide corrupt pictures. `explode` stops at damage
# instead of painting over it.
DECODER = {"err_detect": "+crccheck+bitstream+buffer+explode"}

type Picture = VideoFrame
type Rgb = npt.NDArray[np.uint8]
type Gray = npt.NDArray[np.uint16]

FORBIDDEN = re.compile(rb"\0\0[\0-\2]")
# Where an MP4's configuration of the codec says how many bytes a unit's length takes (ISO/IEC 14496-15, 5.3 and 8.3).
LENGTH_SIZE_AT = {"h264": 4, "hevc": 21}


@contextmanager
def opened(path: Path, index: int | None = None) -> Iterator[tuple[InputContainer, VideoStream]]:
    """The file and its first video stream, or the one that is its stream number `index`, counted over all streams.

    Raises VideoError where ffmpeg cannot open it or it has no such video.
    """
    try:
        container = av.open(str(path), metadata_errors="replace")
    except FFmpegError as error:
        raise VideoError(str(path), f"unreadable ({error.strerror})", "a playable video file") from error
    with container:
        if not container.streams.video:
            raise VideoError(str(path), "no video stream", "one video stream")
        chosen = [each for each in container.streams.video if index in (None, each.index)]
        if not chosen:
            raise VideoError(str(path), f"no video in stream {index}", "a video stream of that number")
        stream = chosen[0]
        if stream.codec_context is None:
            raise VideoError(str(path), "a video stream no decoder is known for", "a playable video file")
        stream.thread_type = "NONE"
        stream.codec_context.thread_count = 1
        stream.codec_context.options = DECODER
        yield container, stream


def pictures(path: Path, index: int | None = None) -> Iterator[Picture]:
    """Every picture of the file's first video stream, or of its stream number `index`, as the decoder gives it.

    Raises VideoError at a damaged picture, at one of another size, and where the file asks to be rotated.
    """
    with opened(path, index) as (container, stream):
        number, size, checksums = 0, None, _Checksums(path, stream)
        try:
            for packet in container.demux(stream):
                _refuse_forged(path, number, packet, stream)
                checksums.refuse_concealed(number, packet)
                for frame in stream.decode(packet):
                    size = size or (frame.width, frame.height)
                    _refuse_odd(path, number, frame, size)
                    yield frame
                    number += 1
        except FFmpegError as error:
            raise VideoError(str(path), f"picture {number}: {error.strerror}", "a decodable picture") from error


def pictures_at(path: Path, numbers: Collection[int]) -> Iterator[tuple[int, Picture]]:
    """Some pictures of one of our clips, each with its number, in order; little else is decoded.

    Our clips do not reorder pictures and predict none across a keyframe, so that a picture needs those from the last
    keyframe on, and the others may be passed over. Numbers that the clip does not hold are passed over too. Raises
    VideoError where what is needed is damaged.
    """
    wanted, number_of, waiting, number = frozenset(numbers), dict[int | None, int](), list[Packet](), 0
    with opened(path) as (container, stream):
        try:
            for number, packet in enumerate(container.demux(stream)):
                is_end = packet.dts is None  # an empty packet, which asks for what is still held back
                if packet.is_keyframe or is_end:
                    waiting.clear()
                waiting.append(packet)
                if number in wanted:
                    number_of[packet.pts] = number
                elif not is_end:
                    continue
                for frame in (frame for each in waiting for frame in stream.decode(each)):
                    if frame.pts in number_of:
                        _refuse_odd(path, number, frame, (stream.width, stream.height))
                        yield number_of.pop(frame.pts), frame
                waiting.clear()
        except FFmpegError as error:
            raise VideoError(str(path), f"picture {number}: {error.strerror}", "a decodable picture") from error


def _refuse_forged(path: Path, number: int, packet: Packet, stream: VideoStream) -> None:
    """Raise VideoError where a packet of H.264 or HEVC holds bytes that no encoder writes.

    Zeroed bytes, as a lost disk block leaves them, decode to plausible rubbish without a word. But inside a unit of the
    stream 00 00 00, 00 00 01 and 00 00 02 are forbidden (ITU-T H.264, 7.4.1; H.265, 7.4.2): encoders escape them.
    """
    configuration = bytes(stream.codec_context.extradata or b"")
    known = LENGTH_SIZE_AT.get(stream.codec_context.name)
    if known is None or configuration[:1] != b"\x01" or len(configuration) <= known:  # not as mp4 stores them
        return
    data, at, prefix = memoryview(packet), 0, (configuration[known] & 3) + 1
    while at < len(data):
        start = at + prefix
        at = start + int.from_bytes(data[at:start])
        if FORBIDDEN.search(data, start, at):
            raise VideoError(str(path), f"picture {number}: bytes no encoder writes", "an undamaged picture")


class _Checksums:
    """What refuses a slice of FFV1 that fails its checksum, for the decoder copies an older one there, in silence."""

    def __init__(self, path: Path, stream: VideoStream) -> None:
        self._path, self._index, self._asked = path, stream.index, stream.codec_context.name == "ffv1"

    def refuse_concealed(self, number: int, packet: Packet) -> None:
        """Raise VideoError where a packet is damaged. A file none of whose packets passes carries no checksums."""
        if not self._asked or not packet.size or is_intact(bytes(packet)):
            return
        with opened(self._path, self._index) as (container, stream):
            self._asked = any(is_intact(bytes(each)) for each in container.demux(stream))
        if self._asked:
            raise VideoError(str(self._path), f"picture {number}: a checksum that is wrong", "an undamaged picture")


def _refuse_odd(path: Path, number: int, frame: VideoFrame, size: tuple[int, int]) -> None:
    if frame.is_corrupt:
        raise VideoError(str(path), f"picture {number}: flagged corrupt", "an undamaged picture")
    if (frame.width, frame.height) != size:
        found = f"picture {number}: {frame.width}x{frame.height}"
        raise VideoError(str(path), found, f"{size[0]}x{size[1]} like picture 0")
    if frame.rotation:
        raise VideoError(str(path), f"rotation metadata of {frame.rotation} degrees", "pictures stored upright")


_TO_RGB = VideoReformatter()  # one for all pictures: making a scaler takes as long as converting one


def as_rgb(picture: Picture) -> Rgb:
    """A decoded picture as `(H, W, 3)` uint8 RGB."""
    return np.asarray(_TO_RGB.reformat(picture, format="rgb24").to_ndarray(), np.uint8)


def as_gray(picture: Picture) -> Gray:
    """A decoded picture of one 12- or 16-bit gray plane as `(H, W)` uint16: the stored samples, unscaled."""
    if picture.format.name not in ("gray12le", "gray16le"):
        raise ValueError(f"a picture of {picture.format.name}, no gray of 12 or 16 bits")
    return np.asarray(picture.to_ndarray(), np.uint16)
