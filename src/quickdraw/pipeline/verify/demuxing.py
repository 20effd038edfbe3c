"""A video file demuxed once, the clips of its episodes beside it: what packets tell, and nothing decoded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from quickdraw.core.grid import Int64
from quickdraw.errors import VideoError
from quickdraw.pipeline.places import CLIP_PLACE
from quickdraw.pipeline.verify.dataset_view import DatasetView
from quickdraw.pipeline.verify.split_view import SplitView, VideoPart
from quickdraw.video.checksums import Packets, packet_crcs, read_packets


@dataclass(frozen=True, slots=True)
class Clip:
    """The clip of an episode, whose pictures a file shows from picture `begun` to before `end`."""

    path: Path
    begun: int
    end: int


@dataclass(frozen=True, slots=True)
class DemuxTask:
    """Demux a video file, and the clips of its episodes."""

    path: Path
    clips: tuple[Clip, ...]


@dataclass(frozen=True, slots=True)
class Compared:
    """A clip against the file that shows it: its `pictures`; how many are `wrong` there, and the `first` of them.

    Where there is not the right number of them, or the file cannot be demuxed, none is compared.
    """

    path: Path
    pictures: int
    wrong: int
    first: int


@dataclass(frozen=True, slots=True)
class Demuxed:
    """What was found in a file, and of the clips of its episodes, in their order."""

    found: Packets | VideoError
    clips: tuple[Compared | VideoError, ...]

    def packets(self) -> Packets:
        """The file's packets. Raises VideoError."""
        if isinstance(self.found, VideoError):
            raise self.found
        return self.found


def demux(task: DemuxTask) -> Demuxed:
    """Demux a file; of its clips only what differs is kept."""
    found: Packets | VideoError
    try:
        found = read_packets(task.path)
        shown = crcs_of_rows(found, max((clip.end for clip in task.clips), default=0))
    except VideoError as error:
        found, shown = error, None
    return Demuxed(found, tuple(_compared(clip, shown) for clip in task.clips))


def _compared(clip: Clip, shown: Int64 | None) -> Compared | VideoError:
    try:
        crcs = packet_crcs(clip.path).astype(np.int64)
    except VideoError as error:
        return error
    if shown is None or len(crcs) != clip.end - clip.begun:
        return Compared(clip.path, len(crcs), 0, 0)
    wrong = np.flatnonzero(crcs != shown[clip.begun : clip.end])
    return Compared(clip.path, len(crcs), wrong.size, int(wrong[0]) if wrong.size else 0)


def crcs_of_rows(packets: Packets, pictures: int) -> Int64:
    """CRC of the picture each of `pictures` rows shows, `(pictures,)` int64; -1 where the file has ended."""
    crcs = np.full(pictures, -1, np.int64)
    held = packets.crcs[:pictures]
    crcs[: len(held)] = held
    return crcs


def demux_task(dataset: DatasetView, split: SplitView, part: VideoPart) -> DemuxTask:
    """What is to be demuxed of a video file and its episodes' clips, where there are any."""
    clips, begun = list[Clip](), 0
    for entry in part.entries if (dataset.root / "media").is_dir() else ():
        path = dataset.root / CLIP_PLACE.format(camera=part.camera, split=split.name, number=entry.number)
        clips.append(Clip(path, begun, begun + entry.length))
        begun += entry.length
    return DemuxTask(part.path, tuple(clips))
