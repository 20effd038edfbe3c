"""Pictures counted by demuxing, without decoding one: for files whose headers do not say how many there are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from av.error import FFmpegError

from quickdraw.errors import VideoError
from quickdraw.video.decoding import opened


@dataclass(frozen=True, slots=True)
class Packets:
    """How many pictures a file holds, and how many of them its edit list throws away."""

    count: int
    discarded: int


def count_packets(path: Path) -> Packets:
    """Count the file's pictures. Raises VideoError where it is unreadable."""
    count = discarded = 0
    with opened(path) as (container, stream):
        try:
            for packet in container.demux(stream):
                if packet.size:  # the last one is empty and only ends the stream
                    count += 1
                    discarded += packet.is_discard
        except FFmpegError as error:
            raise VideoError(str(path), f"picture {count}: {error.strerror}", "a readable picture") from error
    return Packets(count, discarded)
