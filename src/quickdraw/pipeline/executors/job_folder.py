"""A driver's folder on the shared path: what it tells its jobs, and they tell it. It is locked while the driver lives.

Where one is not locked its driver died, and its jobs are nobody's: the next driver ends them, and removes it.
"""

from __future__ import annotations

import fcntl
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from quickdraw.pipeline.executors.queues import LocalQueue, Queue, SlurmQueue, wait_until_gone

PREFIX = "quickdraw"


def queue_of(folder: Path) -> Queue:
    """Where the jobs of a driver's folder are queued; its name says it."""
    return SlurmQueue(folder.name) if folder.name.startswith(f"{PREFIX}-slurm-") else LocalQueue(folder)


@contextmanager
def own_folder(parent: Path, cluster: str) -> Iterator[Path]:
    """A fresh one; when the block is left it is removed, and `parent` with the last. Raises OSError."""
    token = f"{cluster}-{secrets.token_hex(6)}"
    fresh, folder = parent / f"new-{token}", parent / f"{PREFIX}-{token}"
    fresh.mkdir(parents=True)
    with (fresh / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fresh.rename(folder)  # another driver never sees it without its lock
        try:
            yield folder
        finally:
            _remove(folder)


def end_orphans(parent: Path) -> None:
    """Cancel the jobs of drivers that are dead, wait until they are gone, and remove their folders."""
    for folder in sorted(parent.glob(f"{PREFIX}-*")):
        with suppress(FileNotFoundError, NotADirectoryError, BlockingIOError), (folder / "lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            queue = queue_of(folder)
            queue.cancel()
            wait_until_gone(queue)
            _remove(folder)


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):  # of another driver, which is at it too
        folder.parent.rmdir()
