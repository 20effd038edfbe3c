"""The dataset a page is about: its splits, what its build says of it, and what checks say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from quickdraw.formats.lerobot.reader import SplitReader, splits_of
from quickdraw.pipeline.places import PROVENANCE
from quickdraw.pipeline.trace import Listed, Traced, read_as
from quickdraw.pipeline.verify.report import Report

FIRST = ("train", "val")


class Moved(msgspec.Struct, frozen=True):
    """How far nearest-in-time resampling moved the samples of one stream, as `core.resample.Displacement`."""

    max_s: float
    p99_s: float
    bound_s: float
    past_bound: float
    gaps: int
    deciles_s: tuple[float, ...] = ()


class Driven(msgspec.Struct, frozen=True):
    """How the operator drove, as `formats.campaign.commanded.Commanded`."""

    ticks: int
    clamped: int | None
    reanchored: int | None
    idle_share: float | None


class Seen(msgspec.Struct, frozen=True):
    """Colour -> share of the rows in which one view saw its cube."""

    visible_share: dict[str, float]


class TracedEpisode(Traced, frozen=True):
    """What provenance.json says of one episode, as far as a page shows it. `cubes` is by view."""

    episode_index: int
    frames: int
    t_lo_s: float
    t_hi_s: float
    displacement: dict[str, Moved] = msgspec.field(default_factory=dict)
    commanded: Driven | None = None
    cubes: dict[str, Seen] = msgspec.field(default_factory=dict)
    task: str | None = None


class TracedFeature(msgspec.Struct, frozen=True):
    """The dimensions of a feature."""

    names: tuple[str, ...]
    unit: tuple[str, ...]
    identity_dims: tuple[int, ...] = ()


class Chosen(msgspec.Struct, frozen=True):
    """By which rule recordings of the pool went to val, as `core.split.SplitRule`; `val_runs` were named instead."""

    val_frac: float = 0.0
    val_floor: int = 0
    val_rule: Literal["longest", "random"] = "longest"
    seed: int = 0
    val_runs: tuple[str, ...] = ()

    @property
    def share(self) -> str:
        """How many recordings the rule takes, in words."""
        floor = f", but at least {self.val_floor}" if self.val_floor > 1 else ""
        return f"as many as bring their rows nearest to {100 * self.val_frac:g} %{floor}"


class Trace(Listed[TracedEpisode], frozen=True, kw_only=True):
    """provenance.json, as far as a page shows it."""

    packages: dict[str, str] = msgspec.field(default_factory=dict)
    processor: str
    name: str
    config: dict[str, Any]
    features: dict[str, TracedFeature]
    excluded_campaigns: tuple[str, ...] = ()
    excluded_runs: tuple[str, ...] = ()
    refused_runs: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    ignored: tuple[str, ...] = ()
    palette: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        _ = self.chosen  # refused where the file is read

    @property
    def chosen(self) -> Chosen:
        """How val was chosen. Raises msgspec.ValidationError where the configuration tells it in no way of ours."""
        return msgspec.convert(self.config, Chosen)


@dataclass(frozen=True)
class Subject:
    """A dataset folder. `splits` are in order: train, val, the others by name. `trace` is None where it is not ours."""

    root: Path
    splits: Mapping[str, SplitReader]
    trace: Trace | None
    checked: Report

    def episodes(self, split: str) -> list[TracedEpisode]:
        """What is known of the episodes of a split, in their order; none where the dataset is not ours."""
        return [] if self.trace is None else [episode for episode in self.trace.episodes if episode.split == split]


def subject_of(root: Path, checked: Report) -> Subject:
    """Open a dataset. Raises Refused where it holds no split, or says of itself what cannot be read."""
    found = splits_of(root)
    ordered = {name: found[name] for name in (*FIRST, *found) if name in found}
    trace = read_as(root, Trace) if (root / PROVENANCE).exists() else None
    return Subject(root, ordered, trace, checked)
