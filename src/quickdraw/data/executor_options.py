"""The options of each executor, typed, and what each may be. Their defaults, units and reasons stand in configs/."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from quickdraw.data.options import Check, ExecutorOptions

ADDRESS = re.compile(r"auto|local|(ray://)?([^:/\s\[\]]+|\[[0-9a-fA-F:]+\]):[0-9]{1,5}")


@dataclass(frozen=True, kw_only=True)
class NoOptions(ExecutorOptions):
    """Of executors on this machine."""


@dataclass(frozen=True, kw_only=True)
class RayOptions(ExecutorOptions):
    """Of `executor=ray`: the arguments of `ray_cluster`."""

    address: str
    task_cpus: float
    task_memory_mb: int | None
    retries: int

    def checks(self) -> Iterator[Check]:
        """Ray takes shares of a CPU only below a whole one."""
        cpus, memory_mb = self.task_cpus, self.task_memory_mb
        address = "auto, local, <host>:<port> or ray://<host>:<port>"
        share = 0.01 <= cpus <= 1 or (cpus <= 512 and cpus.is_integer() and cpus > 0)
        memory = memory_mb is None or 64 <= memory_mb <= 1_000_000
        yield bool(ADDRESS.fullmatch(self.address)), "executor.address", repr(self.address), address
        yield share, "executor.task_cpus", cpus, "0.01 to 1, or a whole number up to 512"
        yield memory, "executor.task_memory_mb", memory_mb, "64 to 1000000 MB, or null"
        yield 0 <= self.retries <= 100, "executor.retries", self.retries, "0 to 100"


@dataclass(frozen=True, kw_only=True)
class SlurmOptions(ExecutorOptions):
    """Of `executor=slurm`: the arguments of `slurm_jobs`."""

    cluster: Literal["slurm", "local"]
    partition: str | None
    account: str | None
    qos: str | None
    constraint: str | None
    jobs: int
    job_cpus: int
    job_memory_gb: int | None
    job_minutes: int
    job_tasks: int
    here: int

    def checks(self) -> Iterator[Check]:
        """What Slurm has of its own, such as which partitions there are, is told by Slurm."""
        for name in ("partition", "account", "qos", "constraint"):
            text = getattr(self, name)
            yield text is None or bool(text.strip()), f"executor.{name}", repr(text), "a name, or null"
        memory = self.job_memory_gb is None or 1 <= self.job_memory_gb <= 4096
        yield 1 <= self.jobs <= 10_000, "executor.jobs", self.jobs, "1 to 10000"
        yield 1 <= self.job_cpus <= 512, "executor.job_cpus", self.job_cpus, "1 to 512"
        yield memory, "executor.job_memory_gb", self.job_memory_gb, "1 to 4096 GB, or null"
        yield 5 <= self.job_minutes <= 43_200, "executor.job_minutes", self.job_minutes, "5 to 43200 min (30 days)"
        yield 1 <= self.job_tasks <= 100_000, "executor.job_tasks", self.job_tasks, "1 to 100000"
        yield 0 <= self.here <= 1_000_000, "executor.here", self.here, "0 to 1000000"


EXECUTOR_OPTIONS: Mapping[str, type[ExecutorOptions]] = {
    "inline": NoOptions,
    "local": NoOptions,
    "ray": RayOptions,
    "slurm": SlurmOptions,
}
