"""The dataset that is published already, as a cache: parts a new build needs are taken from it, not made again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from quickdraw.errors import Refused
from quickdraw.pipeline.links import link
from quickdraw.pipeline.part_files import CLIP, PICTURES, TRACK, are_sound
from quickdraw.pipeline.parts import PartStore
from quickdraw.pipeline.places import CLIP_PLACE, PICTURES_PLACE, PROVENANCE, TRACK_PLACE
from quickdraw.pipeline.trace import read_provenance


@dataclass(frozen=True, slots=True)
class Published:
    """What was published at `dataset`, if anything."""

    dataset: Path

    def hand_on(self, part: str, store: PartStore) -> bool:
        """Put a part of it into `store`, by further names of the same bytes; whether it is there, and undamaged."""
        files = {name: self.dataset / place for name, place in self._catalogue().get(part, {}).items()}
        if not files or not are_sound(part, files):
            return False
        store.make(part, lambda folder: _link_all(files, folder))
        return True

    def _catalogue(self) -> Mapping[str, Mapping[str, str]]:
        path = self.dataset / PROVENANCE
        return _catalogue(self.dataset, path.stat().st_mtime_ns) if path.is_file() else {}


@lru_cache(maxsize=1)
def _catalogue(dataset: Path, _mtime_ns: int) -> Mapping[str, Mapping[str, str]]:
    """Part -> its files: name in a part -> place in the dataset. Empty where the documents are not as we write them."""
    found: dict[str, Mapping[str, str]] = {}
    try:
        for episode in read_provenance(dataset)["episodes"]:
            found |= _files_of(episode)
    except (Refused, LookupError, TypeError, AttributeError, ValueError):
        return {}
    return found


def _files_of(episode: Mapping[str, Any]) -> dict[str, Mapping[str, str]]:
    split, number, parts = episode["split"], int(episode["episode_index"]), episode["fragments"]
    places: dict[str, Mapping[str, str]] = {
        parts["clips"][camera]: {
            CLIP: CLIP_PLACE.format(camera=camera, split=split, number=number),
            PICTURES: PICTURES_PLACE.format(camera=camera, split=split, number=number),
        }
        for camera in parts["clips"]
    }
    tracks = {
        part: {TRACK: TRACK_PLACE.format(camera=camera, split=split, number=number)}
        for camera, part in parts["tracks"].items()
    }
    return places | tracks


def _link_all(files: Mapping[str, Path], folder: Path) -> None:
    for name, file in files.items():
        link(file, folder / name)
