"""What handing a task on costs each engine's driver: tasks that do nothing, of the weight of real ones.

`python -m benchmarks.executor_handing <engine> <tasks> <bytes each> [<address of a Ray cluster>]` prints it as JSON.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import ours
from benchmarks.measuring import run
from quickdraw.pipeline.executors import Executor

WARM = 50  # tasks first, so that workers are there
SHARE = 5  # so many times as many tasks are timed the second time: what they take more is a task's own


@dataclass(frozen=True, slots=True)
class Handed:
    """Of a task that does nothing: wall time, its stage's start included, and the driver's CPU time without [ms]."""

    tasks: int
    bytes: int
    wall_ms: float
    driver_cpu_ms: float

    @property
    def tasks_a_second(self) -> float:
        """As many as were seen."""
        return 1e3 / self.wall_ms


def measure_handing(engine: str, tasks: int, size: int, workers: int, address: str = "") -> Handed:
    """Hand on so many tasks in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.executor_handing", engine]
    ran = run([*command, *map(str, (tasks, size, workers)), address], env=ours.environment())
    return Handed(**json.loads(ran.stdout.splitlines()[-1]))


def hand_on(executor: Executor, tasks: int, size: int) -> Handed:
    """What a task costs once its engine is warm."""
    _time(executor, WARM, size)
    few, many = _time(executor, tasks, size), _time(executor, SHARE * tasks, size)
    wall_ms, cpu_ms = many[0] / (SHARE * tasks) * 1e3, (many[1] - few[1]) / ((SHARE - 1) * tasks) * 1e3
    return Handed(SHARE * tasks, size, wall_ms, max(0.0, cpu_ms))


def _time(executor: Executor, tasks: int, size: int) -> tuple[float, float]:
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    found = sum(executor.run(len, _payloads(tasks, size)))
    assert found == tasks * size, found
    return time.perf_counter() - wall_s, time.process_time() - cpu_s


def _payloads(tasks: int, size: int) -> Iterator[bytes]:
    for number in range(tasks):
        yield number.to_bytes(8, "little") * (size // 8) + bytes(size % 8)


def open_engine(engine: str, folder: Path, workers: int, address: str) -> AbstractContextManager[Executor]:
    """An engine of this machine with so many workers."""
    if engine == "ray":
        from quickdraw.pipeline.executors.ray_cluster import ray_cluster

        return ray_cluster(address=address, task_cpus=1, task_memory_mb=None, retries=3, workers=None)
    if engine == "slurm":
        from quickdraw.pipeline.executors.slurm import slurm_jobs

        return slurm_jobs(
            folder=folder / "jobs", cluster="local", partition=None, account=None, qos=None, constraint=None, jobs=1,
            job_cpus=workers, job_memory_gb=None, job_minutes=60, job_tasks=100_000, here=0, workers=workers,
        )  # fmt: skip
    from quickdraw.pipeline.executors.local import local_processes

    return local_processes(workers)


def main() -> int:
    """Measure, print."""
    engine, tasks, size, workers, address = sys.argv[1:6]
    with tempfile.TemporaryDirectory() as folder, open_engine(engine, Path(folder), int(workers), address) as executor:
        print(json.dumps(asdict(hand_on(executor, int(tasks), int(size)))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
