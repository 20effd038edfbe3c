"""Tasks that wait to be given to jobs, in a file: a hundred thousand of them would take this process's memory."""

from __future__ import annotations

import os
import pickle
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Kept:
    """Where a task lies: bytes from the start of the file, and how many."""

    offset: int
    size: int


@dataclass(slots=True)
class Spool:
    """The file at `path`, made with the first task. It is not for jobs, and goes with its folder."""

    path: Path
    size: int = 0
    descriptor: int | None = field(default=None)

    def keep(self, task: Any) -> Kept:
        """Append one."""
        if self.descriptor is None:
            self.descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        data = memoryview(pickle.dumps(task))
        kept = Kept(self.size, len(data))
        self.size += len(data)
        while data:
            data = data[os.pwrite(self.descriptor, data, self.size - len(data)) :]
        return kept

    def pickled(self, kept: Kept) -> bytes:
        """One, as it was kept."""
        assert self.descriptor is not None
        data = b""
        while len(data) < kept.size:
            data += os.pread(self.descriptor, kept.size - len(data), kept.offset + len(data))
        return data

    def task(self, kept: Kept) -> Any:
        """One, anew."""
        return pickle.loads(self.pickled(kept))

    def close(self) -> None:
        """Give back the file."""
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None
