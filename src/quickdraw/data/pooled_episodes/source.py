"""pooled_episodes: episodes of pooled tasks as they were recorded, frame by frame (contract pooled_episodes_v1).

The rows are the recorded frames, nothing is resampled, and row k shows picture k. What the episodes hold decides which
features a dataset has: those are settled when all are planned, and a source that is not settled has none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy.typing as npt

from quickdraw.core.episode import DepthPlan, EpisodeKey, EpisodePlan, FileStamp, FramePlan, Rejected
from quickdraw.core.features import FeatureSpec
from quickdraw.data.pooled_episodes import features, listing
from quickdraw.data.pooled_episodes.episode_plan import pictures_of
from quickdraw.data.pooled_episodes.frames import Frames, keep, read_keys, take
from quickdraw.data.pooled_episodes.listing import TaskEpisodes, number_and_piece, root_of
from quickdraw.data.pooled_episodes.options import PooledOptions
from quickdraw.data.pooled_episodes.planner import Planner
from quickdraw.data.pooled_episodes.settling import Settled, settle
from quickdraw.data.pooled_episodes.task_folders import TaskFolder, task_folder
from quickdraw.errors import Fault, Refused, VideoError, Words
from quickdraw.formats.pooled.depth import open_depth
from quickdraw.formats.pooled.info import recognise
from quickdraw.formats.pooled.reader import Episode
from quickdraw.formats.pooled.row_tables import is_shard, read_table
from quickdraw.formats.pooled.scan import EpisodeFiles

PLAN_VERSION = 3  # raised when the same recording is planned otherwise than before
COMPOSING = ("clocks", "state", "action")  # options that only rows depend on, and no plan
SAMPLING = ("max_gap_s", "imu_mode", "imu_samples", "force_matrices")  # options that both depend on
LEFT_ALONE = "a source left alone while it is built"


@dataclass(frozen=True, slots=True)
class PooledEpisodes:
    """A recordings root, or one task, as a source of episodes; `settled` is what all of them together come to."""

    tree: Path
    options: PooledOptions
    settled: Settled | None = None

    processor = "pooled_episodes"
    version = 1  # raised when the same recording becomes other rows than before
    robot_type = "pooled_episodes"
    words = Words("task", "episode", "task/episode_000012")

    @property
    def rate_hz(self) -> int:
        """Frames a second of every task."""
        return self.options.target_hz

    @property
    def features(self) -> tuple[FeatureSpec, ...]:
        """What a row has besides pictures; none before it is settled."""
        return self.settled.features(self.options) if self.settled else ()

    @property
    def cameras(self) -> tuple[str, ...]:
        """What a row shows, colour before depth; none before it is settled."""
        return tuple(name for name, *_ in self.settled.cameras) if self.settled else ()

    def campaigns(self) -> list[str]:
        """Names of the tasks. Raises Refused where there is none."""
        return listing.task_names(self.tree)

    def campaign(self, name: str) -> TaskEpisodes:
        """The episodes of one task, or their pieces."""
        return listing.episodes_of(self.tree, name, self.options)

    def path(self, key: EpisodeKey, file: str) -> Path:
        """A file of an episode, from its name in `EpisodePlan.stamps`: relative to its task's folder."""
        return root_of(self.tree, key.campaign) / file

    def planning(self) -> Mapping[str, Any]:
        """Every option but those that only put features together."""
        return {"version": PLAN_VERSION, "options": self._options(lambda name: name not in COMPOSING)}

    def reading(self) -> Mapping[str, Any]:
        """How samples become rows, and which features these are; what their dimensions are called is no matter."""
        options = self._options(lambda name: name in (*SAMPLING, *COMPOSING))
        return {"options": options, "features": {each.name: [each.dtype, each.width] for each in self.features}}

    def _options(self, wanted: Callable[[str], bool]) -> dict[str, Any]:
        return {name: value for name, value in self.options.flat().items() if wanted(name)}

    def settled_by(self, plans: Iterable[EpisodePlan]) -> PooledEpisodes:
        """The same with what these episodes come to, whatever it was settled by. Raises Refused."""
        return replace(self, settled=settle(plans, self.options))

    def notes(self) -> tuple[str, ...]:
        """What was found when features were settled."""
        return tuple(self.settled.notes) if self.settled else ()

    def looks(self, key: EpisodeKey) -> str:
        """Stands for size and time of every file that `plan` reads, or that there is none."""
        try:
            folder = task_folder(root_of(self.tree, key.campaign))
            number, _ = number_and_piece(key.run)
        except (Refused, ValueError):
            return ""
        files = folder.found.get(number) or EpisodeFiles(number)
        return _digest(_stamps(folder, files), folder)

    def plan(self, key: EpisodeKey) -> EpisodePlan | Rejected:
        """What the episode would become, from its key columns, its samples and video headers; no picture is decoded."""
        try:
            return self._planned(key)
        except Refused as refused:
            return Rejected(key, tuple(replace(fault, where=str(key)) for fault in refused.faults))
        except VideoError as error:
            return Rejected(key, (Fault(str(key), "video", error.found, error.expected, path=error.path),))
        except OSError as error:
            found = f"unreadable ({error.strerror})"
            return Rejected(key, (Fault(str(key), "file", found, "a readable file", path=str(error.filename)),))

    def _planned(self, key: EpisodeKey) -> EpisodePlan | Rejected:
        folder, number, piece, files = self._found(key)
        stamps = _stamps(folder, files)  # taken first: a change while reading must show
        planner = Planner(
            key=key,
            piece=piece,
            episode=Episode(folder.info, number, files),
            folder=folder,
            options=self.options,
            stamps=stamps,
            row_file=_row_file(folder, number, stamps),
            looks=_digest(stamps, folder),
        )
        found = _unless_replaced(planner, lambda: _stamps(folder, files) != stamps)
        if found is not None:
            return found
        path = str(folder.info.layout.data(number))
        return Rejected(key, (Fault(str(key), "file", "replaced while it was read", LEFT_ALONE, path=path),))

    def rows(self, plan: EpisodePlan) -> Mapping[str, npt.NDArray[Any]]:
        """Feature name -> `(T, D)` of a planned episode, in the feature's dtype. Raises Refused.

        Raises ValueError where the source is not settled.
        """
        if self.settled is None:
            raise ValueError("rows of a source whose features are not settled")
        episode = self._episode(plan.key)
        scales = {column: (int(scale), str(source)) for column, (scale, source) in plan.reading["scales"].items()}
        found = features.read(episode, self._frames(plan, episode), self.options, self.settled, scales)
        for array in found.values():
            array.setflags(write=False)
        return found

    def frame_plan(self, plan: EpisodePlan, camera: str) -> FramePlan | DepthPlan:
        """Which picture of the camera's file each row shows. Raises Refused; VideoError where the file is damaged."""
        frames = self._frames(plan, self._episode(plan.key))
        path, held = self.path(plan.key, plan.videos[camera]), plan.holds["cameras"][camera]
        kind, pictures = held["kind"], int(held["pictures"])
        index = pictures_of(kind, frames, int(held["starts"]))
        index.setflags(write=False)
        if kind == "rgb":
            return FramePlan(path, index, pictures)
        depth = open_depth(path)
        if depth is None:
            raise VideoError(str(path), "colour", "depth, as it was planned")
        if self.options.depth.mode == "copy":
            return FramePlan(path, index, pictures, depth.index)
        return DepthPlan(path, index, pictures, depth.frames)

    def _found(self, key: EpisodeKey) -> tuple[TaskFolder, int, int, EpisodeFiles]:
        """The task of an episode, its number, its piece and its files. Raises Refused where it has none."""
        folder = task_folder(root_of(self.tree, key.campaign))
        path = str(folder.info.layout.root)
        try:
            number, piece = number_and_piece(key.run)
        except ValueError:
            fault = Fault(str(key), "episode", repr(key.run), "a name as episode_000012", path=path)
            raise Refused([fault]) from None
        files = folder.found.get(number)
        if files is None:
            raise Refused([Fault(str(key), "episode", "none of its files", LEFT_ALONE, path=path)])
        return folder, number, piece, files

    def _episode(self, key: EpisodeKey) -> Episode:
        folder, number, _, files = self._found(key)
        return Episode(folder.info, number, files)

    def _frames(self, plan: EpisodePlan, episode: Episode) -> Frames:
        """The frames that were planned, found again."""
        keys, told = read_keys(episode.data), plan.reading["rows"]
        frames = take(keys, keep(keys, self.options).rows, told["first"], told["end"], rate_hz=self.rate_hz)
        if len(frames) != plan.frames:
            raise keys.data.refusal("rows", f"{len(frames)} now, {plan.frames} as planned", LEFT_ALONE)
        return frames


def _unless_replaced(planner: Planner, is_replaced: Callable[[], bool]) -> EpisodePlan | Rejected | None:
    """What an episode would become; None where one of its files was replaced while another was read."""
    try:
        found = planner.plan()
    except (IndexError, ValueError):  # rows of the one file do not fit the other
        if is_replaced():
            return None
        raise
    return None if isinstance(found, EpisodePlan) and is_replaced() else found


def rate_of(tree: Path, exclude_globs: Sequence[str]) -> int:
    """Frames a second of the first task by name that no glob leaves out and that can be read.

    Raises Refused where there is none, or that is no whole number: a dataset has one rate, and no row is resampled.
    """
    faults = list[Fault]()
    for name in listing.task_names(tree):
        if any(fnmatchcase(name, glob) for glob in exclude_globs):
            continue
        try:
            info = recognise(root_of(tree, name))
        except Refused as refused:
            faults += refused.faults
            continue
        if info.fps % 1 or info.fps < 1:
            expected, path = "a whole number of frames a second", str(info.layout.info)
            option = f"+source.exclude_globs=[...,{name}]"
            raise Refused([Fault(name, "fps", f"{info.fps:g}", expected, path=path, option=option)])
        return int(info.fps)
    every = "a task that +source.exclude_globs does not leave out"
    raise Refused(
        faults or [Fault("source", "dir", "none", every, path=str(tree), option="+source.exclude_globs=[...]")]
    )


def _stamps(folder: TaskFolder, files: EpisodeFiles) -> dict[str, FileStamp]:
    """Of every file of an episode that is read, by name; none of one that is not there, or cannot be looked at."""
    layout, found = folder.info.layout, dict[str, FileStamp]()
    rows = dict.fromkeys((layout.row(files.number), layout.old_row(files.number), layout.shard(files.number)))
    videos = (path for paths in files.videos.values() for path in paths)
    for path in (*([files.data] if files.data else []), *rows, *videos):
        with suppress(OSError):
            stat = path.stat()
            found[folder.name(path)] = FileStamp(stat.st_size, stat.st_mtime_ns)
    return found


def _row_file(folder: TaskFolder, number: int, stamps: Mapping[str, FileStamp]) -> str:
    """The name of an episode's own file of its row; empty where its row is in a shard, or it has none."""
    layout = folder.info.layout
    own, old = layout.row(number), layout.old_row(number)
    if folder.name(own) in stamps:
        return folder.name(own)
    if folder.name(old) not in stamps:
        return ""
    table = read_table(old)
    return "" if table is None or is_shard(table) else folder.name(old)


def _digest(stamps: Mapping[str, FileStamp], folder: TaskFolder) -> str:
    return hashlib.sha256(repr((sorted(stamps.items()), folder.looks)).encode()).hexdigest()
