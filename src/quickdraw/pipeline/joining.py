"""A task that writes one video file. It needs its clips alone: it may run while others are still being encoded."""

from __future__ import annotations

from dataclasses import dataclass

from quickdraw.pipeline.site import Site
from quickdraw.video.join import VideoFile, join


@dataclass(frozen=True, slots=True)
class Written:
    """A task that writes into a dataset is done; so many `rows` were its share."""

    rows: int


@dataclass(frozen=True, slots=True)
class JoinTask:
    """Write one video file of the dataset growing at `site`."""

    site: Site
    file: VideoFile

    def __str__(self) -> str:
        return f"video {self.file.path.relative_to(self.site.dataset)}"

    def __call__(self) -> Written:
        """Join its clips."""
        with self.site.filling(self.file.path.parent) as folder:
            join(self.file.clips, folder / self.file.path.name, self.file.rate_hz)
        return Written(0)
