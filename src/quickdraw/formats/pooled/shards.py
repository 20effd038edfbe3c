"""Legacy shards: files of v1.1.0 that hold the rows of many episodes, read and rewritten under a lock (contract 7.4).

The lock is on an empty file beside them, whose inode stays while theirs changes with every rewrite.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from quickdraw.errors import Fault, Refused
from quickdraw.formats.pooled import journal, row_tables
from quickdraw.formats.pooled.documents import open_lock
from quickdraw.formats.pooled.layout import Layout


@contextmanager
def rewriting(layout: Layout) -> Iterator[None]:
    """Hold the task's shards alone. Waits for another holder, who holds them for one rewrite only.

    Raises Refused where what should be the lock is no file of its own, or may not be written to.
    """
    layout.rows.mkdir(parents=True, exist_ok=True)
    try:
        anchor = open_lock(layout.shard_lock)
    except OSError as error:
        fault = Fault(layout.task, "lock", error.strerror or str(error), "a file to lock", path=str(layout.shard_lock))
        raise Refused([fault]) from error
    try:
        fcntl.flock(anchor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(anchor)


def holders(layout: Layout, number: int) -> list[Path]:
    """The files besides the episode's own that hold a row of N: files of the old name, shards of any name."""
    own = layout.row(number)
    found = []
    for path in dict.fromkeys((own, layout.old_row(number), layout.shard(number))):
        table = row_tables.read_table(path)
        if table is not None and number in row_tables.numbers_in(table) and (path != own or row_tables.is_shard(table)):
            found.append(path)
    return found


type Change = tuple[list[tuple[Path, Path]], list[Path]]  # renames and removals, as `journal.commit` takes them


@contextmanager
def parting(layout: Layout, number: int) -> Iterator[Change]:
    """What takes N's row out of every file that is not its own, made ready to be committed while the context lasts.

    The other rows stay as they are, columns of later versions included; a file without any row left is removed. The
    lock is held meanwhile, but not touched where there is nothing to do: today's layout needs none.
    """
    if holders(layout, number):
        with rewriting(layout):
            yield _parted(layout, number)
    else:
        yield [], []


def _parted(layout: Layout, number: int) -> Change:
    renames, removals = [], []
    for path in holders(layout, number):
        table = row_tables.read_table(path)
        kept = table.filter(pa.array([each != number for each in row_tables.numbers_in(table)]))
        if kept.num_rows:
            renames.append((journal.prepare(path, row_tables.table_bytes(kept)), path))
        else:
            removals.append(path)
    return renames, removals
