"""The end of a recording, and every change of several files, as one: all of it is on disk afterwards, or none of it.

What is to be published lies ready under hidden names (`durable.aside`) beside its places. `commit` notes down what will
be renamed and removed, does it, and forgets the note. Who is killed in between leaves it, and the next one to change
the task does the rest (`recover`). Where no note came to be there are only hidden files, which are removed.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from quickdraw.errors import Fault, InvariantError, Refused
from quickdraw.formats.durable import aside, sync, write_aside
from quickdraw.formats.pooled.layout import Layout

NOTE = ".finishing.json"
ROOMS = ("videos", "data", "meta")  # nothing else of a task is ever renamed or removed by a note
_EPISODE_TEMPORARY = re.compile(r"\.(?:episode|file)-\d.*\.tmp")
_DOCUMENT_TEMPORARY = re.compile(
    r"\.(?:info\.json|stats\.json|tasks\.jsonl|recycled_episode\.json|\.finishing\.json)\.tmp"
)


def note(layout: Layout) -> Path:
    """Where a transaction under way is written down."""
    return layout.meta / NOTE


def pending(layout: Layout) -> bool:
    """Whether a transaction has begun and not ended. Its hidden files must then be left alone: `recover` needs them."""
    return note(layout).exists()


def prepare(place: Path, content: bytes) -> Path:
    """Lay down what is to stand at `place`, fsynced, under its hidden name, which is returned for `commit`."""
    fresh = aside(place)
    fresh.parent.mkdir(parents=True, exist_ok=True)
    with fresh.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return fresh


def commit(layout: Layout, renames: Sequence[tuple[Path, Path]], removals: Sequence[Path] = ()) -> None:
    """Publish `renames`, pairs of a hidden file and its place in the same folder, and unlink `removals` thereafter.

    The hidden files are `durable.aside` of their places, whole and fsynced. A kill at any moment is mended by `recover`
    to the state before or the state after; so is an OSError, which is raised on. Must run under `exclusive.changing`.
    Raises InvariantError where a hidden file is missing or anything lies outside the task: nothing has changed then.
    """
    for fresh, place in renames:
        if fresh != aside(place) or not fresh.is_file():
            raise InvariantError(f"{fresh} is not ready to become {place}")
    pairs = [[_inside(layout, fresh), _inside(layout, place)] for fresh, place in renames]
    document = {"renames": pairs, "removals": [_inside(layout, path) for path in removals]}
    _sync_all(folder for _, place in renames for folder in _above(layout, place))
    layout.meta.mkdir(parents=True, exist_ok=True)
    write_aside(note(layout), [json.dumps(document, ensure_ascii=False, indent=1).encode()])
    sync(layout.meta)
    _carry_out(layout, renames, removals)


def recover(layout: Layout) -> None:
    """Finish what a dead process began to publish, and remove the hidden files of one that had not got so far.

    Must run under `exclusive.changing`. Raises Refused where the note is none of ours.
    """
    path = note(layout)
    if path.exists():
        _carry_out(layout, *_read(layout, path))
    _clean(layout)


def _carry_out(layout: Layout, renames: Iterable[tuple[Path, Path]], removals: Iterable[Path]) -> None:
    touched = set()
    for fresh, place in renames:
        if fresh.exists():  # else it was renamed before the kill
            fresh.replace(place)
        touched.add(place.parent)
    _sync_all(touched)  # what replaces is down before what it replaces goes
    for path in removals:
        path.unlink(missing_ok=True)
    _sync_all({path.parent for path in removals})
    note(layout).unlink()
    sync(layout.meta)


def _above(layout: Layout, path: Path) -> Iterator[Path]:
    """The folders a file lies in, up to the task: a new one is down only when its own name in the next one is."""
    return (each for each in path.parents if each.is_relative_to(layout.root))


def _sync_all(folders: Iterable[Path]) -> None:
    for folder in sorted(set(folders)):
        if folder.is_dir():  # else its removal came after the kill
            sync(folder)


def _inside(layout: Layout, path: Path) -> str:
    relative = path.relative_to(layout.root).as_posix() if path.is_relative_to(layout.root) else str(path)
    if not _is_ours(relative):
        raise InvariantError(f"{path} is no file of task {layout.root}")
    return relative


def _is_ours(relative: Any) -> bool:
    if not isinstance(relative, str) or "\\" in relative or "\0" in relative:
        return False
    parts = relative.split("/")
    return len(parts) >= 2 and parts[0] in ROOMS and not {"", ".", ".."} & set(parts)


def _read(layout: Layout, path: Path) -> tuple[list[tuple[Path, Path]], list[Path]]:
    """The note as paths. It is input like any other: nothing outside the task, and only a file's own hidden name."""
    try:
        found = json.loads(path.read_bytes())
        renames = [(str(fresh), str(place)) for fresh, place in found["renames"]]
        removals = list(found["removals"])
        taken = all(map(_is_ours, [*(each for pair in renames for each in pair), *removals]))
        if not taken or any(PurePosixPath(fresh) != _aside(place) for fresh, place in renames):
            raise ValueError("it names files outside the task, or under names that are not theirs")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        expected = "what our recorder writes before it publishes; look at it, then remove it"
        raise Refused([Fault(layout.root.name, NOTE, str(error), expected, path=str(path))]) from error
    root = layout.root
    return [(root / fresh, root / place) for fresh, place in renames], [root / each for each in removals]


def _aside(place: str) -> PurePosixPath:
    whole = PurePosixPath(place)
    return whole.with_name(f".{whole.name}.tmp")


def _clean(layout: Layout) -> None:
    for path in _leftovers(layout):
        path.unlink(missing_ok=True)
        folder = path.parent
        while folder != layout.root and folder != layout.meta and not any(folder.iterdir()):
            folder.rmdir()
            folder = folder.parent


def _leftovers(layout: Layout) -> list[Path]:
    return [
        *_matching(layout.meta, _DOCUMENT_TEMPORARY),
        *(each for chunk in _folders(layout.root / "data") for each in _matching(chunk, _EPISODE_TEMPORARY)),
        *(each for chunk in _folders(layout.rows) for each in _matching(chunk, _EPISODE_TEMPORARY)),
        *(
            each
            for chunk in _folders(layout.root / "videos")
            for slot in _folders(chunk)
            for each in _matching(slot, _EPISODE_TEMPORARY)
        ),
    ]


def _folders(folder: Path) -> Iterator[Path]:
    return (each for each in _listed(folder) if each.is_dir())


def _matching(folder: Path, form: re.Pattern[str]) -> Iterator[Path]:
    return (each for each in _listed(folder) if form.fullmatch(each.name))


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
