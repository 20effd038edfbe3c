"""Rules of names: what must not lie in a task's folder, what no reader computes a path to (contract 1, 2, 11.2).

What begins with a dot or an underscore, temporaries and `_aux` streams are no business of anybody, and never told.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from quickdraw.formats.pooled import journal
from quickdraw.formats.pooled.checks.findings import Checking
from quickdraw.formats.pooled.layout import CHUNK_FOLDER, PLAIN_NAME, Place
from quickdraw.formats.pooled.row_tables import ROW_FILE
from quickdraw.formats.pooled.scan import DATA, VIDEO, is_auxiliary

LEFTOVERS: Final = ("calibration", "metadata.json", "timestamps.json")
_PARTS: Final = ("data", "videos", "meta")
_DOCUMENTS: Final = ("info.json", "stats.json", "tasks.jsonl", "recycled_episode.json", "episodes")
_TEMPORARY = re.compile(r".*\.tmp\d*")


def check_names(checking: Checking) -> None:
    """Walk the task's folders, not its files."""
    root = checking.info.layout.root
    for path in _entries(checking, root):
        _root_entry(checking, path)
    _check_meta(checking)
    for chunk, folder in _chunks(checking, root / "data"):
        for path in _entries(checking, folder):
            _data_entry(checking, path, chunk)
    for chunk, folder in _chunks(checking, root / "videos"):
        for slot in _entries(checking, folder):
            _slot(checking, slot, chunk)


def _check_meta(checking: Checking) -> None:
    layout = checking.info.layout
    for path in _entries(checking, layout.meta):
        if path.name not in _DOCUMENTS:
            checking.add("stray-file", path, "no document of the format")
    if journal.pending(layout):
        checking.add("unfinished", journal.note(layout), "a change of several files was cut short")
    for _, folder in _chunks(checking, layout.rows):
        for path in _entries(checking, folder):
            if not ROW_FILE.fullmatch(path.name):
                checking.add("stray-file", path, "no file of rows")


def _root_entry(checking: Checking, path: Path) -> None:
    task = re.escape(checking.info.layout.task)
    is_session = _is_folder(path) and (
        re.fullmatch(rf"{task}_\d{{6}}", path.name) or any(_is_there(path / name) for name in LEFTOVERS[1:])
    )
    if path.name in LEFTOVERS or is_session:
        checking.add("leftover-v10", path, "a session folder of v1.0" if is_session else "a leftover of v1.0")
    elif path.name not in _PARTS:
        checking.add("stray-file", path, "no part of the format")


def _data_entry(checking: Checking, path: Path, chunk: int) -> None:
    if (match := DATA.fullmatch(path.name)) and not _is_odd(path):
        number = checking.info.layout.number(Place(chunk, int(match[1])))
        _at_home(checking, path, number, checking.info.layout.data(number))
    else:
        checking.add("stray-file", path, "no file of an episode's name")


def _slot(checking: Checking, folder: Path, chunk: int) -> None:
    if is_auxiliary(folder.name):
        return
    if not _is_folder(folder):
        checking.add("stray-file", folder, "no slot's folder")
    elif not PLAIN_NAME.fullmatch(folder.name):
        checking.add("video-slot", folder, f"slot {folder.name!r}")
    else:
        for path in _entries(checking, folder):
            if is_auxiliary(folder.name, path.name):
                continue
            if (match := VIDEO.fullmatch(path.name)) and not _is_odd(path):
                layout = checking.info.layout
                number = layout.number(Place(chunk, int(match[1])))
                _at_home(checking, path, number, layout.video(number, folder.name, path.suffix[1:]))
            else:
                checking.add("stray-file", path, "no file of an episode's name")


def _at_home(checking: Checking, path: Path, number: int, home: Path) -> None:
    if path != home:
        root = checking.info.layout.root
        found = f"episode {number}, which belongs to {home.relative_to(root).as_posix()}"
        checking.add("misplaced-file", path, found, number)


def _chunks(checking: Checking, folder: Path) -> Iterator[tuple[int, Path]]:
    for path in _entries(checking, folder):
        match = CHUNK_FOLDER.fullmatch(path.name)
        if match and _is_folder(path):
            yield int(match[1]), path
        else:
            checking.add("stray-file", path, "no chunk's folder")


def _is_there(path: Path) -> bool:
    """Whether a path is a regular file; no, where its folder may not be searched."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False


def _is_odd(path: Path) -> bool:
    """Whether a path is a folder, a pipe or the like. A link that leads nowhere may be of a disk that is away."""
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except OSError:
        return False


def _entries(checking: Checking, folder: Path) -> Iterator[Path]:
    """What lies in a folder, in order, but for what nobody has business with. Nothing where there is no folder."""
    try:
        paths = sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        checking.add("folder-unreadable", folder, error.strerror or str(error))
        return
    for path in paths:
        if not (path.name.startswith((".", "_")) or _TEMPORARY.fullmatch(path.name)):
            yield path
