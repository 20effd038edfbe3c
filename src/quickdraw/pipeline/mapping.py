"""The map stage: one task per episode for its rows, one per episode and camera for its pictures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from quickdraw.core.cubes import CubeRule
from quickdraw.core.episode import EpisodePlan, FileStamp, Rejected
from quickdraw.core.statistics import LEVELS, histogram, sampled_frames, sampled_stride
from quickdraw.errors import Fault, InvariantError, Refused, VideoError
from quickdraw.pipeline.fragments import Fragment, digest
from quickdraw.pipeline.source import Source
from quickdraw.pipeline.tracking import STRIDE, HueSurvey
from quickdraw.video.decoding import as_rgb, pictures
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
    """Transcode one camera of an episode, then measure the pictures as they are published.

    Cubes are measured where `cubes` says how and the camera is one of theirs.
    """

    source: Source
    fragment: Fragment
    camera: str
    encoding: Encoding
    cubes: CubeRule | None

    @property
    def cost(self) -> int:
        """Camera frames to decode, about."""
        return self.fragment.frames

    def __call__(self) -> None:
        """Digest, transcode, decode the clip, count its colours, look for cubes, keep."""
        plan, clip = self.fragment.plan, self.fragment.clip(self.camera)
        file = plan.videos[self.camera]
        digests = {file: digest(self.source.path(plan.key, file))}
        clip.parent.mkdir(parents=True, exist_ok=True)
        transcode(self.source.frame_plan(plan, self.camera), clip, self.encoding)
        refuse_changed(self.source, plan, [file])
        try:
            self._read_back(clip, digests)
        except VideoError as error:  # the clip is ours, and so is the fault
            raise InvariantError(str(error)) from error

    def _read_back(self, clip: Path, digests: Mapping[str, Any]) -> None:
        """Count colours in the pictures lerobot would sample, and follow the cubes through all of them."""
        sampled = set(sampled_frames(self.fragment.frames).tolist())
        stride = sampled_stride(self.encoding.height_px, self.encoding.width_px)
        rule = self.cubes if self.cubes and self.camera in self.cubes.cameras else None
        survey = HueSurvey(rule.thresholds) if rule else None
        counts = np.zeros((3, LEVELS), np.int64)
        for number, picture in enumerate(pictures(clip)):
            if number in sampled:
                counts += histogram(np.ascontiguousarray(as_rgb(picture)[::stride, ::stride]))
            if survey and number % STRIDE == 0:
                survey.add(as_rgb(picture))
        if survey:
            self.fragment.write_track(self.camera, survey.learnt().follow(pictures(clip), self.fragment.frames))
        self.fragment.write_picture_counts(self.camera, counts, len(sampled), digests)


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


def map_tasks(
    source: Source, fragments: list[Fragment], encoding: Encoding, cubes: CubeRule | None
) -> Iterator[MapTask]:
    """Every task of a build, the longest first, so that all workers are busy to the end."""
    for fragment in sorted(fragments, key=lambda f: (-f.frames, f.plan.key)):
        for camera in source.cameras:
            yield PicturesTask(source, fragment, camera, encoding, cubes)
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
