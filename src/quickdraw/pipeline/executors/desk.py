"""Where jobs are submitted, as a stage's lane knows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from quickdraw.pipeline.executors.batch import Batch
from quickdraw.pipeline.executors.local import LocalProcesses
from quickdraw.pipeline.executors.queues import Queue


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """What a job asks of Slurm, and how many there may be at once; a job begins at most `tasks` tasks."""

    cluster: Literal["slurm", "local"]
    partition: str | None
    account: str | None
    qos: str | None
    constraint: str | None
    jobs: int
    cpus: int
    memory_gb: int | None
    minutes: int
    tasks: int


class Job(Protocol):
    """What we need of submitit's."""

    @property
    def job_id(self) -> str: ...

    @property
    def paths(self) -> Any: ...


class Desk(Protocol):
    """Where jobs are submitted, and ended."""

    @property
    def asked(self) -> Jobs: ...

    @property
    def here(self) -> int: ...

    @property
    def folder(self) -> Path: ...

    @property
    def queue(self) -> Queue: ...

    def processes_here(self) -> LocalProcesses: ...

    def submit(self, batches: Sequence[Batch]) -> Sequence[Job]:
        """Queue jobs, the first of these at least; raises Refused where none is taken."""
        ...

    def cancel(self, ids: Sequence[str]) -> None:
        """End these."""
        ...


def last_words(job: Job, longest: int = 400) -> str:
    """The end of a job's log, on one line."""
    try:
        said: str = job.paths.stdout.read_text(errors="replace")
    except OSError:
        return ""
    return " ".join(said.split())[-longest:]
