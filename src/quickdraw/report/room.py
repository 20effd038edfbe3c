"""Whether a disk has room, for programs that do not say why they could not write."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

LEAST_BYTES: Final = 1 << 16  # what is left where a larger piece did not fit


def is_full(folder: Path) -> bool:
    """Whether nothing more can be written to a folder's disk."""
    return shutil.disk_usage(folder).free < LEAST_BYTES
