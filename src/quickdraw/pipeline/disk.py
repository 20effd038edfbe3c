"""How much disk the result will take, and whether there is so much."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from quickdraw.errors import Fault
from quickdraw.pipeline.amounts import size
from quickdraw.pipeline.publish import parts_folder
from quickdraw.pipeline.settings import Settings

if TYPE_CHECKING:
    from quickdraw.pipeline.plan import BuildPlan

# Every picture is kept twice, in media/ and joined in the split.
COPIES = 2


def disk_faults(plan: BuildPlan, settings: Settings) -> list[Fault]:
    """What is wrong where the disk is too small for what has still to be written.

    Clips that are finished or published already are linked, not written again: at most every picture's one copy in
    media/. (Those of other settings are no use and count all the same: better to try than to refuse what may fit.)
    """
    estimate, free = estimated_bytes(plan, settings), free_bytes(settings.output)
    there = _bytes_in(settings.output / "media") + _bytes_in(parts_folder(settings.output))
    needed = estimate - min(there, estimate // COPIES)
    if needed <= free:
        return []
    found, expected = f"{size(free)} free", f"about {size(needed)} for the result"
    return [Fault("source", "disk", found, expected, path=str(settings.output), option="+output.dir=<folder>")]


def estimated_bytes(plan: BuildPlan, settings: Settings) -> int:
    """About how large the dataset will be."""
    per_row = sum(settings.encodings[camera].picture_bytes for camera in settings.source.cameras)
    return int(sum(plan.lengths.values()) * per_row * COPIES)


def free_bytes(output: Path) -> int:
    """Free disk where the output will lie."""
    existing = output.absolute()
    while not existing.exists():
        existing = existing.parent
    return shutil.disk_usage(existing).free


def _bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
