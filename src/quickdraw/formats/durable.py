"""Bytes that are on the disk, not only on their way to it."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import batched
from pathlib import Path
from stat import S_ISREG

WAITING = 16  # files at once: each waits, and does nothing meanwhile
BATCH = 1024  # files that are listed before they are waited for


def sync(path: Path) -> None:
    """Return when a file, or the names in a folder, are down on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def aside(path: Path) -> Path:
    """Where a file grows before it gets its name: hidden, and in the same folder, so that a rename puts it in place."""
    return path.with_name(f".{path.name}.tmp")


def lay_aside(path: Path, pieces: Iterable[bytes]) -> Path:
    """Put all of `pieces` on the disk under the hidden name of `path`, which is returned; nothing, where that fails.

    What is there goes first: a link would be followed, and a pipe would wait for its other end. A folder stays, and
    IsADirectoryError is raised.
    """
    fresh = aside(path)
    if os.path.lexists(fresh):
        fresh.unlink()
    try:
        with fresh.open("xb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        with contextlib.suppress(OSError):
            fresh.unlink(missing_ok=True)  # on a full disk it would keep what the next one needs
        raise
    return fresh


def write_aside(path: Path, pieces: Iterable[bytes]) -> None:
    """Put a file to `path` that is whole at every moment: what was there, or all of `pieces`."""
    fresh = lay_aside(path, pieces)
    try:
        fresh.replace(path)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise


def sync_tree(root: Path) -> None:
    """Return when everything below `root` is. Many files wait for the disk, or a server, together."""
    folders = list[Path]()
    with ThreadPoolExecutor(WAITING) as pool:
        for folder, _, names in root.walk(top_down=False):
            files = (folder / name for name in names)
            for some in batched(filter(_is_plain, files), BATCH):
                deque(pool.map(sync, some), maxlen=0)  # which raises what one of them did
            folders.append(folder)
    for folder in folders:
        sync(folder)


def _is_plain(path: Path) -> bool:
    """Whether it is a file itself: a pipe would wait for its other end."""
    return S_ISREG(path.lstat().st_mode)
