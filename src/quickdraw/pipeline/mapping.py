"""The map stage: one task per episode for its rows, one per episode and camera for its pictures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from quickdraw.core.episode import EpisodePlan, FileStamp, Rejected
from quickdraw.core.grid import Int64
from quickdraw.core.statistics import LEVELS, histogram, sampled_frames, sampled_stride
from quickdraw.errors import Fault, InvariantError, Refused, VideoError
from quickdraw.pipeline.fragments import Fragment, digest
from quickdraw.pipeline.source import Source
from quickdraw.video.decoding import rgb_pictures
from quickdraw.video.encoding import Encoding
from quickdraw.video.transcode import transcode


@dataclass(frozen=True, slots=True)
class RowsTask:
    """Read an episode's rows."""

    source: Source
    fragment: Fragment

    @property
    def cost(self) -> int:
        """Camera frames to decode."""
        return 0

    def __call__(self) -> None:
        """Read, digest, keep."""
        plan = self.fragment.plan
        digests = {file: digest(self.source.path(plan.key, file)) for file in plan.row_files}
        rows = self.source.rows(plan)
        refuse_changed(self.source, plan, plan.row_files)
        self.fragment.write_rows(rows, digests)


@dataclass(frozen=True, slots=True)
class PicturesTask:
    """Transcode one camera of an episode, then measure the pictures as they are published."""

    source: Source
    fragment: Fragment
    camera: str
    encoding: Encoding

    @property
    def cost(self) -> int:
        """Camera frames to decode, about."""
        return self.fragment.frames

    def __call__(self) -> None:
        """Digest, transcode, decode the clip, count its colours, keep."""
        plan, clip = self.fragment.plan, self.fragment.clip(self.camera)
        file = plan.videos[self.camera]
        digests = {file: digest(self.source.path(plan.key, file))}
        clip.parent.mkdir(parents=True, exist_ok=True)
        transcode(self.source.frame_plan(plan, self.camera), clip, self.encoding)
        refuse_changed(self.source, plan, [file])
        sampled = sampled_frames(plan.frames)
        try:
            counts = self._count_colours(clip, sampled)
        except VideoError as error:  # the clip is ours, and so is the fault
            raise InvariantError(str(error)) from error
        self.fragment.write_picture_counts(self.camera, counts, len(sampled), digests)

    def _count_colours(self, clip: Path, sampled: Int64) -> Int64:
        """`(3, 256)` int64 pixels per channel and level of the pictures numbered `sampled`."""
        stride = sampled_stride(self.encoding.height_px, self.encoding.width_px)
        counts = np.zeros((3, LEVELS), np.int64)
        for rgb in rgb_pictures(clip, sampled):
            counts += histogram(np.ascontiguousarray(rgb[::stride, ::stride]))
        return counts


def refuse_changed(source: Source, plan: EpisodePlan, files: Iterable[str]) -> None:
    """Raise Refused where a file is no longer the one the episode was planned from."""
    faults = []
    for file in files:
        path, planned = source.path(plan.key, file), plan.stamps[file]
        stat = path.stat()
        if FileStamp(stat.st_size, stat.st_mtime_ns) != planned:
            found = f"changed since it was planned ({planned.bytes} bytes then, {stat.st_size} now)"
            faults.append(Fault(str(plan.key), file, found, "a source left alone while it is built", path=str(path)))
    if faults:
        raise Refused(faults)


type MapTask = RowsTask | PicturesTask


def map_tasks(source: Source, fragments: list[Fragment], encoding: Encoding) -> Iterator[MapTask]:
    """Every task of a build, the longest first, so that all workers are busy to the end."""
    for fragment in sorted(fragments, key=lambda f: (-f.frames, f.plan.key)):
        for camera in source.cameras:
            yield PicturesTask(source, fragment, camera, encoding)
    for fragment in fragments:
        yield RowsTask(source, fragment)


def run_task(task: MapTask) -> int | Rejected:
    """Run a task in a worker: its cost when done, or what is wrong with its episode."""
    key = task.fragment.plan.key
    try:
        task()
    except Refused as refused:
        return Rejected(key, refused.faults)
    except VideoError as error:
        camera = task.camera if isinstance(task, PicturesTask) else "video"
        return Rejected(key, (Fault(str(key), camera, error.found, error.expected, path=error.path),))
    return task.cost
