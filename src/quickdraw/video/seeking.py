"""Some pictures of a file, decoded from the keyframe before them instead of from the first picture.

By rank, where anyone may have made the file and no time in it is trusted; by time, for a look at evenly timed ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import numpy as np
from av.error import FFmpegError

from quickdraw.errors import VideoError
from quickdraw.video.checksums import Packets, read_packets
from quickdraw.video.decoding import Picture, opened, pictures


def pictures_by_rank(path: Path, numbers: Collection[int], index: int | None = None) -> Iterator[tuple[int, Picture]]:
    """Pictures of a file of anyone's making, each with its number as `decoding.pictures` counts them.

    A picture's number is the rank of its time, for recordings are stored in another order than they are shown in. Where
    times don't tell, or no keyframe is found to begin at, all is decoded up to the last that is wanted. Numbers that
    the file does not hold are passed over. Raises VideoError where the file is damaged.
    """
    left = set(numbers)
    for number, picture in _sought(path, sorted(left), index):
        left.discard(number)
        yield number, picture
    if not left:
        return
    last = max(left)
    for number, picture in enumerate(pictures(path, index)):
        if number in left:
            yield number, picture
        if number >= last:
            return


def _sought(path: Path, numbers: list[int], index: int | None) -> Iterator[tuple[int, Picture]]:
    """As many of the pictures as are to be had this way."""
    packets = read_packets(path, index)
    times = np.sort(packets.pts)
    if not _tells(packets) or not numbers or numbers[-1] >= len(times):
        return
    waiting = {int(times[number]): number for number in numbers}
    with opened(path, index) as (container, stream):
        try:
            container.seek(int(times[numbers[0]]), stream=stream, backward=True)
            for packet in container.demux(stream):
                # What nobody asked for and no other picture is made from is not decoded.
                stream.codec_context.skip_frame = "DEFAULT" if packet.pts in waiting else "NONREF"
                for frame in stream.decode(packet):
                    if frame.is_corrupt:
                        return
                    if frame.pts in waiting:
                        yield waiting.pop(frame.pts), frame
                if not waiting:
                    return
        except FFmpegError:
            return


def _tells(packets: Packets) -> bool:
    """Whether each picture has a time of its own, and all are shown."""
    none = bool((packets.pts == np.iinfo(np.int64).min).any())
    return not none and not packets.discarded and len(np.unique(packets.pts)) == len(packets.pts)


def pictures_by_time(path: Path, numbers: Iterable[int], rate_hz: float) -> Iterator[Picture]:
    """The pictures of those numbers, in the order asked for; picture k is the one at `k / rate_hz` seconds.

    For a look: what is to be proven is read by rank, or by `decoding`. Raises VideoError where the file has no picture
    at such a time, or cannot be decoded there.
    """
    with opened(path) as (container, stream):
        for number in numbers:
            # Half a picture early, so that no rounding of the time can miss it.
            least_s = (number - 0.5) / rate_hz
            try:
                container.seek(max(0, int(least_s * 1e6)))
                found = next((each for each in container.decode(stream) if (each.time or 0.0) >= least_s), None)
            except FFmpegError as error:
                raise VideoError(str(path), f"picture {number}: {error.strerror}", "a decodable picture") from error
            if found is None or (found.time or 0.0) > least_s + 1 / rate_hz:
                raise VideoError(str(path), f"no picture at {number / rate_hz:.3f} s", f"picture {number}")
            yield found
