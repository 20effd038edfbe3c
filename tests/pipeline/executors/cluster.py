"""A Ray cluster of several nodes on this machine, each a set of processes that can be killed as a machine can.

Every process of a node inherits a mark in its environment, by which it is found whoever its parent is by then. A
process of its own (this file, run) waits for the end of the one that holds the cluster, however it comes, and
then leaves nothing of it.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from types import TracebackType

RAY = Path(sys.executable).parent / "ray"
MARK = "QUICKDRAW_RAY_NODE"
NODES = 2  # besides the head
STORE_BYTES = 80 << 20  # of a node's objects; Ray takes no less than 75 MB
ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_raylet_start_wait_time_s": "120",
    # A silent node is taken for dead after 2 s, not 10: tests wait for it. One that answers late is not.
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_failure_threshold": "4",
    "RAY_health_check_initial_delay_ms": "500",
}
NOT_INHERITED = ("RAY_ADDRESS", "PYTHONWARNINGS", "COVERAGE_PROCESS_START")


def marked(mark: str) -> list[int]:
    """The processes, alive, whose environment has a mark that begins so."""
    found, sought = [], f"{MARK}={mark}".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):  # it has ended meanwhile
                if any(line.startswith(sought) for line in (entry / "environ").read_bytes().split(b"\0")):
                    found.append(int(entry.name))
    return found


def kill_marked(mark: str) -> None:
    """Kill -9 all of them, and what they start meanwhile."""
    while processes := marked(mark):
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.02)


def wait_until_gone(process: int) -> None:
    """Up to 5 s."""
    until = time.monotonic() + 5
    while Path(f"/proc/{process}").exists() and time.monotonic() < until:
        time.sleep(0.02)


def free_port(address: str) -> int:
    """One that neither the system gives away meanwhile, nor Ray its workers: below the one's, above the other's."""
    while True:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind((address, random.randrange(25_000, 32_000)))
            port: int = probe.getsockname()[1]
            return port


@dataclass(frozen=True)
class Node:
    """A node: its address, by which Ray names it, the mark of its processes, and whether it is like the driver."""

    address: str
    mark: str
    plain: bool

    @property
    def processes(self) -> list[int]:
        return marked(self.mark)


@dataclass
class Cluster:
    """A head without CPUs, which drivers are attached to, and two nodes of one each."""

    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="q-ray-", dir="/tmp")))
    nodes: list[Node] = field(default_factory=list)
    numbers: Iterator[int] = field(
        default_factory=lambda: count(1)
    )  # of nodes, of which several may be started at once

    def __enter__(self) -> Cluster:
        self.port, self.client_port = free_port("127.0.0.1"), free_port("127.0.0.1")
        reaping = [sys.executable, "-IS", __file__, str(self.folder)]
        self.reaper = subprocess.Popen(reaping, stdin=subprocess.PIPE, start_new_session=True)
        try:
            ports = (f"--port={self.port}", f"--ray-client-server-port={self.client_port}")
            more = ("--head", *ports, "--include-dashboard=false", "--no-monitor", "--disable-usage-stats")
            self.head = self._ready(*self._start(more, cpus=0, env={}))
            starting = [self._start(self._joining, cpus=1, env={}) for _ in range(NODES)]
            self.nodes += [self._ready(*one) for one in starting]
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def address(self) -> str:
        """What a driver of this machine connects to."""
        return f"127.0.0.1:{self.port}"

    @property
    def client_address(self) -> str:
        """What Ray Client connects to."""
        return f"ray://127.0.0.1:{self.client_port}"

    @property
    def _joining(self) -> Sequence[str]:
        return (f"--address={self.address}",)

    def add_node(self, *, env: Mapping[str, str] | None = None, cpus: int = 1, under: Sequence[str] = ()) -> Node:
        """A further node, with `env` in its environment, started by the command `under`."""
        node = self._ready(*self._start(self._joining, cpus=cpus, env=env or {}, under=under))
        self.nodes.append(node)
        return node

    def kill(self, node: Node) -> None:
        """What a power cut does to a machine: all of its processes are gone."""
        kill_marked(node.mark)
        self.nodes.remove(node)

    def retire(self, node: Node) -> None:
        """Let it say goodbye, so that nobody waits for it, and end it."""
        for process in node.processes:
            with contextlib.suppress(OSError):  # it has ended meanwhile
                if b"/raylet/raylet" in Path(f"/proc/{process}/cmdline").read_bytes():
                    os.kill(process, signal.SIGTERM)
                    wait_until_gone(process)
        self.kill(node)

    def restore(self) -> None:
        """Two plain nodes, as at first."""
        for node in [node for node in self.nodes if not node.plain]:
            self.retire(node)
        while len(self.nodes) < NODES:
            self.add_node()

    def close(self) -> None:
        """Leave nothing behind: no process, no file."""
        assert self.reaper.stdin is not None
        self.reaper.stdin.close()
        self.reaper.wait()

    def _start(
        self, more: Sequence[str], *, cpus: int, env: Mapping[str, str], under: Sequence[str] = ()
    ) -> tuple[Node, subprocess.Popen[str]]:
        """Each node has an address of this machine to itself: nodes are told by it, and drivers find the head's."""
        number = next(self.numbers)
        node = Node(f"127.0.0.{number}", f"{self.folder}/{number}/", not env and not under)
        command = [*under, str(RAY), "start", f"--node-ip-address={node.address}", f"--num-cpus={cpus}",
                   f"--object-store-memory={STORE_BYTES}", "--include-log-monitor=false",
                   f"--temp-dir={self.folder}/{number}", *more]  # fmt: skip
        kept = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
        # Of a home with ~/.ray/auth_token Ray takes that it is to ask whoever joins for it.
        environment = {**kept, **ENVIRONMENT, "HOME": str(self.folder), MARK: node.mark, **env}
        return node, subprocess.Popen(
            command, env=environment, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip

    def _ready(self, node: Node, starting: subprocess.Popen[str]) -> Node:
        said, _ = starting.communicate(timeout=120)
        assert starting.returncode == 0, said
        return node


def reap(folder: Path) -> None:
    """Wait until the holder of the cluster closes our stdin, or dies; then end what is left of it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stdin.read()
    kill_marked(f"{folder}/")
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    reap(Path(sys.argv[1]))
