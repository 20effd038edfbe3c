"""What a command costs: wall, CPU of it and of all it started, and the peak memory of each of its processes."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import IO

SAMPLE_S = 0.05
MOST_TOLD = 3000  # characters of a failed command's last words


class CommandFailed(Exception):
    """A measured command ended otherwise than by exit code 0."""

    def __init__(self, command: Sequence[str], code: int, stderr: str) -> None:
        super().__init__(command, code, stderr)
        self.command, self.code, self.stderr = command, code, stderr

    def __str__(self) -> str:
        return f"exit code {self.code} of {' '.join(self.command)}\n{self.stderr[-MOST_TOLD:]}"


class OtherDataset(Exception):
    """Commands that should have made the same dataset made different ones."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The cost of a command; `cpu_s` is user and system time of it and of every process it started and waited for.

    Memory is peak resident, in 10^6 bytes: of the command's own process and of the largest below it (0: none seen).
    """

    wall_s: float
    cpu_s: float
    parent_peak_mb: float
    worker_peak_mb: float


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that ended well: its cost and what it printed."""

    cost: Measured
    stdout: str


@dataclass(slots=True)
class _Watch:
    """Looks at a process and all below it every `SAMPLE_S`; `peaks_kb` is process -> its peak as last seen.

    The kernel keeps the peak, so only what grows after the last look is missed. The last value counts, not the largest:
    between fork and exec a child still shows its parent's.
    """

    pid: int
    peaks_kb: dict[int, int] = field(default_factory=dict)
    ended: threading.Event = field(default_factory=threading.Event)

    def __call__(self) -> None:
        while True:
            for pid in _tree(self.pid):
                if (peak_kb := _peak_kb(pid)) is not None:
                    self.peaks_kb[pid] = peak_kb
            if self.ended.wait(SAMPLE_S):
                return


def run(command: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Ran:
    """Run a command to its end. Raises CommandFailed."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begun_s = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env, cwd=cwd)
        watch = _Watch(process.pid)
        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.terminate()
            process.wait()
            raise
        finally:
            wall_s = time.perf_counter() - begun_s
            watch.ended.set()
            watcher.join()
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise CommandFailed(command, process.returncode, _text(err))
        below_kb = [peak_kb for pid, peak_kb in watch.peaks_kb.items() if pid != process.pid]
        own_kb = watch.peaks_kb.get(process.pid, 0)
        cpu_s = usage.ru_utime + usage.ru_stime
        return Ran(Measured(wall_s, cpu_s, _mb(own_kb), _mb(max(below_kb, default=0))), _text(out))


def middle(costs: Sequence[Measured]) -> Measured:
    """The median of each figure."""
    return _each(costs, median)


def least(costs: Sequence[Measured]) -> Measured:
    """The least of each figure."""
    return _each(costs, min)


def most(costs: Sequence[Measured]) -> Measured:
    """The most of each figure."""
    return _each(costs, max)


def _each(costs: Sequence[Measured], choose: Callable[[Iterable[float]], float]) -> Measured:
    return Measured(
        choose([cost.wall_s for cost in costs]),
        choose([cost.cpu_s for cost in costs]),
        choose([cost.parent_peak_mb for cost in costs]),
        choose([cost.worker_peak_mb for cost in costs]),
    )


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _mb(kb: int) -> float:
    return kb * 1024 / 1e6


def _tree(pid: int) -> Iterator[int]:
    """A process and all below it that are there now."""
    yield pid
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                for child in (task / "children").read_text().split():
                    yield from _tree(int(child))


def _peak_kb(pid: int) -> int | None:
    """Peak resident memory of a process; None where it has none any more."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    return None
