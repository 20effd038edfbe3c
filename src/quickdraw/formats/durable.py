"""Bytes that are on the disk, not only on their way to it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path


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
    """Return when everything below `root` is."""
    for folder, _, files in root.walk(top_down=False):
        for name in files:
            if (folder / name).is_file() and not (folder / name).is_symlink():  # a pipe would wait for its other end
                sync(folder / name)
        sync(folder)
