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
from contextlib import suppress
from pathlib import Path
from typing import Any

from quickdraw.errors import Fault, InvariantError, Refused
from quickdraw.formats.durable import aside, lay_aside, sync, write_aside
from quickdraw.formats.pooled.documents import entries, is_folder, read_regular, refuse_folders, remove_empty
from quickdraw.formats.pooled.layout import Layout

NOTE = ".finishing.json"
MOST_NAME_BYTES, MOST_PATH_BYTES = 255, 3000  # of a name on any disk, and of a path in a task
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


def awaited(layout: Layout) -> frozenset[Path]:
    """The places that wait for their new file in a transaction under way, alive or dead; none where there is none.

    For readers of two files that belong together. A note that is none of ours waits for nothing.
    """
    try:
        renames, _ = _read(layout, note(layout))
    except Refused:
        return frozenset()
    return frozenset(place for fresh, place in renames if fresh.exists())


def prepare(place: Path, content: bytes) -> Path:
    """Lay down what is to stand at `place`, fsynced, under its hidden name, which is returned for `commit`.

    Raises Refused where a folder has that name.
    """
    refuse_folders(place.name, aside(place))
    place.parent.mkdir(parents=True, exist_ok=True)
    return lay_aside(place, [content])


def commit(layout: Layout, renames: Sequence[tuple[Path, Path]], removals: Sequence[Path] = ()) -> None:
    """Publish `renames`, pairs of a hidden file and its place in the same folder, and unlink `removals` thereafter.

    The hidden files are `durable.aside` of their places, whole and fsynced. A kill at any moment is mended by `recover`
    to the state before or the state after; so is an OSError, which is raised on. Must run under `exclusive.changing`.
    Raises InvariantError where a hidden file is missing or anything lies outside the task, Refused where a folder
    stands in the way: nothing has changed then.
    """
    for fresh, place in renames:
        if fresh != aside(place) or not fresh.is_file():
            raise InvariantError(f"{fresh} is not ready to become {place}")
    pairs = [[_inside(layout, fresh), _inside(layout, place)] for fresh, place in renames]
    document = {"renames": pairs, "removals": [_inside(layout, path) for path in removals]}
    taken = [*(place for _, place in renames), *removals, note(layout), aside(note(layout))]
    refuse_folders(layout.task, *taken)
    _sync_all(folder for _, place in renames for folder in _above(layout, place))
    layout.meta.mkdir(parents=True, exist_ok=True)
    write_aside(note(layout), [json.dumps(document, indent=1).encode()])  # ASCII: a name need not be UTF-8
    sync(layout.meta)
    _carry_out(layout, renames, removals)


def recover(layout: Layout) -> None:
    """Finish what a dead process began to publish, and remove the hidden files of one that had not got so far.

    Must run under `exclusive.changing`. Raises Refused where the note is none of ours, or a folder stands in its way.
    """
    path = note(layout)
    if path.exists():
        renames, removals = _read(layout, path)
        pairs = (pair for pair in renames if pair[0].exists())
        refuse_folders(layout.task, *(each for pair in pairs for each in pair), *removals)
        _carry_out(layout, renames, removals)
    _clean(layout)


def _carry_out(layout: Layout, renames: Iterable[tuple[Path, Path]], removals: Iterable[Path]) -> None:
    touched = set()
    for fresh, place in renames:
        if fresh.exists():  # else it was renamed before the kill
            fresh.replace(place)
        touched.add(place.parent)
    _sync_all(touched)  # what replaces is down before what it replaces goes
    for path in removals:
        with suppress(FileNotFoundError, NotADirectoryError):
            path.unlink()
    _sync_all({path.parent for path in removals})
    note(layout).unlink(missing_ok=True)
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
    """Whether it is a path in the task. Raises ValueError for what no name on a disk holds: half a surrogate pair."""
    if not isinstance(relative, str) or "\0" in relative:
        return False
    encoded = os.fsencode(relative)
    fits = len(encoded) <= MOST_PATH_BYTES and max(map(len, encoded.split(b"/"))) <= MOST_NAME_BYTES
    parts = relative.split("/")
    return fits and len(parts) >= 2 and parts[0] in ROOMS and not {"", ".", ".."} & set(parts)


def _read(layout: Layout, path: Path) -> tuple[list[tuple[Path, Path]], list[Path]]:
    """The note as paths. It is input like any other: nothing outside the task, and only a file's own hidden name."""
    try:
        found = json.loads(read_regular(path))
        renames = [(str(fresh), str(place)) for fresh, place in found["renames"]]
        removals = list(found["removals"])
        taken = all(map(_is_ours, [*(each for pair in renames for each in pair), *removals]))
        if not taken or any(Path(fresh) != aside(Path(place)) for fresh, place in renames):
            raise ValueError("it names files outside the task, or under names that are not theirs")
    except OSError as error:
        fault = Fault(layout.task, NOTE, error.strerror or str(error), "a file that can be read", path=str(path))
        raise Refused([fault]) from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        expected = (
            "what our recorder writes before it publishes. Without this note the task can be changed again, but"
            " the take it is of is lost: its hidden files (.episode-*.tmp) go with the next change, so copy them first"
        )
        raise Refused([Fault(layout.task, NOTE, str(error), expected, path=str(path))]) from error
    root = layout.root
    return [(root / fresh, root / place) for fresh, place in renames], [root / each for each in removals]


def _clean(layout: Layout) -> None:
    for path in _leftovers(layout):
        path.unlink(missing_ok=True)
        remove_empty(path.parent, layout)


def _leftovers(layout: Layout) -> list[Path]:
    rooms = [layout.root / "data", layout.rows, layout.root / "videos"]
    chunks = [each for room in rooms for each in _folders(layout, room)]
    slots = [slot for chunk in chunks if chunk.parent == rooms[-1] for slot in _folders(layout, chunk)]
    found = [each for folder in (*chunks, *slots) for each in _matching(layout, folder, _EPISODE_TEMPORARY)]
    return [*_matching(layout, layout.meta, _DOCUMENT_TEMPORARY), *found]


def _folders(layout: Layout, folder: Path) -> Iterator[Path]:
    return (each for each in _listed(layout, folder) if each.is_dir())


def _matching(layout: Layout, folder: Path, form: re.Pattern[str]) -> Iterator[Path]:
    return (each for each in _listed(layout, folder) if form.fullmatch(each.name) and not is_folder(each))


def _listed(layout: Layout, folder: Path) -> list[Path]:
    return sorted(folder / each.name for each in entries(folder, layout.root))
