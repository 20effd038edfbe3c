"""When the pictures of a file are shown: what tells of pictures that were lost in its middle, which nothing else does.

Picture k stays the k-th decoded one. No row is chosen by these times: they only say whether one is missing, and where.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from av.error import FFmpegError
from av.video.stream import VideoStream

from quickdraw.core.grid import Float64
from quickdraw.errors import VideoError
from quickdraw.video.container import ContainerHeader
from quickdraw.video.decoding import opened

TOLERANCE: Final = 0.5  # of a frame, by which a picture may be late or early
STEADY: Final = 0.15  # of a frame, by which the times of a writer that counts frames are off at most
DURATION: Final = re.compile(r"(\d+):(\d\d):(\d\d\.\d+)")  # as ffmpeg tells that of each track of an mkv


@dataclass(frozen=True, slots=True)
class Times:
    """When each picture of a stream is shown, `at_s` `(N,)` float64 [s], rising; not numbers, and last, where not told.

    `end_s` is when the stream ends as the file tells, not a number where it does not.
    """

    at_s: Float64
    end_s: float = np.nan

    def __len__(self) -> int:
        return len(self.at_s)

    def uneven(self, rate_hz: int) -> int | None:
        """The first picture that is not shown a frame's time after the one before, within half of one."""
        steps = np.diff(self.at_s) * rate_hz
        odd = np.flatnonzero(~(np.abs(steps - 1) <= TOLERANCE))  # and where a time is not told
        return int(odd[0]) + 1 if len(odd) else None

    def lost(self, rate_hz: int) -> int | None:
        """The first picture before which whole frames are missing, where all other times are those of counted frames.

        Times that jitter are a camera's own and tell nothing; those that do not, of whoever numbered its frames.
        """
        steps = np.diff(self.at_s) * rate_hz
        frames = np.rint(steps)
        if not (np.abs(steps - frames) <= STEADY).all():  # nor where a time is not told
            return None
        holes = np.flatnonzero(frames > 1)
        return int(holes[0]) + 1 if len(holes) else None

    def begins(self, frame: int, rate_hz: int) -> bool:
        """Whether the first picture is shown when a frame is due, within half of one."""
        return bool(abs(self.at_s[0] * rate_hz - frame) <= TOLERANCE)

    def is_cut(self, rate_hz: int) -> bool:
        """Whether the stream should go on for half a frame or more after its last picture."""
        return bool((self.end_s - self.at_s[-1]) * rate_hz > 1 + TOLERANCE)


def times_of(path: Path, stream: int, header: ContainerHeader | None) -> Times:
    """When the pictures of a file's stream of that number are shown.

    Of an mp4, whose `header` it is, by its own table, which costs no time; else the file is read through, and nothing
    is decoded. Raises VideoError where it cannot be read.
    """
    if stream == 0 and header is not None and header.samples.count and not header.is_fragmented:
        return Times(header.samples.shown_s() + header.start_s)
    with opened(path, stream) as (container, video):
        try:
            ticks = [packet.pts for packet in container.demux(video) if packet.size]  # an empty one ends the stream
        except FFmpegError as error:
            raise VideoError(str(path), f"unreadable ({error.strerror})", "a whole, playable video file") from error
        return read_times(ticks, video)


def read_times(ticks: Iterable[int | None], video: VideoStream) -> Times:
    """Times of pictures of an open stream that was read through; None where one is not told."""
    tick_s = float(video.time_base or np.nan)
    at_s = np.sort(np.array([np.nan if each is None else each * tick_s for each in ticks], np.float64))
    told = DURATION.fullmatch(video.metadata.get("DURATION", ""))
    return Times(at_s, int(told[1]) * 3600 + int(told[2]) * 60 + float(told[3]) if told else np.nan)
