"""A process that gives tasks to a Ray cluster: ADDRESS SCENARIO [CPUS [WORKERS]]. JSON of what was seen, on stdout."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from quickdraw.errors import Refused
from quickdraw.pipeline.executors.ray_cluster import RayCluster, ray_cluster

NUMBERS = range(1, 201)
MINE = Path("/proc/self/cmdline")  # other processes see another file


def slowly(number: int) -> int:
    """A task of some length."""
    time.sleep(0.1)
    return number


def large(size: int) -> bytes:
    """A result that does not travel with the answer, but through Ray's store."""
    return b"x" * size


def plain(executor: RayCluster) -> Any:
    """What a caller sees: workers, how far tasks are read ahead of results, what signals do, and unseen places."""
    read, ahead, results = 0, 0, list[int]()

    def tasks() -> Iterator[int]:
        nonlocal read
        for read in NUMBERS:
            yield -read

    for result in executor.run(abs, tasks()):
        ahead = max(ahead, read - len(results))
        results.append(result)
    handlers = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    seen = {
        "workers": executor.workers,
        "whole": sorted(results) == list(NUMBERS),
        "ahead": ahead,
        "ours": handlers == (signal.SIG_DFL, signal.default_int_handler),
        "large": [len(found) for found in executor.run(large, [1 << 20])],
    }
    try:
        executor.refuse_unseen(MINE)
    except Refused as refused:
        seen["unseen"] = str(refused)
    return seen


def until_refused(executor: RayCluster) -> Any:
    """Tasks for as long as nobody refuses one."""
    print("begun", flush=True)
    return len(list(executor.run(slowly, range(3000))))


def asked(executor: RayCluster) -> Any:
    """All nodes, whether they are like this process."""
    executor.refuse_unseen(Path("/"))


SCENARIOS: dict[str, Callable[[RayCluster], Any]] = {"plain": plain, "until_refused": until_refused, "asked": asked}


def main(address: str, scenario: str, cpus: str = "1", workers: str = "0") -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    limit = int(workers) or None
    try:
        with ray_cluster(
            address=address, task_cpus=float(cpus), task_memory_mb=None, retries=3, workers=limit
        ) as executor:
            seen = SCENARIOS[scenario](executor)
    except Refused as refused:
        seen = {"refused": [str(fault) for fault in refused.faults]}
    print(json.dumps(seen))


if __name__ == "__main__":
    main(*sys.argv[1:])
