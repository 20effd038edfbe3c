"""The dataset folder: its splits, and what its builder said of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from quickdraw.errors import Fault, Refused
from quickdraw.formats.lerobot import schema
from quickdraw.pipeline.digests import FileDigest
from quickdraw.pipeline.places import PROVENANCE
from quickdraw.pipeline.verify.json_reading import read_typed, typed
from quickdraw.pipeline.verify.metadata import MOST_HZ
from quickdraw.pipeline.verify.split_view import SplitView

WRITTEN = "what quickdraw writes"

type Name = Annotated[str, msgspec.Meta(pattern=r"^[^/\x00]+$")]  # of a file or folder
type Seconds = Annotated[float, msgspec.Meta(ge=-9e9, le=9e9)]  # whole nanoseconds of it fit 64 bits


class Parts(msgspec.Struct, frozen=True):
    """What an episode was made of, as far as checks need it: cameras whose cubes were measured -> their part."""

    tracks: dict[str, str] = {}


class Traced(msgspec.Struct, frozen=True, rename={"index": "episode_index"}):
    """One episode of provenance.json; `task` is its LeRobot task, where that is not the campaign's name."""

    split: Name
    index: int
    campaign: Name
    run: Name
    frames: int
    t_lo_s: Seconds
    t_hi_s: Seconds
    fragments: Parts = Parts()
    task: str | None = None

    def __str__(self) -> str:
        return f"{self.campaign}/{self.run}"

    @property
    def text(self) -> str:
        """The text of its LeRobot task."""
        return self.campaign if self.task is None else self.task

    @property
    def tracked(self) -> tuple[str, ...]:
        """The cameras its cubes were measured in."""
        return tuple(self.fragments.tracks)


class _ReadFrom(msgspec.Struct, frozen=True):
    sources: dict[Annotated[str, msgspec.Meta(pattern=r"^[^\x00]+$")], FileDigest]


class _Sources(msgspec.Struct, frozen=True):
    episodes: tuple[_ReadFrom, ...]


class Built(msgspec.Struct, frozen=True):
    """The options a dataset was built with that checks go by."""

    target_hz: Annotated[int, msgspec.Meta(ge=1, le=MOST_HZ)]
    val_frac: Annotated[float, msgspec.Meta(ge=0, le=1)]
    val_floor: int
    eval_globs: tuple[str, ...]
    exclude_globs: tuple[str, ...]
    val_runs: tuple[str, ...]
    val_rule: Literal["longest", "random"] = "longest"
    seed: int = 0
    lerobot_stats: str = "train"


class Described(msgspec.Struct, frozen=True):
    """The dimensions of a feature; `identity_dims`, where it has any, are those no normaliser may scale.

    `grid` is the shape that they have, where they are a grid.
    """

    names: list[str]
    identity_dims: tuple[int, ...] | None = None
    grid: tuple[int, ...] = ()


class _AsWritten(msgspec.Struct, frozen=True):
    processor: str
    config: dict[str, Any]
    features: dict[str, Described]
    episodes: tuple[Traced, ...]
    palette: dict[str, tuple[str, ...]] = {}
    fingerprint: Any = msgspec.UNSET


@dataclass(frozen=True, slots=True)
class Provenance:
    """provenance.json, as far as checks need it: `config` whole, `built` the part of it that is known here.

    `fingerprinted`: its build wrote fingerprints/.
    """

    processor: str
    fingerprinted: bool
    config: Mapping[str, Any]
    built: Built
    features: Mapping[str, Described]
    episodes: tuple[Traced, ...]
    palettes: Mapping[str, tuple[str, ...]]

    @property
    def pins(self) -> bool:
        """Whether every split carries train's statistics, with geometry pinned."""
        return self.built.lerobot_stats == "train"


@dataclass(frozen=True)
class DatasetView:
    """A dataset folder: of splits, or a single split that is the folder itself."""

    root: Path

    @cached_property
    def splits(self) -> dict[str, SplitView]:
        """Splits by name, sorted, `train` first, for the others are measured by it. Raises Refused where it has none.

        A folder is one by any part of one, so that a split that lost its info.json is not overlooked.
        """
        if (self.root / schema.INFO_PATH).exists():
            return {self.root.name: SplitView(self.root.name, self.root)}
        marks = (schema.INFO_PATH, "meta/episodes", "data", "videos")
        folders = sorted(self.root.iterdir()) if self.root.is_dir() else []
        roots = [f for f in folders if not f.name.startswith(".") and any((f / mark).exists() for mark in marks)]
        if not roots:
            expected = f"a dataset folder, with <split>/{schema.INFO_PATH} in it"
            raise Refused([Fault(str(self.root), "splits", "none", expected)])
        ordered = sorted(roots, key=lambda root: (root.name != "train", root.name))
        return {root.name: SplitView(root.name, root) for root in ordered}

    @cached_property
    def provenance(self) -> Provenance | None:
        """What the dataset was built from; None where it says nothing of it. Raises Refused where it is malformed."""
        path = self.root / PROVENANCE
        if not path.exists():
            return None
        raw = read_typed(path, _AsWritten, WRITTEN)
        return Provenance(
            processor=raw.processor,
            fingerprinted=raw.fingerprint is not msgspec.UNSET,
            config=raw.config,
            built=typed(raw.config, Built, path, WRITTEN),
            features=raw.features,
            episodes=raw.episodes,
            palettes=raw.palette,
        )

    def sources(self) -> list[Mapping[str, FileDigest]]:
        """The files each episode of provenance.json was read from. Raises Refused where it is malformed.

        They are the most of that document, and every process that checks holds the rest of it: so they are not kept.
        """
        return [episode.sources for episode in read_typed(self.root / PROVENANCE, _Sources, WRITTEN).episodes]

    @property
    def ours(self) -> Provenance | None:
        """The provenance, or None where there is none to rely on."""
        try:
            return self.provenance
        except Refused:
            return None

    def traced(self, split: str) -> list[Traced]:
        """The episodes of a split, by provenance.json."""
        return [] if self.ours is None else [episode for episode in self.ours.episodes if episode.split == split]
