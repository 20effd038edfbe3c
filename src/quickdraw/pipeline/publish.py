"""A dataset appears whole or not at all: it grows in a hidden sibling of its place and is put there by renaming."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quickdraw.errors import Fault, Refused
from quickdraw.pipeline.documents import read_provenance
from quickdraw.pipeline.interrupts import interrupts_held

OWN = {"media", "normalization_stats.json", "summary.json", "provenance.json", "progress.log"}  # and the splits


def _staging_folder(output: Path) -> Path:
    """Where the dataset for `output` grows."""
    return output.parent / f".{output.name}.building"


def _retired_folder(output: Path) -> Path:
    """Where the dataset that was at `output` waits while the new one takes its place."""
    return output.parent / f".{output.name}.retired"


def _refusal(output: Path, found: str, expected: str) -> Refused:
    option = "+output.dir=<another folder>"
    return Refused([Fault("output", "dir", found, expected, path=str(output), option=option)])


def refuse_unfit(output: Path) -> None:
    """Raise Refused where no dataset can be put at `output`, an absolute path, or something not ours is there."""
    refuse_unplaceable(output)
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        _refuse_foreign(output)


def refuse_unplaceable(output: Path) -> None:
    """Raise Refused where no folder can be put at `output`, an absolute path, whatever is there."""
    ground = next((folder for folder in output.parents if folder.exists()), None)
    if ground is None or not ground.is_dir() or not os.access(ground, os.W_OK):
        found = f"{ground} is not a folder we can write in" if ground else "the root folder"
        raise _refusal(output, found, "a new folder below a writable one")
    if len(_staging_folder(output).name.encode()) > os.pathconf(ground, "PC_NAME_MAX"):
        raise _refusal(output, "a name too long for the file system", "a shorter name")
    if output.is_mount() or Path.cwd().is_relative_to(output):
        found = "a mount point" if output.is_mount() else "the folder this command was started in"
        raise _refusal(output, f"{found}, which cannot be exchanged", "a folder below it")


def _refuse_foreign(output: Path) -> None:
    """Publishing removes what is there: all of it must be ours."""
    expected = "nothing there, or a dataset built by quickdraw and nothing else"
    try:
        splits = {episode["split"] for episode in read_provenance(output)["episodes"]}
    except (Refused, LookupError, TypeError) as error:
        found = "a folder that quickdraw did not build" if output.is_dir() else "a file"
        raise _refusal(output, found, expected) from error
    foreign = sorted({path.name for path in output.iterdir()} - splits - OWN)
    if foreign:
        raise _refusal(output, f"besides a dataset {', '.join(foreign)}", expected)


def mend(output: Path) -> None:
    """Put back the dataset that a publishing which died between its two renames left aside."""
    retired = _retired_folder(output)
    if retired.exists() and not output.exists():
        retired.rename(output)


@contextmanager
def staging(output: Path) -> Iterator[Path]:
    """An empty folder to build in, ours alone; gone when the block is left.

    What an earlier, interrupted build left is mended first. Raises Refused where another build holds the place; its
    hold ends with its process.
    """
    made = [folder for folder in output.parents if not folder.exists()]
    folder, retired = _staging_folder(output), _retired_folder(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _refusal(output, str(error), "a place where a folder can be made") from error
    lock = _hold(folder, output)
    try:
        for leftover in folder.iterdir():
            shutil.rmtree(leftover)
        mend(output)
        shutil.rmtree(retired, ignore_errors=True)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)
        for parent in made:
            if parent.is_dir() and not any(parent.iterdir()):
                parent.rmdir()


def _hold(folder: Path, output: Path) -> int:
    """Lock a staging folder; the open descriptor that holds it."""
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if folder.stat().st_ino != os.fstat(lock).st_ino:  # its builder finished just now and removed it
            raise FileNotFoundError(folder)
    except OSError as error:
        os.close(lock)
        raise _refusal(output, "another build into it is running", "one build at a time") from error
    return lock


def publish(dataset: Path, output: Path) -> None:
    """Put the finished folder in its place, down to the disk; the one that was there is removed last."""
    _sync_tree(dataset)
    retired = _retired_folder(output)
    with interrupts_held():
        if output.exists():
            output.rename(retired)
        try:
            dataset.rename(output)
        except OSError:
            if retired.exists():
                retired.rename(output)
            raise
    _sync(output.parent)
    shutil.rmtree(retired, ignore_errors=True)


def _sync_tree(root: Path) -> None:
    for folder, _, files in root.walk(top_down=False):
        for name in files:
            if (folder / name).is_file() and not (folder / name).is_symlink():  # a pipe would wait for its other end
                _sync(folder / name)
        _sync(folder)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
