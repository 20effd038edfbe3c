"""Which jobs of a driver there are, and their end: asked of Slurm, or of this machine where jobs are its processes.

Both know a driver's jobs by the name of its folder, not by ids that somebody had to write down in time: a driver that
is killed while it submits leaves none that cannot be found.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

COMMANDS = ("sbatch", "scancel", "squeue", "srun")
NEVER = re.compile(r"PartitionTimeLimit|PartitionNodeLimit|BadConstraints|Invalid\w+|MaxMemPerLimit|\w*PerJob\w*")
HELD = re.compile(r"launch[ _]failed[ _]requeued[ _]held|JobHoldMaxRequeue")  # nodes could not start it
PATIENCE_S = 120  # that cancelled jobs are waited for: Slurm kills what stays for 30 s, and then cleans up
AGAIN_S = 30  # after which they are cancelled again: a controller that is busy may not have answered
TOLD = re.compile(r"(SLURM|SLURMD|SRUN|SUBMITIT)_|SBATCH_(CPU|MEM)_BIND")  # what Slurm, or submitit, told a job
OF_SITE = ("SLURM_CONF", "SLURM_CLUSTERS", "SLURM_JWT")  # which say where Slurm is, and who asks it
KILLING_S = 10  # that processes which are killed may start others


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
        asked = answer_of("squeue", "--noheader", "--array", "--format=%i %r", f"--name={self.name}")
        if asked is None:
            return None
        lines = [line.partition(" ") for line in asked.splitlines() if line[:1].isdigit()]
        return {job: reason.strip() for job, _, reason in lines}

    def cancel(self, ids: Collection[str] = ()) -> None:
        """The first kills what runs, for SIGTERM would leave it half a minute; the second takes what waits."""
        which = sorted(ids) or [f"--name={self.name}"]
        for signals in (["--signal=KILL"], []):
            answer_of("scancel", *signals, *which)


def answer_of(command: str, *arguments: str) -> str | None:
    """What a command of Slurm's says, whatever its user set it to by variables; None where it fails, or takes long."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("SQUEUE_", "SCANCEL_"))}
    try:
        said = subprocess.run(
            [command, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
            env=own,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if said.returncode else said.stdout


@dataclass(frozen=True, slots=True)
class LocalQueue:
    """Processes of this machine that submitit's controller of a folder is, or has started."""

    folder: Path

    def alive(self) -> dict[str, str] | None:
        """Asked of /proc."""
        return {job: "" for _, job in self._processes()}

    def cancel(self, ids: Collection[str] = ()) -> None:
        """Kill them, and what they started meanwhile."""
        until_s = time.monotonic() + KILLING_S
        while found := [process for process, job in self._processes() if not ids or job in ids]:
            for process in found:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(process, signal.SIGKILL)
            if time.monotonic() > until_s:
                break
            time.sleep(0.01)

    def _processes(self) -> Iterator[tuple[int, str]]:
        """Each with its job: the controller, which gives it its id, and what that started."""
        command = os.fsencode(f" {shlex.quote(str(self.folder))}")  # how the one of a job ends
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal() and int(entry.name) != os.getpid():
                with suppress(OSError):
                    lines = (entry / "environ").read_bytes().split(b"\0")
                    variables = dict(line.partition(b"=")[::2] for line in lines)
                    if variables.get(b"SUBMITIT_LOCAL_COMMAND", b"").endswith(command):
                        yield int(entry.name), variables.get(b"SUBMITIT_LOCAL_JOB_ID", b"").decode() or entry.name


@contextmanager
def sites_environment(asked: Iterable[str]) -> Iterator[None]:
    """Inside the block sbatch finds what the site and its user set for it, and nothing that contradicts what is asked.

    `asked` are names as sbatch has them for its variables, which outdo what a job's script says. Where this process
    runs in a job itself, Slurm would take what it told that one for what new jobs are to have.
    """
    contrary = {f"SBATCH_{name}" for name in asked}
    in_job = "SLURM_JOB_ID" in os.environ
    for_it = {name for name in os.environ if in_job and TOLD.match(name) and name not in OF_SITE}
    hidden = {name: os.environ.pop(name) for name in [*os.environ] if name in contrary | for_it}
    try:
        yield
    finally:
        os.environ.update(hidden)


def wait_until_gone(queue: Queue, patience_s: float) -> bool:
    """Whether its jobs are gone, at the latest when patience is."""
    until_s, pause_s = time.monotonic() + patience_s, 0.05
    while queue.alive() != {}:
        if time.monotonic() > until_s:
            return False
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, 2.0)
    return True


def end_all(queue: Queue) -> bool:
    """Cancel its jobs, and wait until they are gone; whether they are."""
    until_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < until_s:
        queue.cancel()
        if wait_until_gone(queue, AGAIN_S):
            return True
    return False
