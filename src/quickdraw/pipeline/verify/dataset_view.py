"""The dataset folder: its splits, and what its builder said of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from quickdraw.errors import Fault, Refused
from quickdraw.formats.lerobot import schema
from quickdraw.pipeline.documents import FINGERPRINT
from quickdraw.pipeline.places import PROVENANCE
from quickdraw.pipeline.verify.json_reading import read_object, refusal
from quickdraw.pipeline.verify.split_view import SplitView


@dataclass(frozen=True, slots=True)
class Traced:
    """One episode of provenance.json; `tracked` are the cameras its cubes were measured in."""

    split: str
    index: int
    campaign: str
    run: str
    frames: int
    t_lo_s: float
    t_hi_s: float
    sources: Mapping[str, Mapping[str, Any]]
    tracked: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.campaign}/{self.run}"


@dataclass(frozen=True, slots=True)
class Provenance:
    """provenance.json, as far as checks need it. `fingerprinted`: its build wrote fingerprints/."""

    processor: str
    fingerprinted: bool
    config: Mapping[str, Any]
    features: Mapping[str, Mapping[str, Any]]
    episodes: tuple[Traced, ...]
    palettes: Mapping[str, list[str]]

    @property
    def pins(self) -> bool:
        """Whether every split carries train's statistics, with geometry pinned."""
        return bool(self.config.get("lerobot_stats", "train") == "train")


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
        raw = read_object(path)
        try:
            return Provenance(
                processor=str(raw["processor"]),
                fingerprinted=FINGERPRINT in raw,
                config=dict(raw["config"]),
                features={str(name): dict(described) for name, described in raw["features"].items()},
                episodes=tuple(_traced(episode) for episode in raw["episodes"]),
                palettes={str(split): list(colours) for split, colours in raw.get("palette", {}).items()},
            )
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise refusal(path, f"malformed ({error!r})", "what quickdraw writes") from error

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


def _traced(episode: Mapping[str, Any]) -> Traced:
    return Traced(
        split=str(episode["split"]),
        index=int(episode["episode_index"]),
        campaign=str(episode["campaign"]),
        run=str(episode["run"]),
        frames=int(episode["frames"]),
        t_lo_s=float(episode["t_lo_s"]),
        t_hi_s=float(episode["t_hi_s"]),
        sources={str(file): dict(stamp) for file, stamp in episode["sources"].items()},
        tracked=tuple(episode.get("fragments", {}).get("tracks", {})),
    )
