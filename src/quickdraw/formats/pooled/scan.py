"""Which episodes of a task have files: by listing folders, never by opening one (contract section 2).

Only `data/` and `videos/` are scanned: rows can be missing, files are authority. Names that begin with a dot, and all
that does not look like an episode, are passed over, and so are folders, pipes and the like: only a regular file is
one. A link to one is, too, and one that leads nowhere: its disk may be away, and its number is taken all the same.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from quickdraw.formats.pooled.documents import entries
from quickdraw.formats.pooled.layout import CHUNK_FOLDER, EXTENSIONS, Layout, Place

DATA = re.compile(r"episode-(\d+)\.parquet")
VIDEO = re.compile(r"episode-(\d+)\.[^.]+")
AUXILIARY = re.compile(r"episode-(\d+)[._-].*aux.*")


@dataclass(slots=True)
class EpisodeFiles:
    """What lies on disk of one episode: its `data` file, the `videos` of each slot, and streams nobody reads.

    Where several data files bear its number, as `episode-0.parquet` does beside `episode-000.parquet`, `data` is the
    one in its place, and `others` are those no reader computes a path to.
    """

    number: int
    data: Path | None = None
    videos: dict[str, list[Path]] = field(default_factory=dict)
    auxiliary: list[Path] = field(default_factory=list)
    others: list[Path] = field(default_factory=list)

    def playable(self) -> dict[str, list[Path]]:
        """The videos of each slot that has any; what else lies beside them under the episode's name is passed over."""
        found = {slot: [path for path in paths if path.suffix[1:] in EXTENSIONS] for slot, paths in self.videos.items()}
        return {slot: paths for slot, paths in found.items() if paths}


def is_auxiliary(slot: str, file: str = "") -> bool:
    """Whether a slot's folder, or one of the files in it, is a stream beside a slot's own (contract 8).

    Readers pass over it, no check tells of it, and it is removed with its episode.
    """
    return slot.endswith("_aux") or "_aux_" in slot or AUXILIARY.fullmatch(file) is not None


def scan(layout: Layout) -> dict[int, EpisodeFiles]:
    """The files of every episode that has any, by N ascending. A missing folder holds none.

    Raises Refused where a folder cannot be listed.
    """
    found: dict[int, EpisodeFiles] = {}

    def episode(chunk: int, file: int) -> EpisodeFiles:
        number = layout.number(Place(chunk, file))
        return found.setdefault(number, EpisodeFiles(number))

    for chunk, folder in _chunks(layout, "data"):
        for name in _files(layout, folder):
            if match := DATA.fullmatch(name):
                where = episode(chunk, int(match[1]))
                where.others.append(folder / name)
    for where in found.values():
        where.data, *where.others = _home_first(layout, where)
    for chunk, folder in _chunks(layout, "videos"):
        for slot in sorted(_names(layout, folder)):
            for name in sorted(_files(layout, folder / slot)):
                if match := AUXILIARY.fullmatch(name) or VIDEO.fullmatch(name):
                    where = episode(chunk, int(match[1]))
                    kept = where.auxiliary if is_auxiliary(slot, name) else where.videos.setdefault(slot, [])
                    kept.append(folder / slot / name)
    return dict(sorted(found.items()))


def _home_first(layout: Layout, where: EpisodeFiles) -> list[Path]:
    if len(where.others) == 1:
        return where.others
    home = layout.data(where.number)
    return sorted(where.others, key=lambda path: (path != home, path))


def _chunks(layout: Layout, part: str) -> Iterator[tuple[int, Path]]:
    for name in sorted(_names(layout, layout.root / part)):
        if match := CHUNK_FOLDER.fullmatch(name):
            yield int(match[1]), layout.root / part / name


def _names(layout: Layout, folder: Path) -> list[str]:
    """Names in a folder but hidden ones; none where there is no such folder."""
    return [entry.name for entry in entries(folder, layout.root) if not entry.name.startswith(".")]


def _files(layout: Layout, folder: Path) -> list[str]:
    return [e.name for e in entries(folder, layout.root) if not e.name.startswith(".") and _is_one(e)]


def _is_one(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file() or (entry.is_symlink() and not Path(entry.path).exists())
    except OSError:  # as of a link to itself
        return entry.is_symlink()
