"""Which episodes of a task have files: by listing folders, never by opening one (contract section 2).

Only `data/` and `videos/` are scanned: rows can be missing, files are authority. Names that begin with a dot, and all
that does not look like an episode, are passed over.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from quickdraw.formats.pooled.layout import Layout, Place

CHUNK = re.compile(r"chunk-(\d+)")
DATA = re.compile(r"episode-(\d+)\.parquet")
VIDEO = re.compile(r"episode-(\d+)\.[^.]+")
AUXILIARY = re.compile(r"episode-(\d+)[._-].*aux.*")  # streams beside a slot's own; ignored, removed with the episode


@dataclass(slots=True)
class EpisodeFiles:
    """What lies on disk of one episode: its `data` file, the `videos` of each slot, and streams nobody reads."""

    number: int
    data: Path | None = None
    videos: dict[str, list[Path]] = field(default_factory=dict)
    auxiliary: list[Path] = field(default_factory=list)


def scan(layout: Layout) -> dict[int, EpisodeFiles]:
    """The files of every episode that has any, by N ascending. A missing folder holds none."""
    found: dict[int, EpisodeFiles] = {}

    def episode(chunk: int, file: int) -> EpisodeFiles:
        number = layout.number(Place(chunk, file))
        return found.setdefault(number, EpisodeFiles(number))

    for chunk, folder in _chunks(layout.root / "data"):
        for name in _names(folder):
            if match := DATA.fullmatch(name):
                episode(chunk, int(match[1])).data = folder / name
    for chunk, folder in _chunks(layout.root / "videos"):
        for slot in sorted(_names(folder)):
            for name in sorted(_names(folder / slot)):
                if match := AUXILIARY.fullmatch(name):
                    episode(chunk, int(match[1])).auxiliary.append(folder / slot / name)
                elif match := VIDEO.fullmatch(name):
                    where = episode(chunk, int(match[1]))
                    kept = where.auxiliary if _is_auxiliary(slot) else where.videos.setdefault(slot, [])
                    kept.append(folder / slot / name)
    return dict(sorted(found.items()))


def _is_auxiliary(slot: str) -> bool:
    return slot.endswith("_aux") or "_aux_" in slot


def _chunks(folder: Path) -> Iterator[tuple[int, Path]]:
    for name in _names(folder):
        if match := CHUNK.fullmatch(name):
            yield int(match[1]), folder / name


def _names(folder: Path) -> list[str]:
    """Names in a folder but hidden ones; none where there is no such folder."""
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries if not entry.name.startswith(".")]
    except (FileNotFoundError, NotADirectoryError):
        return []
