"""The map stage: one task per episode for its rows, one per episode and camera for its pictures.

A task digests its source files, names the parts they become by that, and makes those that are not there yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from quickdraw.core.cubes import CubeRule, Track
from quickdraw.core.episode import EpisodeKey, EpisodePlan, Rejected
from quickdraw.errors import Fault, InvariantError, Refused, VideoError
from quickdraw.pipeline.digests import FileDigest, digest, stamp_of
from quickdraw.pipeline.fragments import Fragment, Measured, write_pictures, write_rows, write_track
from quickdraw.pipeline.joining import JoinTask, Written
from quickdraw.pipeline.looking import count_codes, look_at
from quickdraw.pipeline.part_files import CLIP, CLIP_KIND, ROWS_KIND, TRACK, TRACK_KIND, Kind
from quickdraw.pipeline.parts import PartStore, clip_fingerprint, rows_fingerprint, track_fingerprint
from quickdraw.pipeline.published import Published
from quickdraw.pipeline.source import Source
from quickdraw.pipeline.tracking import track_file
from quickdraw.video.filming import Filming, film


@dataclass(frozen=True, slots=True)
class Workshop:
    """What all tasks of a map stage share: where from, how, where to, and what may be had ready-made."""

    source: Source
    encodings: Mapping[str, Filming]
    cubes: CubeRule | None
    store: PartStore
    published: Published

    def lacks(self, part: str, kind: Kind) -> bool:
        """Whether a part has to be made."""
        return not self.store.has_sound(part, kind) and not self.published.hand_on(part, self.store)

    def clip_part(self, plan: EpisodePlan, camera: str, video: FileDigest) -> str:
        """What the clip of a camera is called."""
        return clip_fingerprint(video, plan.frame_digests[camera], self.encodings[camera])

    def clip(self, plan: EpisodePlan, camera: str, digests: Mapping[str, FileDigest]) -> Path:
        """Where the clip of a camera lies, or will."""
        return self.store.folder(self.clip_part(plan, camera, digests[plan.videos[camera]])) / CLIP

    def fragment(self, plan: EpisodePlan, digests: dict[str, FileDigest]) -> Fragment:
        """What an episode becomes, whether it is made yet or not."""
        cameras, rule = self.source.cameras, self.cubes
        clips = {camera: self.clip_part(plan, camera, digests[plan.videos[camera]]) for camera in cameras}
        tracks = {camera: track_fingerprint(clips[camera], rule.thresholds) for camera in rule.cameras} if rule else {}
        depth = tuple(camera for camera in cameras if self.encodings[camera].channels == 1)
        rows = rows_fingerprint(self.source, plan, digests)
        return Fragment(self.store, plan, digests, rows, clips, tracks, depth)

    def digests(
        self, plan: EpisodePlan, files: Iterable[str], known: Mapping[str, FileDigest]
    ) -> dict[str, FileDigest]:
        """The digests of some of an episode's files, read where they are not known. Raises Refused."""
        files = tuple(files)
        try:
            found = {file: known.get(file) or digest(self.source.path(plan.key, file)) for file in files}
        except OSError as error:
            fault = Fault(str(plan.key), "file", f"unreadable ({error.strerror})", "a file", path=str(error.filename))
            raise Refused([fault]) from error
        refuse_changed(self.source, plan, files)
        return found


@dataclass(frozen=True, slots=True)
class Made:
    """A task is done: `cost` pictures were its share; of its `parts` it made `new`, from files of these digests.

    `camera` is whose pictures it was about, None where it was the rows; `clip_bytes` is how large its clip is.
    """

    key: EpisodeKey
    camera: str | None
    cost: int
    parts: int
    new: int
    sources: Mapping[str, FileDigest]
    clip_bytes: int = 0


@dataclass(frozen=True, slots=True)
class RowsTask:
    """Read an episode's rows. `known` are digests of files that have not changed since they were taken."""

    workshop: Workshop
    plan: EpisodePlan
    known: Mapping[str, FileDigest]

    def __str__(self) -> str:
        return f"rows of {self.plan.key}"

    @property
    def cost(self) -> int:
        """Camera frames to decode."""
        return 0

    def __call__(self) -> Made:
        """Digest, read, keep."""
        shop, plan = self.workshop, self.plan
        digests = shop.digests(plan, plan.row_files, self.known)
        part = rows_fingerprint(shop.source, plan, digests)
        new = shop.lacks(part, ROWS_KIND)
        if new:
            rows = shop.source.rows(plan)
            refuse_changed(shop.source, plan, plan.row_files)
            shop.store.make(part, lambda folder: write_rows(folder, part, rows))
        return Made(plan.key, None, self.cost, 1, int(new), digests)


@dataclass(frozen=True, slots=True)
class PicturesTask:
    """Transcode one camera of an episode, then measure the pictures as they are published.

    Cubes are measured where the workshop says how and the camera is one of theirs.
    """

    workshop: Workshop
    plan: EpisodePlan
    camera: str
    known: Mapping[str, FileDigest]

    def __str__(self) -> str:
        return f"{self.camera} of {self.plan.key}"

    @property
    def cost(self) -> int:
        """Camera frames to decode, about."""
        return self.plan.frames

    def __call__(self) -> Made:
        """Digest; transcode, count the clip's colours and look for cubes in it."""
        shop, plan, video = self.workshop, self.plan, self.plan.videos[self.camera]
        digests = shop.digests(plan, [video], self.known)
        clip = shop.clip_part(plan, self.camera, digests[video])
        rule = shop.cubes if shop.cubes and self.camera in shop.cubes.cameras else None
        track, new = None, 0
        if shop.lacks(clip, CLIP_KIND):
            track = shop.store.make(clip, partial(self._film, clip, rule))
            new += 1
        if rule and shop.lacks(part := track_fingerprint(clip, rule.thresholds), TRACK_KIND):
            shop.store.make(part, partial(self._file, part, track, shop.store.folder(clip) / CLIP, rule))
            new += 1
        size = (shop.store.folder(clip) / CLIP).stat().st_size
        return Made(plan.key, self.camera, self.cost, 1 + (rule is not None), new, digests, size)

    def _film(self, part: str, rule: CubeRule | None, folder: Path) -> Track | None:
        """Make a clip; the cubes that were seen in it meanwhile."""
        clip, source, plan = folder / CLIP, self.workshop.source, self.plan
        encoding, track = self.workshop.encodings[self.camera], None
        beyond_px = film(source.frame_plan(plan, self.camera), clip, encoding)
        refuse_changed(source, plan, [plan.videos[self.camera], *plan.row_files])  # the frame plan is of those
        with _ours():
            if encoding.channels == 1:
                counted = count_codes(clip, plan.frames)
            else:
                counted, track = look_at(clip, plan.frames, rule.thresholds if rule else None)
            write_pictures(clip, part, Measured(counted.counts, counted.pictures, encoding.levels, beyond_px))
        return track

    def _file(self, part: str, track: Track | None, clip: Path, rule: CubeRule, folder: Path) -> None:
        """Keep the cubes; in a clip that was ready-made they have not been looked for yet."""
        with _ours():
            (track,) = [track] if track else track_file(clip, [self.plan.frames], rule.thresholds)
        write_track(folder / TRACK, part, track)


@contextmanager
def _ours() -> Iterator[None]:
    """A clip is ours: what is wrong with it is our fault."""
    try:
        yield
    except VideoError as error:
        raise InvariantError(str(error)) from error


def refuse_changed(source: Source, plan: EpisodePlan, files: Iterable[str]) -> None:
    """Raise Refused where a file is no longer the one the episode was planned from."""
    faults = []
    for file in files:
        path, planned = source.path(plan.key, file), plan.stamps[file]
        now = stamp_of(path) if path.exists() else None
        if now != planned:
            size = f"{now.bytes} now" if now else "gone now"
            found = f"changed since it was planned ({planned.bytes} bytes then, {size})"
            faults.append(Fault(str(plan.key), file, found, "a source left alone while it is built", path=str(path)))
    if faults:
        raise Refused(faults)


type MapTask = RowsTask | PicturesTask
type Digests = dict[EpisodeKey, dict[str, FileDigest]]


def map_tasks(
    workshop: Workshop, plans: Mapping[EpisodeKey, EpisodePlan], lengths: Mapping[EpisodeKey, int], known: Digests
) -> Iterator[MapTask]:
    """Every task of a build, the longest first, so that all workers are busy to the end; cubes take time too."""
    longest_first = sorted(plans, key=lambda key: (-lengths[key], key))
    cubed = workshop.cubes.cameras if workshop.cubes else ()
    cameras = sorted(workshop.source.cameras, key=lambda camera: camera not in cubed)
    for key in longest_first:
        plan = plans[key]
        for camera in cameras:
            yield PicturesTask(workshop, plan, camera, dict(known[key]))  # a copy: it is sent while results come in
    for key in longest_first:
        yield RowsTask(workshop, plans[key], dict(known[key]))


def run_task(task: MapTask | JoinTask) -> Made | Rejected | Written:
    """Run a task in a worker: what it was made from, or what is wrong with its episode."""
    if isinstance(task, JoinTask):
        return task()
    key = task.plan.key
    try:
        return task()
    except Refused as refused:
        return Rejected(key, refused.faults)
    except VideoError as error:
        camera = task.camera if isinstance(task, PicturesTask) else "video"
        return Rejected(key, (Fault(str(key), camera, error.found, error.expected, path=error.path),))
