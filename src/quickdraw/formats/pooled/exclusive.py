"""One at a time changes a task: the recorder while it records, a tool while it works. Readers need no leave.

The lock is the kernel's, on a hidden file whose path never changes (contract 7.4 says why), and it dies with its owner.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quickdraw.errors import Fault, Refused
from quickdraw.formats.pooled import journal
from quickdraw.formats.pooled.layout import Layout

LOCK = ".recorder.lock"


@contextmanager
def changing(layout: Layout) -> Iterator[None]:
    """Hold a task alone, and first of all mend what a dead holder left (`journal.recover`).

    Creates `meta/` where the task is new. Raises Refused where another process, or this one already, holds it, or where
    the folder cannot be written to.
    """
    path = layout.meta / LOCK
    try:
        layout.meta.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except (PermissionError, NotADirectoryError, FileExistsError) as error:
        fault = Fault(layout.root.name, "task", str(error), "a folder that can be written to", path=str(layout.root))
        raise Refused([fault]) from error
    try:
        _take(descriptor, path, layout)
        journal.recover(layout)
        yield
    finally:
        os.close(descriptor)


def _take(descriptor: int, path: Path, layout: Layout) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip() or "unknown"
        found = f"a recording or another tool is at work (pid {holder})"
        expected = "one at a time; wait for it, or end it"
        raise Refused([Fault(layout.root.name, "task", found, expected, path=str(path))]) from None
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
