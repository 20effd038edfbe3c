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
MOST_STEADY: Final = 0.45  # of one, where that is less than what rounding does
ROUNDED_S: Final = 1.05e-3  # by which a step of an mkv's times is off, which are whole ms
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

    def rate(self, near_hz: float) -> tuple[float, float]:
        """Pictures a second, zeros where no two times are told, and the share of that by which rounding may put it off.

        By their usual step, which pauses do not change, or on the average, which jitter does not: what is nearer.
        """
        steps_s = np.diff(self.at_s[np.isfinite(self.at_s)])
        usual_s = steps_s[np.abs(steps_s - np.median(steps_s)) <= ROUNDED_S] if len(steps_s) else steps_s
        found = [(len(some) / some.sum(), ROUNDED_S / some.sum()) for some in (usual_s, steps_s) if some.sum() > 0]
        return min(found, key=lambda each: abs(each[0] - near_hz), default=(0.0, 0.0))

    def are_counted(self, rate_hz: int) -> bool:
        """Whether all are whole frames apart, as of one who counted them; those that jitter are a camera's own."""
        steps = np.diff(self.at_s) * rate_hz
        most = min(max(STEADY, ROUNDED_S * rate_hz), MOST_STEADY)
        return bool((np.abs(steps - np.rint(steps)) <= most).all())  # not where a time is not told

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
