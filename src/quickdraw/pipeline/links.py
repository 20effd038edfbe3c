"""Further names of the same bytes."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def link(file: Path, name: Path) -> None:
    """Give a file a further name, or copy it where the file system knows no such names; folders are made.

    A symbolic link is followed: the new name is of what it leads to.
    """
    name.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(file.resolve(), name)
    except OSError:
        shutil.copy2(file, name, follow_symlinks=file.exists())
