"""`meta/info.json` as a reader sees it, and whether a folder is a pooled task at all (contract sections 1 and 3).

`recognise` never guesses: equal to our format's name it is a pooled task; everything else is refused, by its name where
it has one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quickdraw.errors import Fault, Refused
from quickdraw.formats.pooled.documents import read_regular
from quickdraw.formats.pooled.layout import (
    CHUNKS_SIZE,
    DATA_FORM,
    DATA_PATH,
    EPISODES_FORM,
    EPISODES_PATH,
    FORMAT,
    MOST_CHUNKS_SIZE,
    VIDEO_FORM,
    VIDEO_PATH,
    Layout,
    task_of,
)

MOST_NAMED = 3  # tasks of a folder that is none
LAST_NUMBER = "last_episode_index"  # our own key: the highest N this task ever finished
TEMPLATES = {
    "data_path": (DATA_FORM, DATA_PATH),
    "video_path": (VIDEO_FORM, VIDEO_PATH),
    "episodes_path": (EPISODES_FORM, EPISODES_PATH),
}


@dataclass(frozen=True, slots=True)
class Info:
    """What a task tells of itself. `document` is info.json whole, with every key we do not know.

    `extensions` is slot -> `mp4` or `mkv`, a default only: the files that exist for an episode decide. `scales` is
    matrix column -> the task-level scale, the fallback where an episode's own row has none.
    """

    layout: Layout
    fps: float
    task_name: str
    features: Mapping[str, Mapping[str, Any]]
    extensions: Mapping[str, str]
    scales: Mapping[str, int]
    total_episodes: int
    last_number: int
    document: Mapping[str, Any] = field(repr=False)


def recognise(root: Path) -> Info:
    """The description of a pooled task.

    Raises Refused, with every fault of it, where `root` is no pooled task: v1.0 and other formats are told by name.
    """
    path = root / "meta" / "info.json"
    document = read_document(path, root)
    named = document.get("format")
    if named != FORMAT:
        raise Refused([_other_format(root, path, named)])
    faults = list(_faults(document, root, path))
    if faults:
        raise Refused(faults)
    return _parsed(document, root)


def read_document(path: Path, root: Path) -> dict[str, Any]:
    """info.json as it stands. Raises Refused where it is missing, unreadable, no JSON or no object."""
    try:
        found = json.loads(read_regular(path).decode("utf-8"))
    except FileNotFoundError:
        raise Refused([_missing(root, path)]) from None
    except (OSError, ValueError, RecursionError) as error:
        fault = Fault(task_of(root), "info.json", f"unreadable ({error})", "one JSON object", path=str(path))
        raise Refused([fault]) from error
    if not isinstance(found, dict):
        raise Refused([Fault(task_of(root), "info.json", type(found).__name__, "one JSON object", path=str(path))])
    return found


def _missing(root: Path, path: Path) -> Fault:
    if not root.is_dir():
        return Fault(task_of(root), "task", "no such folder", "a pooled task folder", path=str(root))
    if _sessions(root):
        return _version_1(root)
    expected = f"a task's info.json of format {FORMAT}{_hint(root)}"
    return Fault(task_of(root), "info.json", "nothing", expected, path=str(path))


def _other_format(root: Path, path: Path, named: Any) -> Fault:
    if named is None and _sessions(root):
        return _version_1(root)
    found = "no format" if named is None else f"format {named!r}"
    return Fault(task_of(root), "format", found, f"{FORMAT!r}{_hint(root)}", path=str(path))


def _version_1(root: Path) -> Fault:
    found = f"v1.0, one folder a session ({', '.join(_sessions(root)[:3])}, ...)"
    expected = f"{FORMAT}; v1.0 must be migrated by its recorder first"
    return Fault(task_of(root), "format", found, expected, path=str(root))


def _sessions(root: Path) -> list[str]:
    form = re.compile(re.escape(task_of(root)) + r"_\d{6}")
    return sorted(each.name for each in _children(root) if form.fullmatch(each.name) and each.is_dir())


def _hint(root: Path) -> str:
    """Which tasks a folder of recordings holds, where it was given instead of one of them."""
    tasks = sorted(each.name for each in _children(root) if (each / "meta" / "info.json").is_file())
    more = ", ..." if len(tasks) > MOST_NAMED else ""
    return f"; tasks in this folder: {', '.join(tasks[:MOST_NAMED])}{more}" if tasks else ""


def _children(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _faults(document: Mapping[str, Any], root: Path, path: Path) -> list[Fault]:
    found = []

    def fault(key: str, expected: str) -> None:
        found.append(Fault(task_of(root), key, repr(document.get(key)), expected, path=str(path)))

    for key, (form, template) in TEMPLATES.items():
        value = document.get(key, template)
        if not (isinstance(value, str) and form.fullmatch(value)):
            fault(key, f"a template as {template!r}")
    size = document.get("chunks_size", CHUNKS_SIZE)
    if not (_is_count(size) and 1 <= size <= MOST_CHUNKS_SIZE):
        fault("chunks_size", f"a whole number from 1 to {MOST_CHUNKS_SIZE}")
    fps = document.get("fps", 30.0)
    if not (isinstance(fps, int | float) and not isinstance(fps, bool) and 0 < fps <= 1000):
        fault("fps", "frames a second, above 0")
    for key in ("features", "cameras", "video_extensions"):
        if not isinstance(document.get(key, {}), dict):
            fault(key, "an object")
    for key in ("total_episodes", LAST_NUMBER):
        if not _is_count(document.get(key, 0)):
            fault(key, "a whole number")
    return found


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= (1 << 53)


def _parsed(document: Mapping[str, Any], root: Path) -> Info:
    templates = {key: document.get(key, template) for key, (_, template) in TEMPLATES.items()}
    features = {key: value for key, value in document.get("features", {}).items() if isinstance(value, dict)}
    name = document.get("task_name")
    return Info(
        layout=Layout(root, document.get("chunks_size", CHUNKS_SIZE), **templates),
        fps=float(document.get("fps", 30.0)),
        task_name=name if isinstance(name, str) else task_of(root),
        features=features,
        extensions={key: str(value) for key, value in document.get("video_extensions", {}).items()},
        scales={key: value["scale"] for key, value in features.items() if is_scale(value.get("scale"))},
        total_episodes=document.get("total_episodes", 0),
        last_number=document.get(LAST_NUMBER, 0),
        document=document,
    )


def is_scale(value: Any) -> bool:
    """Whether a recorded matrix scale can be one: a whole number from 1 on."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1
