"""Further names of the same bytes."""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path


def link(file: Path, name: Path, aside: Path | None = None) -> None:
    """Give a file a further name, in a folder that is there, or a copy where the file system knows no such names.

    What has the name already stays: somebody was faster with the same. A copy grows in the folder `aside`, beside its
    name where none is told. A symbolic link is followed: the new name is of what it leads to.
    """
    try:
        os.link(file.resolve(), name)
    except FileExistsError:
        return
    except OSError:
        fresh = (aside or name.parent) / f".{secrets.token_hex(16)}"
        try:
            shutil.copy2(file, fresh, follow_symlinks=file.exists())
            fresh.replace(name)
        finally:
            fresh.unlink(missing_ok=True)
