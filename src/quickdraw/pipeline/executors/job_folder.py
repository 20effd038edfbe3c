"""A driver's folder on the shared path: what it tells its jobs, and they tell it. It is locked while the driver lives.

Where one is not locked its driver died, and its jobs are nobody's: the next driver ends them, and removes it.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from quickdraw.errors import Fault, Refused
from quickdraw.pipeline.executors.queues import LocalQueue, Queue, SlurmQueue, end_all

PREFIX = "quickdraw"
STALE_S = 3600  # after which a folder that never got its name, a moment's work, never will


def queue_of(folder: Path) -> Queue:
    """Where the jobs of a driver's folder are queued; its name says it."""
    return SlurmQueue(folder.name) if folder.name.startswith(f"{PREFIX}-slurm-") else LocalQueue(folder)


@contextmanager
def own_folder(parent: Path, cluster: str) -> Iterator[Path]:
    """A fresh one; when the block is left it is removed, and `parent` with the last. Raises OSError.

    Where there still are jobs it stays, and the next driver ends these.
    """
    token = f"{cluster}-{secrets.token_hex(6)}" + (f"-{os.uname().nodename}" if cluster == "local" else "")
    fresh, folder = parent / f"new-{token}", parent / f"{PREFIX}-{token}"
    fresh.mkdir(parents=True)
    with (fresh / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fresh.rename(folder)  # another driver never sees it without its lock
        try:
            yield folder
        finally:
            if queue_of(folder).alive() == {}:
                _remove(folder)
            else:
                said = f"warning: jobs are not gone yet; the next command with executor=slurm ends them ({folder})"
                print(said, file=sys.stderr)


def end_orphans(parent: Path) -> None:
    """Cancel the jobs of drivers that are dead, wait until they are gone, and remove their folders.

    Raises Refused where they do not go, or are another machine's.
    """
    for folder in sorted(parent.absolute().glob(f"{PREFIX}-*-*")):
        with suppress(FileNotFoundError, NotADirectoryError, BlockingIOError), (folder / "lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _refuse_elsewhere(folder)
            if not end_all(queue_of(folder)):
                found = f"jobs of a command that died, which do not end (their name, or folder: {folder})"
                raise Refused([Fault("slurm", "scancel", found, "that they end; see squeue --me")])
            _remove(folder)
    for fresh in parent.glob("new-*"):
        with suppress(OSError):
            if time.time() - fresh.stat().st_mtime > STALE_S:
                _remove(fresh)


def _refuse_elsewhere(folder: Path) -> None:
    _, cluster, _, *rest = folder.name.split("-", 3)
    machine, here = "".join(rest), os.uname().nodename
    if cluster == "local" and machine != here:
        found = f"jobs of a command that died on {machine}, in {folder}"
        expected = f"the command to be started there, which ends them, or the folder removed (this is {here})"
        raise Refused([Fault("slurm", "cluster=local", found, expected)])


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):  # of another driver, which is at it too
        folder.parent.rmdir()
