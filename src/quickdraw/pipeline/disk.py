"""How much disk the result will take, and whether there is so much."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from quickdraw.errors import Fault
from quickdraw.formats.lerobot.schema import MB
from quickdraw.pipeline.publish import parts_folder
from quickdraw.pipeline.settings import Settings

if TYPE_CHECKING:
    from quickdraw.pipeline.plan import BuildPlan

# A picture of 144x192 at crf 10 and a keyframe every 5: measured 2,316 bytes on the sample campaigns and 3,202 on
# simulated ones, whose pictures are all fine grain. Every picture is kept twice, in media/ and joined in the split.
PICTURE_BYTES = 3_000
COPIES = 2
REFERENCE_PX = 144 * 192
REFERENCE_CRF = 10


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
    found, expected = f"{free / MB:,.0f} MB free", f"about {needed / MB:,.0f} MB for the result"
    return [Fault("source", "disk", found, expected, path=str(settings.output), option="+output.dir=<folder>")]


def estimated_bytes(plan: BuildPlan, settings: Settings) -> int:
    """About how large the dataset will be."""
    encoding = settings.encoding
    pixels = encoding.height_px * encoding.width_px / REFERENCE_PX
    quality = 2.0 ** ((REFERENCE_CRF - encoding.crf) / 6)  # x264 halves its bits every 6 steps of crf
    pictures = sum(episode.frames for episode in plan.episodes.values()) * len(settings.source.cameras)
    return int(pictures * PICTURE_BYTES * COPIES * pixels * quality)


def free_bytes(output: Path) -> int:
    """Free disk where the output will lie."""
    existing = output.absolute()
    while not existing.exists():
        existing = existing.parent
    return shutil.disk_usage(existing).free


def _bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
