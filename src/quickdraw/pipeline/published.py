"""The dataset that is published already, as a cache: parts a new build needs are taken from it, not made again."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from quickdraw.errors import Refused
from quickdraw.pipeline.links import link
from quickdraw.pipeline.part_files import CLIP, PICTURES, TRACK, are_sound
from quickdraw.pipeline.parts import PartStore
from quickdraw.pipeline.places import CLIP_PLACE, PICTURES_PLACE, PROVENANCE, TRACK_PLACE
from quickdraw.pipeline.trace import Listed, Placed, read_as


@dataclass(frozen=True, slots=True)
class Published:
    """What was published at `dataset`, if anything."""

    dataset: Path

    def hand_on(self, part: str, store: PartStore) -> bool:
        """Put a part of it into `store`, by further names of the same bytes; whether it is there, and undamaged."""
        if (place := self._catalogue().get(part)) is None:
            return False
        files = {name: self.dataset / file for name, file in place.files().items()}
        if not are_sound(part, files):
            return False
        store.make(part, lambda folder: _link_all(files, folder))
        return True

    def _catalogue(self) -> Mapping[str, _Place]:
        path = self.dataset / PROVENANCE
        return _catalogue(self.dataset, path.stat().st_mtime_ns) if path.is_file() else {}


class _Place(NamedTuple):
    """Where a part lies: of which episode and camera, and whether it is a track or a clip."""

    split: str
    number: int
    camera: str
    is_track: bool

    def files(self) -> dict[str, str]:
        """Name in a part -> place in the dataset."""
        templates = {TRACK: TRACK_PLACE} if self.is_track else {CLIP: CLIP_PLACE, PICTURES: PICTURES_PLACE}
        place = {"split": self.split, "number": self.number, "camera": self.camera}
        return {name: template.format(**place) for name, template in templates.items()}


class _Parts(msgspec.Struct, frozen=True):
    clips: dict[str, str]
    tracks: dict[str, str]


class _Episode(Placed, frozen=True):
    episode_index: int
    fragments: _Parts


@lru_cache(maxsize=1)
def _catalogue(dataset: Path, _mtime_ns: int) -> Mapping[str, _Place]:
    """Every part that is there. Empty where the documents are not as we write them."""
    try:
        episodes = read_as(dataset, Listed[_Episode]).episodes
    except Refused:
        return {}
    return {part: place for episode in episodes for part, place in _places(episode)}


def _places(episode: _Episode) -> Iterator[tuple[str, _Place]]:
    split, number = sys.intern(episode.split), episode.episode_index
    for parts, is_track in ((episode.fragments.clips, False), (episode.fragments.tracks, True)):
        for camera, part in parts.items():
            yield part, _Place(split, number, sys.intern(camera), is_track)


def _link_all(files: Mapping[str, Path], folder: Path) -> None:
    for name, file in files.items():
        link(file, folder / name)
