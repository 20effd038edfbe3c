"""What makes a folder a task."""

from __future__ import annotations

from pathlib import Path

from quickdraw.formats.pooled.layout import Layout


def is_task(folder: Path) -> bool:
    """Whether a folder holds a pooled task's description, or may: what cannot be looked at must not be passed over."""
    try:
        return Layout(folder).info.is_file()
    except OSError:
        return True
