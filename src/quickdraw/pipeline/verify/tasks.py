"""Which task a row has: LeRobot looks texts up by position, so order is meaning."""

from __future__ import annotations

import numpy as np

from quickdraw.formats.lerobot import schema
from quickdraw.pipeline.verify.ledger import Ledger, first_of
from quickdraw.pipeline.verify.split_view import SplitView

TASKS = "tasks"


def check_tasks(split: SplitView, expected: list[str], ledger: Ledger) -> None:
    """tasks.parquet, each episode's tasks and its rows' `task_index` agree; `expected`, one of each episode, too."""
    path = split.root / schema.TASKS_PATH
    with ledger.checking(TASKS, split.name):
        columns = split.tasks.columns(["task_index", "task"])
        numbers, texts = columns["task_index"], [str(text) for text in columns["task"]]
        ledger.saw(TASKS, len(texts))
        if not np.array_equal(numbers, np.arange(len(texts))):
            found = f"task_index {numbers.tolist()[:8]}"
            ledger.fault(TASKS, split.name, found=found, expected="0, 1, 2, ... in row order", path=path)
        if len(set(texts)) != len(texts):
            ledger.fault(TASKS, split.name, found="a task twice", expected="every task once", path=path)
        pandas = split.tasks.metadata.get("pandas")
        index = pandas.get("index_columns") if isinstance(pandas, dict) else None
        if not isinstance(index, list) or [str(name) for name in index] not in (["task"], ["__index_level_0__"]):
            ledger.fault(TASKS, split.name, found=f"pandas index {index}", expected="the task's text", path=path)
        _check_entries(split, texts, expected, ledger)


def _check_entries(split: SplitView, texts: list[str], expected: list[str], ledger: Ledger) -> None:
    by_rows, by_recording = [], []
    for entry, rows in (episode for part in split.data for episode in part.episodes("task_index")):
        ledger.saw(TASKS)
        found = f"episode {entry.number}: tasks {', '.join(entry.tasks)}"
        used = np.unique(rows).tolist()
        told = {texts[int(n)] if n in range(len(texts)) else f"task {n}, which is none" for n in used}
        if told != set(entry.tasks):
            by_rows.append((found, f"{', '.join(sorted(told))}, by its rows' task_index {used} and tasks.parquet"))
        if entry.number < len(expected) and list(entry.tasks) != [expected[entry.number]]:
            by_recording.append((found, f"{expected[entry.number]}, what it was recorded as"))
    for wrong in (by_rows, by_recording):
        for found, right in first_of(wrong, "more episodes"):
            ledger.fault(TASKS, split.name, found=found, expected=right, path=split.root / "meta/episodes")
