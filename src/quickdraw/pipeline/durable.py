"""Bytes that are on the disk, not only on their way to it."""

from __future__ import annotations

import os
from pathlib import Path


def sync(path: Path) -> None:
    """Return when a file, or the names in a folder, are down on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(root: Path) -> None:
    """Return when everything below `root` is."""
    for folder, _, files in root.walk(top_down=False):
        for name in files:
            if (folder / name).is_file() and not (folder / name).is_symlink():  # a pipe would wait for its other end
                sync(folder / name)
        sync(folder)
