"""Rules of `meta/tasks.jsonl`: one JSON object a line (contract 5)."""

from __future__ import annotations

from quickdraw.errors import Refused
from quickdraw.formats.pooled.checks.findings import Checking, listed
from quickdraw.formats.pooled.tasks import read_tasks


def check_tasks(checking: Checking) -> None:
    """Rules of the file; leaves in `checking` which task indices there are, where every line could be read."""
    path = checking.info.layout.tasks
    if not path.exists():
        checking.add("tasks-missing", path, "no such file")
        return
    try:
        indices = [task.index for task in read_tasks(path)]
    except Refused as refused:
        for fault in refused.faults:
            checking.add("tasks-line", path, f"line {fault.line}: {fault.found}" if fault.line else fault.found)
        return
    twice = sorted({index for index in indices if indices.count(index) > 1})
    if twice:
        checking.add("tasks-index", path, f"task_index {listed(twice)} more than once")
    checking.task_indices = frozenset(indices)
