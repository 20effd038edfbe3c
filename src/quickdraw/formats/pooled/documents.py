"""The small files and the folders of a task as they may lie on a disk: anything can stand where one is expected.

A pipe would wait for its other end for ever, and a link in place of a lock would have us write to what it leads to. A
folder may be a link, to another disk say, and so may be a document that is read.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from quickdraw.errors import Fault, Refused
from quickdraw.formats.pooled.layout import Layout, task_of


def read_regular(path: Path) -> bytes:
    """What is in a regular file, or in one that a link leads to. Raises OSError, over all else that may be there too.

    Never waits: what is no file is opened, but not read.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        _require_regular(descriptor, path)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def open_lock(path: Path) -> int:
    """The descriptor of a file to lock, which is made where it is missing. What was in it stays.

    Raises OSError where it cannot be, or is a link or no regular file; that is not touched then.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o644)
    try:
        _require_regular(descriptor, path)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def entries(folder: Path, root: Path) -> list[os.DirEntry[str]]:
    """What lies in a folder of the task at `root`, in no order; nothing, where there is no such folder.

    Raises Refused where it cannot be listed: a link that leads to itself, a folder this user may not read.
    """
    try:
        with os.scandir(folder) as found:
            return list(found)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        found_there = error.strerror or str(error)
        fault = Fault(task_of(root), "folder", found_there, "a readable folder", path=str(folder))
        raise Refused([fault]) from error


def is_folder(path: Path) -> bool:
    """Whether a path is a folder itself, and no link to one: a link is unlinked and replaced as a file is."""
    return path.is_dir() and not path.is_symlink()


def refuse_folders(where: str, *paths: Path) -> None:
    """Raise Refused, of all of them, where a folder is in place of a file that is to be written or removed."""
    expected = "a file, or nothing; move the folder away"
    faults = [Fault(where, path.name, "a folder", expected, path=str(path)) for path in paths if is_folder(path)]
    if faults:
        raise Refused(faults)


def remove_empty(folder: Path, layout: Layout) -> None:
    """Remove a folder that holds nothing, and those it leaves empty, up to the task's own and `meta/`.

    One that is gone is passed over. A link to a folder stays, and what cannot be removed.
    """
    while folder not in (layout.root, layout.meta):
        try:
            folder.rmdir()
        except FileNotFoundError:
            pass
        except OSError:  # not empty, or a link
            return
        folder = folder.parent


def _require_regular(descriptor: int, path: Path) -> None:
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "no regular file", str(path))
