"""One recorded episode: what it is called, what is planned for it, and what becomes of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from quickdraw.core.depth import Depth
from quickdraw.core.features import FeatureSpec
from quickdraw.core.grid import Grid, Int64
from quickdraw.core.pickling import Brief
from quickdraw.core.resample import Displacement
from quickdraw.errors import Fault

Float32 = npt.NDArray[np.float32]
Rows = Mapping[str, npt.NDArray[Any]]  # feature name -> `(T, D)`, in the feature's dtype

PIECE: Final = "."  # parts an episode's name from the number of a piece of it: episode_000012.01
_PIECED: Final = re.compile(rf"(episode_\d+){re.escape(PIECE)}\d+")


@dataclass(frozen=True, slots=True, order=True)
class EpisodeKey(Brief):
    """Where an episode comes from: campaign folder and run folder. Sorts as plain text, campaign first."""

    campaign: str
    run: str

    def __str__(self) -> str:
        return f"{self.campaign}/{self.run}"

    @property
    def recording(self) -> EpisodeKey:
        """What it is a piece of; itself, where it is whole. Only numbered episodes have pieces, runs have none."""
        pieced = _PIECED.fullmatch(self.run)
        return EpisodeKey(self.campaign, pieced[1]) if pieced else self


@dataclass(frozen=True, slots=True)
class FramePlan:
    """Which picture of a video each row shows: row i is the `frame_index[i]`-th decoded picture of `path`.

    `frame_index` `(T,)` int64, non-decreasing; `pictures` is the number of pictures the file must hold, all told. They
    are in the file's stream number `stream`, counted over all of it; None is its first video.
    """

    path: Path
    frame_index: Int64
    pictures: int
    stream: int | None = None


@dataclass(frozen=True, slots=True)
class DepthPlan:
    """Which frame of a depth video each row shows: the `frame_index[i]`-th of `frames()`, of -1 one that is all 0.

    `frame_index` `(T,)` int64, non-decreasing; `frames` opens the file anew and yields each of its `pictures` frames.
    """

    path: Path
    frame_index: Int64
    pictures: int
    frames: Callable[[], Iterator[Depth]]


@dataclass(frozen=True, slots=True)
class FileStamp(Brief):
    """What a file looked like when an episode was planned from it; another one later means it was changed meanwhile."""

    bytes: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Trait(Brief):
    """What must be the same in every episode of a build, or a policy learns from two worlds as if they were one.

    `file`, relative to the episode's folder, is where `name` has this `value`; `option` accepts a mixture.
    """

    name: str
    value: str
    file: str
    option: str


@dataclass(frozen=True, slots=True)
class EpisodePlan(Brief):
    """All that is known of an episode before a picture is decoded; small enough to keep for every episode.

    `row_files` are the source files its rows and grid are made from, `videos` the file of each shown camera, all
    relative to the episode's folder, and `stamps` what each of them looked like. `frame_digests` stand for the
    `FramePlan.frame_index` of each shown camera. `provenance` is JSON-ready. `traits` must agree across a build,
    `content_digest` must not: it stands for what was recorded, whatever it is called and however it is written down.
    `warnings` are what the user should know of it, though nothing is wrong. `looks` stands for size and time of every
    file it was planned from, as `Source.looks` tells them. `reading` is what its rows are read by besides `row_files`,
    `holds` what a source settles features and cameras by; both are JSON-ready.
    """

    key: EpisodeKey
    task: str
    grid: Grid
    t_hi_s: float
    displacement: Mapping[str, Displacement]
    row_files: tuple[str, ...]
    videos: Mapping[str, str]
    stamps: Mapping[str, FileStamp]
    frame_digests: Mapping[str, str]
    provenance: Mapping[str, Any]
    traits: tuple[Trait, ...] = ()
    content_digest: str = ""
    warnings: tuple[str, ...] = ()
    looks: str = ""
    reading: Mapping[str, Any] = field(default_factory=dict)
    holds: Mapping[str, Any] = field(default_factory=dict)

    @property
    def frames(self) -> int:
        """Number of rows."""
        return self.grid.n


@dataclass(frozen=True, slots=True)
class Episode:
    """One episode on its grid: `arrays[feature.name]` `(T, D)` float32 per feature, locked against writing.

    Pixels are not in it, a `FramePlan` per camera is: a picture is decoded once, by the task that needs it.
    """

    plan: EpisodePlan
    features: tuple[FeatureSpec, ...]
    arrays: Mapping[str, Float32]
    frame_plan: Mapping[str, FramePlan]


@dataclass(frozen=True, slots=True)
class Rejected:
    """An episode that cannot be built, with everything that is wrong with it."""

    key: EpisodeKey
    faults: tuple[Fault, ...]
