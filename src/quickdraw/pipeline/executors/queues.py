"""Which jobs of a driver there are, and their end: asked of Slurm, or of this machine where jobs are its processes.

Both know a driver's jobs by the name of its folder, not by ids that somebody had to write down in time: a driver that
is killed while it submits leaves none that cannot be found.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

COMMANDS = ("sbatch", "scancel", "squeue", "srun")
NEVER = re.compile(r"PartitionTimeLimit|PartitionNodeLimit|BadConstraints|Invalid\w+|MaxMemPerLimit|\w*PerJob\w*")
HELD = re.compile(r"launch failed requeued held|JobHoldMaxRequeue")  # after a node, or several, could not start it
PATIENCE_S = 120  # that cancelled jobs are waited for: Slurm kills what stays for 30 s, and then cleans up


class Queue(Protocol):
    """A driver's jobs."""

    def alive(self) -> dict[str, str] | None:
        """Those that wait, run or are about to end, by id, and why they wait; None where that cannot be known now."""
        ...

    def cancel(self, ids: Collection[str] = ()) -> None:
        """Have these, or all, ended as soon as may be."""
        ...


def missing_commands() -> list[str]:
    """Those of Slurm's that we, and submitit, need."""
    return [command for command in COMMANDS if shutil.which(command) is None]


@dataclass(frozen=True, slots=True)
class SlurmQueue:
    """Jobs of a name."""

    name: str

    def alive(self) -> dict[str, str] | None:
        """Asked of squeue, which needs no accounting and has jobs until their last process is gone."""
        try:
            command = ["squeue", "--noheader", "--array", "--format=%i %r", f"--name={self.name}"]
            asked = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        except subprocess.TimeoutExpired:
            return None
        lines = [line.partition(" ") for line in asked.stdout.splitlines()]
        return None if asked.returncode else {job: reason.strip() for job, _, reason in lines}

    def cancel(self, ids: Collection[str] = ()) -> None:
        """The first kills what runs, for SIGTERM would leave it half a minute; the second takes what waits."""
        which = sorted(ids) or [f"--name={self.name}"]
        for signals in (["--signal=KILL"], []):
            with suppress(subprocess.TimeoutExpired):
                subprocess.run(["scancel", *signals, *which], capture_output=True, timeout=60, check=False)


@dataclass(frozen=True, slots=True)
class LocalQueue:
    """Processes of this machine in whose environment a folder stands."""

    folder: Path

    def alive(self) -> dict[str, str] | None:
        """Asked of /proc."""
        return {job: "" for _, job in self._processes()}

    def cancel(self, ids: Collection[str] = ()) -> None:
        """Kill them, and what they started meanwhile."""
        while found := [process for process, job in self._processes() if not ids or job in ids]:
            for process in found:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            time.sleep(0.01)

    def _processes(self) -> Iterator[tuple[int, str]]:
        """Each with its job: submitit's controller, which gives it its id, and what that started."""
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal() and int(entry.name) != os.getpid():
                with suppress(OSError):
                    environment = (entry / "environ").read_bytes()
                    if os.fsencode(self.folder) in environment:
                        _, _, rest = environment.partition(b"\0SUBMITIT_LOCAL_JOB_ID=")
                        yield int(entry.name), rest.partition(b"\0")[0].decode() or entry.name


def wait_until_gone(queue: Queue, patience_s: float = PATIENCE_S) -> bool:
    """Whether its jobs are gone, at the latest when patience is."""
    until_s, pause_s = time.monotonic() + patience_s, 0.05
    while queue.alive() != {}:
        if time.monotonic() > until_s:
            return False
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, 2.0)
    return True
