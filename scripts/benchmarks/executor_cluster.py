"""A Ray cluster of this machine for a measurement: a head without CPUs and one node, processes of their own.

What tasks cost there is no child of the command that is measured, so that the cluster's CPU time is looked at beside.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

RAY = Path(sys.executable).with_name("ray")
HEAD, NODE = "127.0.0.1", "127.0.0.2"
STORE_BYTES = 100 << 20  # of a node's objects; Ray takes no less than 75 MB
STARTED = "Ray runtime started"
SAMPLE_S = 0.2
TICKS = os.sysconf("SC_CLK_TCK")
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "PYTHONUNBUFFERED": "1"}
NOT_INHERITED = ("RAY_ADDRESS", "PYTHONWARNINGS")

type Process = tuple[int, int]  # its id and its start, for ids are used again


@contextmanager
def ray_of_this_machine(cpus: int) -> Iterator[tuple[str, BesideCpu]]:
    """A cluster of so many CPUs until the block is left: its address, and what it has taken of CPU time."""
    folder = Path(tempfile.mkdtemp(prefix="q-bench-", dir="/tmp"))  # sockets lie below: their paths must be short
    port, started = _free_port(), list[subprocess.Popen[str]]()
    address = f"{HEAD}:{port}"
    try:
        of_head = ("--head", f"--port={port}", f"--ray-client-server-port={_free_port()}")
        started.append(_start(folder / "head", HEAD, 0, *of_head, "--include-dashboard=false"))
        started.append(_start(folder / "node", NODE, cpus, f"--address={address}"))
        beside = BesideCpu(tuple(process.pid for process in started))
        with beside.watching():
            yield address, beside
    finally:
        for process in reversed(started):
            _end(process)
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(slots=True)
class BesideCpu:
    """CPU time of processes and all below them, those that have ended too, as far as they were seen.

    Ray's processes are not waited for by their parents in a way that adds up, so each one's time is looked at now and
    then; what a process takes after the last look is missed.
    """

    roots: tuple[int, ...]
    seen_s: dict[Process, float] = field(default_factory=dict)
    ended: threading.Event = field(default_factory=threading.Event)

    def taken_s(self) -> float:
        """All of it until now."""
        self._look()
        return sum(self.seen_s.values())

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look now and then until the block is left."""
        thread = threading.Thread(target=self._watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self.ended.set()
            thread.join()

    def _watch(self) -> None:
        while not self.ended.wait(SAMPLE_S):
            self._look()

    def _look(self) -> None:
        self.seen_s.update(_processes(self.roots))


def _processes(roots: Iterable[int]) -> dict[Process, float]:
    """The processes and all below them that are there, and the CPU time [s] each has taken."""
    found = {}
    for pid in [pid for root in roots for pid in _below(root)]:
        with suppress(OSError):
            told = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            found[pid, int(told[19])] = (int(told[11]) + int(told[12])) / TICKS
    return found


def _below(pid: int) -> Iterator[int]:
    yield pid
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from _below(int(child))


def _start(folder: Path, address: str, cpus: int, *more: str) -> subprocess.Popen[str]:
    """A node that is there, and ends with the process that is returned. Raises OSError where it does not come up."""
    command = [str(RAY), "start", f"--node-ip-address={address}", f"--num-cpus={cpus}", "--block",
               f"--object-store-memory={STORE_BYTES}", f"--temp-dir={folder}", *more]  # fmt: skip
    kept = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    kept["HOME"] = str(folder.parent)  # in the user's there may be a token that another cluster asks for
    process = subprocess.Popen(
        command, env=kept | QUIET, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if STARTED in line:
            return process
    process.wait()
    raise OSError(f"{' '.join(command)}\n{''.join(said)}")


def _end(process: subprocess.Popen[str]) -> None:
    """End a node, in good order where that is quick; of what goes on all the same, nothing is left."""
    below = _processes((process.pid,))
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=10)
    for left in below.keys() & _processes(pid for pid, _ in below).keys():
        with suppress(ProcessLookupError):
            os.kill(left[0], signal.SIGKILL)
    process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HEAD, 0))
        port: int = probe.getsockname()[1]
        return port
