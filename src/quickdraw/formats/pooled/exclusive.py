"""One at a time changes a task: the recorder while it records, a tool while it works. Readers need no leave.

The lock is the kernel's, on a hidden file whose path never changes (contract 7.4 says why), and it dies with its owner.
"""

from __future__ import annotations

import errno
import fcntl
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quickdraw.errors import Fault, Refused
from quickdraw.formats.pooled import journal
from quickdraw.formats.pooled.documents import open_lock
from quickdraw.formats.pooled.layout import Layout

LOCK = ".recorder.lock"
# What says that a folder, or the file system it is on, is none to write to or to lock in, and is no fault of ours.
_UNUSABLE = {
    errno.EROFS: "a read-only file system",
    errno.EACCES: "a folder this user may not write to",
    errno.EPERM: "a folder this user may not write to",
    errno.ENOTDIR: "a file where a folder should be",
    errno.EEXIST: "a file where a folder should be",
    errno.EISDIR: "a folder where the lock should be",
    errno.ELOOP: "a link where the lock should be, which is not followed",
    errno.EINVAL: "a pipe or the like where the lock should be",
    errno.ENXIO: "a socket or the like where the lock should be",
    errno.ENOLCK: "a file system that has no locks to give",
    errno.EOPNOTSUPP: "a file system without locks",
    errno.ENOSYS: "a file system without locks",
}


@contextmanager
def changing(layout: Layout) -> Iterator[None]:
    """Hold a task alone, and first of all mend what a dead holder left (`journal.recover`).

    Creates `meta/` where the task is new. Raises Refused where another process, or this one already, holds it, where
    the folder cannot be written to or locked, or where what should be the lock is no file of its own.
    """
    path = layout.meta / LOCK
    with _refused_where_unusable(layout):
        layout.meta.mkdir(parents=True, exist_ok=True)
        descriptor = open_lock(path)
    try:
        with _refused_where_unusable(layout):
            _take(descriptor, path, layout)
        journal.recover(layout)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _refused_where_unusable(layout: Layout) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _UNUSABLE:
            raise
        found = f"{_UNUSABLE[error.errno]} ({error.strerror})"
        fault = Fault(
            layout.task,
            "task",
            found,
            "a folder that can be written to and locked",
            path=str(error.filename or layout.root),
        )
        raise Refused([fault]) from error


def _take(descriptor: int, path: Path, layout: Layout) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 300, 0).decode("utf-8", "replace").strip() or "unknown"
        found = f"a recording or another tool is at work (pid {holder})"
        expected = "one at a time; wait for it, or end it"
        raise Refused([Fault(layout.task, "task", found, expected, path=str(path))]) from None
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()} of machine {platform.node()}\n".encode(), 0)  # a network's locks reach far
