"""Task folders, each read once a process, and again where a file came, went or was replaced meanwhile.

What a folder holds is asked of ten thousand episodes, one after the other; that it is unchanged a few dozen times of
modification tell.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from quickdraw.core.fingerprint import fingerprint
from quickdraw.errors import Refused
from quickdraw.formats.pooled.info import Info, recognise
from quickdraw.formats.pooled.layout import Layout
from quickdraw.formats.pooled.scan import EpisodeFiles, scan
from quickdraw.formats.pooled.tasks import read_tasks

type State = tuple[tuple[int, int, int] | None, ...]


@dataclass(frozen=True, slots=True)
class TaskFolder:
    """A task as it was found: its episodes' files by N, its `texts` by task_index, and what is wrong with those.

    `looks` stands for all that an episode's plan takes from here but the files of the episode.
    """

    info: Info
    found: Mapping[int, EpisodeFiles]
    texts: Mapping[int, str]
    warning: str
    looks: str
    watched: tuple[str, ...]
    state: State

    def text(self, task_index: int | None) -> str:
        """What was to be done in an episode: the text its rows name, else the task's name, else its folder's."""
        told = self.texts.get(0 if task_index is None else task_index)
        return told or self.info.task_name or self.info.layout.task

    def name(self, path: Path) -> str:
        """A file of the task as plans name it: relative to its folder."""
        return str(path).removeprefix(f"{self.info.layout.root}/")


_KNOWN: dict[Path, TaskFolder] = {}


def task_folder(root: Path) -> TaskFolder:
    """The task in a folder. Raises Refused where there is none, or it cannot be listed."""
    known = _KNOWN.get(root)
    if known is None or known.state != _state(known.watched):
        known = _KNOWN[root] = _read(root)
    return known


def _read(root: Path) -> TaskFolder:
    watched = _watched(root)
    state = _state(watched)  # taken first: a change while reading must show
    info = recognise(root)
    texts, warning = _texts(info)
    told = {"fps": info.fps, "name": info.task_name, "scales": info.scales, "texts": texts, "warning": warning}
    return TaskFolder(info, scan(info.layout), texts, warning, fingerprint(told), watched, state)


def _texts(info: Info) -> tuple[dict[int, str], str]:
    """Task texts by index, and a warning where they cannot be read."""
    try:
        return {each.index: each.text for each in read_tasks(info.layout.tasks)}, ""
    except Refused as refused:
        return {}, f"its task's text is not known: {refused}"


def _watched(root: Path) -> tuple[str, ...]:
    """The documents and folders whose times tell of every file that comes, goes or is replaced."""
    folders = [root / "data", root / "videos"]
    chunks = [chunk for folder in folders for chunk in _folders(folder)]
    slots = [slot for chunk in chunks if chunk.parent.name == "videos" for slot in _folders(chunk)]
    documents = [Layout(root).info, Layout(root).tasks]
    return tuple(map(str, (*documents, *folders, *chunks, *slots)))


def _folders(folder: Path) -> list[Path]:
    try:
        return sorted(each for each in folder.iterdir() if each.is_dir())
    except OSError:
        return []


def _state(paths: tuple[str, ...]) -> State:
    return tuple(map(_seen, paths))


def _seen(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - a Path would take as long as the call itself
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size
