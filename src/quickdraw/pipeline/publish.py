"""A dataset appears whole or not at all: it grows in a hidden sibling of its place, and the two change places.

What a build has finished stays in that sibling until a dataset is published, for the next try to go on with.
"""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from quickdraw.errors import Fault, Refused
from quickdraw.formats.durable import aside, sync, sync_tree
from quickdraw.pipeline.exchange import exchanged
from quickdraw.pipeline.interrupts import interrupts_deferred
from quickdraw.pipeline.inventory import unlisted
from quickdraw.pipeline.places import LOG, NORMALIZATION, PROVENANCE, SUMMARY
from quickdraw.pipeline.trace import splits_of
from quickdraw.pipeline.view_files import VIEW_FILES, carry_card, obstructed

OWN = {NORMALIZATION, SUMMARY, PROVENANCE, LOG, "media", "measured", "fingerprints", *VIEW_FILES}  # and the splits
LOCK, PARTS = "lock", "parts"


def _staging_folder(output: Path) -> Path:
    """Where the dataset for `output` grows."""
    return output.parent / f".{output.name}.building"


def _retired_folder(output: Path) -> Path:
    """Where the dataset that was at `output` waits while the new one takes its place."""
    return output.parent / f".{output.name}.retired"


def parts_folder(output: Path) -> Path:
    """Where the finished parts of a build for `output` lie until it is published."""
    return _staging_folder(output) / PARTS


def index_file(output: Path) -> Path:
    """Where digests of the files that `output` was made of are remembered."""
    return output.parent / f".{output.name}.index"


def plans_file(output: Path) -> Path:
    """Where the plans of the episodes of `output` are remembered."""
    return output.parent / f".{output.name}.plans"


def jobs_folder(output: Path) -> Path:
    """Where the jobs of a build for `output` that runs on a batch system leave what came of their tasks."""
    return output.parent / f".{output.name}.jobs"


def _index_files(output: Path) -> list[Path]:
    """What is remembered beside `output`, and where that grows."""
    return [place for path in (index_file(output), plans_file(output)) for place in (path, aside(path))]


def _refusal(output: Path, found: str, expected: str) -> Refused:
    option = "+output.dir=<another folder>"
    return Refused([Fault("output", "dir", found, expected, path=str(output), option=option)])


def refuse_unfit(output: Path) -> None:
    """Raise Refused where no dataset can be put at `output`, an absolute path, now: another is, or all is not ours."""
    refuse_unplaceable(output)
    if (_staging_folder(output) / LOCK).exists():
        with _hold(_staging_folder(output), output):
            pass
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        _refuse_foreign(output)


def refuse_unplaceable(output: Path) -> None:
    """Raise Refused where no folder can be put at `output`, an absolute path, whatever is there."""
    ground = next((folder for folder in output.parents if folder.exists()), None)
    if ground is None or not ground.is_dir() or not os.access(ground, os.W_OK):
        found = f"{ground} is not a folder we can write in" if ground else "the root folder"
        raise _refusal(output, found, "a new folder below a writable one")
    longest = max(len(path.name.encode()) for path in (_staging_folder(output), *_index_files(output)))
    if longest > os.pathconf(ground, "PC_NAME_MAX"):
        raise _refusal(output, "a name too long for the file system", "a shorter name")
    _refuse_obstructed(output)
    if output.is_mount() or Path.cwd().is_relative_to(output):
        found = "a mount point" if output.is_mount() else "the folder this command was started in"
        raise _refusal(output, f"{found}, which cannot be exchanged", "a folder below it")


def _refuse_obstructed(output: Path) -> None:
    """What builds keep beside a dataset must be of the kind they keep."""
    staging = _staging_folder(output)
    folders, files = (staging, staging / PARTS, jobs_folder(output)), (staging / LOCK, *_index_files(output))
    for path, right in (*((path, Path.is_dir) for path in folders), *((path, Path.is_file) for path in files)):
        if (path.exists() or path.is_symlink()) and not right(path):
            raise _refusal(path, "something that no build put there", "what a build left, or nothing: please remove it")


def _refuse_foreign(output: Path) -> None:
    """Publishing removes what is there: all of it must be ours."""
    expected = "nothing there, or a dataset built by quickdraw and nothing else"
    try:
        splits = splits_of(output)
    except (Refused, LookupError, TypeError) as error:
        found = "a folder that quickdraw did not build" if output.is_dir() else "a file"
        raise _refusal(output, found, expected) from error
    foreign = sorted({path.name for path in output.iterdir()} - splits - OWN) or sorted(unlisted(output))
    foreign += [f"a {name} that is {what}" for name, what in obstructed(output).items()]
    if foreign:
        raise _refusal(output, f"besides a dataset {', '.join(foreign)}", expected)


def mend(output: Path) -> None:
    """Put back the dataset that a publishing which died between its two renames left aside."""
    retired = _retired_folder(output)
    if retired.exists() and not output.exists():
        retired.rename(output)


@contextmanager
def staging(output: Path) -> Iterator[Path]:
    """The folder in which the dataset for `output` grows; its `parts` are those that earlier tries have finished.

    It is gone afterwards, unless there are parts in it still. Raises Refused where another build holds it.
    """
    made = [folder for folder in output.parents if not folder.exists()]
    folder, retired = _staging_folder(output), _retired_folder(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _refusal(output, str(error), "a place where a folder can be made") from error
    with _hold(folder, output):
        try:
            _clear(folder)
            mend(output)
            shutil.rmtree(retired, ignore_errors=True)
            yield folder
        finally:
            _clear(folder)
            if output.exists():
                shutil.rmtree(retired, ignore_errors=True)
            if not parts_folder(output).exists():
                shutil.rmtree(folder, ignore_errors=True)
            for parent in made:
                if parent.is_dir() and not any(parent.iterdir()):
                    parent.rmdir()


def _clear(folder: Path) -> None:
    """Remove what is of no use to another try."""
    for leftover in folder.iterdir():
        if leftover.is_dir() and leftover.name != PARTS:
            shutil.rmtree(leftover, ignore_errors=True)


@contextmanager
def _hold(folder: Path, output: Path) -> Iterator[None]:
    """Lock a staging folder, and say in it who does. The lock dies with its owner, however that ends."""
    try:
        lock = (folder / LOCK).open("a+")
    except FileNotFoundError as error:  # its builder finished just now and removed it
        raise _refusal(output, "another build into it has just ended", "another try") from error
    with lock:
        _take(lock, output)
        if not _is_still_there(lock, folder / LOCK):
            raise _refusal(output, "another build into it has just ended", "another try")
        lock.truncate(0)
        lock.write(f"process {os.getpid()} on {platform.node()} since {time.strftime('%Y-%m-%d %H:%M:%S %z')}")
        lock.flush()
        os.fsync(lock.fileno())  # workers elsewhere tell by it whether this folder is theirs, too
        yield


def _take(lock: TextIO, output: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise _refusal(output, f"another build into it is running ({_holder(lock)})", "one at a time") from error
    except OSError as error:
        raise _refusal(output, f"a file system without locks ({error.strerror})", "one with flock") from error


def _holder(lock: TextIO) -> str:
    lock.seek(0)
    return lock.read() or "it has just begun"


def _is_still_there(lock: TextIO, path: Path) -> bool:
    return path.exists() and path.stat().st_ino == os.fstat(lock.fileno()).st_ino


def publish(dataset: Path, output: Path) -> None:
    """Put the finished folder in its place, down to the disk; what was there is left for `staging` to remove.

    All but its card, which may hold somebody's words.
    """
    carry_card(output, dataset)
    sync_tree(dataset)
    with interrupts_deferred():
        if not output.exists():
            dataset.rename(output)
        elif not exchanged(dataset, output):
            _rename_both(dataset, output)
        sync(output.parent)
        sync(dataset.parent)


def _rename_both(dataset: Path, output: Path) -> None:
    """Where folders cannot be exchanged: a death between the two renames is mended by `mend`."""
    retired = _retired_folder(output)
    output.rename(retired)
    try:
        dataset.rename(output)
    except OSError:
        retired.rename(output)
        raise
