"""A dataset appears whole or not at all: it grows in a hidden sibling of its place and is put there by renaming."""

from __future__ import annotations

import os
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


def refuse_unfit(output: Path) -> None:
    """Raise Refused where no dataset can be put at `output`, an absolute path, or something not ours is there."""
    ground = next(folder for folder in output.parents if folder.exists())
    if not output.name or not ground.is_dir() or not os.access(ground, os.W_OK):
        found = f"{ground} is not a folder we can write in" if output.name else "no folder name"
        raise Refused([Fault("output", "dir", found, "a new folder below a writable one",
                             path=str(output), option="+output.dir=<another folder>")])  # fmt: skip
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
