"""Legacy shards: files of v1.1.0 that hold the rows of many episodes, read and rewritten under a lock (contract 7.4).

The lock is on an empty file beside them, whose inode stays while theirs changes with every rewrite.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from quickdraw.formats import durable
from quickdraw.formats.pooled import row_tables
from quickdraw.formats.pooled.layout import Layout


@contextmanager
def rewriting(layout: Layout) -> Iterator[None]:
    """Hold the task's shards alone. Waits for another holder, who holds them for one rewrite only."""
    layout.rows.mkdir(parents=True, exist_ok=True)
    with layout.shard_lock.open("ab") as anchor:
        fcntl.flock(anchor, fcntl.LOCK_EX)
        yield


def holders(layout: Layout, number: int) -> list[Path]:
    """The files besides the episode's own that hold a row of N: files of the old name, shards of any name."""
    own = layout.row(number)
    found = []
    for path in dict.fromkeys((own, layout.old_row(number), layout.shard(number))):
        table = row_tables.read_table(path)
        if table is not None and number in row_tables.numbers_in(table) and (path != own or row_tables.is_shard(table)):
            found.append(path)
    return found


def drop(layout: Layout, number: int) -> list[Path]:
    """Take N's row out of every file that is not its own, and tell which those were.

    The other rows stay as they are, columns of later versions included; a file without any row left is removed. The
    lock is not touched where there is nothing to do: today's layout needs none.
    """
    if not holders(layout, number):
        return []
    with rewriting(layout):
        changed = holders(layout, number)
        for path in changed:
            table = row_tables.read_table(path)
            kept = table.filter(pa.array([each != number for each in row_tables.numbers_in(table)]))
            if kept.num_rows:
                durable.write_aside(path, [row_tables.table_bytes(kept)])
            else:
                path.unlink()
            durable.sync(path.parent)
    return changed
