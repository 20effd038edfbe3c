"""Some pictures of a recording, decoded from the keyframe before them instead of from the first picture."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np
from av.error import FFmpegError

from quickdraw.video.checksums import Packets, read_packets
from quickdraw.video.decoding import Picture, opened, pictures


def recorded_pictures(path: Path, numbers: Collection[int], index: int | None = None) -> Iterator[tuple[int, Picture]]:
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
