"""`meta/tasks.jsonl`: the texts of a task, one JSON object a line, never over several lines (contract 5).

Its readers parse the first line alone; of a pretty-printed file that is `{`, and task 0 is taken for granted silently.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from quickdraw.errors import Fault, Refused
from quickdraw.formats.pooled.documents import read_regular
from quickdraw.formats.pooled.layout import task_of

UNNAMED = "default recording"


@dataclass(frozen=True, slots=True)
class TaskText:
    """What was to be done: `index` as episodes name it, and the `text`."""

    index: int
    text: str


def read_tasks(path: Path) -> tuple[TaskText, ...]:
    """The task texts, in the order of the file. Lines without anything on them are passed over.

    Raises Refused, with the line of every fault, where the file is missing or a line is no complete object of
    `{"task_index": int, "task": str}`; a pretty-printed file is told as one.
    """
    try:
        text = StringIO(read_regular(path).decode("utf-8"), newline=None).read()  # whatever ends its lines
    except (OSError, UnicodeDecodeError) as error:
        raise Refused([_fault(path, f"unreadable ({error})")]) from error
    if _is_pretty(text):
        raise Refused([_fault(path, "one object over several lines", 1)])
    found, faults = [], []
    for line, each in enumerate(text.split("\n"), 1):
        if not each.strip():
            continue
        task = _task(each)
        if task is None:
            faults.append(_fault(path, repr(each[:80]), line))
        else:
            found.append(task)
    if not found and not faults:
        faults.append(_fault(path, "no task"))
    if faults:
        raise Refused(faults)
    return tuple(found)


def task_line(name: str) -> bytes:
    """The whole of a new task's file: one line for the task named `name`."""
    return (json.dumps({"task_index": 0, "task": name or UNNAMED}, ensure_ascii=False) + "\n").encode()


def _fault(path: Path, found: str, line: int | None = None) -> Fault:
    task = task_of(path.parent.parent)
    expected = 'one object a line, as {"task_index": 0, "task": "..."}'
    return Fault(task, path.name, found, expected, path=str(path), line=line)


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_pretty(text: str) -> bool:
    return "\n" in text.strip() and _loaded(text) is not None


def _task(line: str) -> TaskText | None:
    found = _loaded(line)
    if not isinstance(found, dict):
        return None
    index, text = found.get("task_index"), found.get("task")
    if not isinstance(index, int) or isinstance(index, bool) or index < 0 or not isinstance(text, str):
        return None
    return TaskText(index, text)
