"""A dataset appears whole or not at all: it grows in a hidden sibling of its place and is put there by renaming."""

from __future__ import annotations

import shutil
from pathlib import Path

from quickdraw.errors import Fault, Refused
from quickdraw.pipeline.documents import read_provenance


def staging_folder(output: Path) -> Path:
    """Where the dataset for `output` grows."""
    return output.parent / f".{output.name}.building"


def _retired_folder(output: Path) -> Path:
    """Where the dataset that was at `output` waits while the new one takes its place."""
    return output.parent / f".{output.name}.retired"


def refuse_foreign(output: Path) -> None:
    """Raise Refused where `output` holds something that is not a dataset of ours, which publishing would replace."""
    if not output.exists() or (output.is_dir() and not any(output.iterdir())):
        return
    try:
        read_provenance(output)
    except Refused as refused:
        found = "a folder that quickdraw did not build" if output.is_dir() else "a file"
        raise Refused([Fault("output", "dir", found, "nothing there, or a dataset built by quickdraw",
                             path=str(output), option="+output.dir=<another folder>")]) from refused  # fmt: skip


def begin(output: Path) -> Path:
    """An empty staging folder, what an earlier, interrupted build left at either place mended first."""
    staging, retired = staging_folder(output), _retired_folder(output)
    if retired.exists() and not output.exists():
        retired.rename(output)
    for leftover in (staging, retired):
        if leftover.exists():
            shutil.rmtree(leftover)
    staging.mkdir(parents=True)
    return staging


def publish(staging: Path, output: Path) -> None:
    """Put the finished folder in its place; the one that was there is removed last."""
    retired = _retired_folder(output)
    if output.exists():
        output.rename(retired)
    staging.rename(output)
    if retired.exists():
        shutil.rmtree(retired)
