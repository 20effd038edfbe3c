"""The dataset that is published already, as a cache: parts a new build needs are taken from it, not made again."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from quickdraw.errors import Refused, VideoError
from quickdraw.pipeline.links import link
from quickdraw.pipeline.parts import CLIP, PICTURES, TRACK, PartStore
from quickdraw.pipeline.places import CLIP_PLACE, PICTURES_PLACE, PROVENANCE, TRACK_PLACE
from quickdraw.pipeline.trace import read_provenance
from quickdraw.video.checksums import packet_crcs


@dataclass(frozen=True, slots=True)
class Published:
    """What was published at `dataset`, if anything."""

    dataset: Path

    def hand_on(self, part: str, store: PartStore) -> bool:
        """Put a part of it into `store`, by further names of the same bytes; whether it is there, and undamaged."""
        files = {name: self.dataset / place for name, place in self._catalogue().get(part, {}).items()}
        if not files or not _sound(files):
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


def _sound(files: Mapping[str, Path]) -> bool:
    """Whether the files are what was published: a clip's pictures are those whose CRCs were taken when it was made."""
    try:
        arrays = {name: _arrays(file) for name, file in files.items() if name != CLIP}
        return CLIP not in files or np.array_equal(packet_crcs(files[CLIP]), arrays[PICTURES]["crc32"])
    except (OSError, ValueError, LookupError, EOFError, VideoError, BadZipFile, zlib.error):
        return False


def _arrays(path: Path) -> dict[str, Any]:
    """All arrays of a file, read whole and so checked."""
    with np.load(path) as arrays:
        return dict(arrays)


def _link_all(files: Mapping[str, Path], folder: Path) -> None:
    for name, file in files.items():
        link(file, folder / name)
