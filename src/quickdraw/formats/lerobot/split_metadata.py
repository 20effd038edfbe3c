"""meta/ of anybody's split but info.json: episodes, tasks and statistics. All of it raises Refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from quickdraw.errors import Refused
from quickdraw.formats.lerobot import schema
from quickdraw.formats.lerobot.arrays import opened
from quickdraw.formats.lerobot.info import read_object, split_fault

TEXTS: Final = ("string", "large_string")


def read_episodes(root: Path) -> list[dict[str, Any]]:
    """meta/episodes, a dict an episode, without statistics."""
    folder = root / "meta/episodes"
    files = sorted(folder.glob("*/*.parquet"))
    if not files:
        raise Refused([split_fault(root, folder, "episodes", "no files")])
    try:
        names = [name for name in pq.read_schema(opened(files[0])).names if not name.startswith("stats/")]
        tables = [pq.read_table(opened(file), columns=names) for file in files]
        rows: list[dict[str, Any]] = pa.concat_tables(tables).to_pylist()
    except (OSError, ValueError, pa.ArrowException) as error:
        raise Refused([split_fault(root, folder, "episodes", f"unreadable ({error})")]) from error
    return rows


def read_tasks(root: Path) -> list[str]:
    """Task texts, by task_index.

    They are the index of a table of pandas, which has other names than `task` where early converters wrote it.
    """
    path = root / schema.TASKS_PATH
    try:
        table = pq.read_table(opened(path)).sort_by("task_index")
        texts = [name for name in table.column_names if str(table[name].type) in TEXTS]
        if not texts:
            raise Refused([split_fault(root, path, "tasks", f"no texts in {', '.join(table.column_names)}")])
        return list(map(str, table["task" if "task" in texts else texts[0]].to_pylist()))
    except (OSError, LookupError, ValueError, pa.ArrowException) as error:
        raise Refused([split_fault(root, path, "tasks", f"unreadable ({error})")]) from error


def read_statistics(root: Path) -> dict[str, dict[str, Any]]:
    """meta/stats.json: feature -> statistic -> nested lists."""
    path = root / schema.STATS_PATH
    try:
        told = read_object(path)
    except (OSError, ValueError) as error:
        raise Refused([split_fault(root, path, "stats.json", f"unreadable ({error})")]) from error
    odd = [name for name, described in told.items() if not isinstance(described, dict)]
    if odd:
        raise Refused([split_fault(root, path, f"stats.json {name}", "no object") for name in odd])
    return told
