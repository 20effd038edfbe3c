"""A task that writes one video file. It needs its clips alone: it may run while others are still being encoded."""

from __future__ import annotations

from dataclasses import dataclass

from quickdraw.video.join import VideoFile


@dataclass(frozen=True, slots=True)
class Written:
    """A task that writes into a dataset is done; so many `rows` were its share."""

    rows: int


@dataclass(frozen=True, slots=True)
class JoinTask:
    """Write one video file."""

    file: VideoFile

    def __call__(self) -> Written:
        """Join its clips."""
        self.file.write()
        return Written(0)
