"""A build by array jobs, which submitit runs on this machine: whatever dies, its bytes are those of processes here."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from types import ModuleType
from typing import Any

PARTS = 30
JOBS = ["+executor=slurm", "+executor.cluster=local", "+executor.jobs=2", "+executor.job_cpus=1",
        "+executor.job_tasks=6", "+executor.here=12", "+source.workers=2"]  # fmt: skip
JOB = b"SUBMITIT_LOCAL_JOB_ID="


def job_of(environment: bytes) -> bytes:
    """The job a process belongs to; nothing where it is of the command itself."""
    return environment.partition(JOB)[2].partition(b"\0")[0]


def kill_a_job(build: Any) -> None:
    """All processes of one of its jobs, as where its node dies."""
    of = {process: job_of(environment) for process, environment in build.descendants().items()}
    victim = next(job for job in of.values() if job)
    for process, job in of.items():
        if job == victim:
            os.kill(process, signal.SIGKILL)


def test_a_job_and_then_the_command_killed_in_the_middle_the_same_command_ends_as_on_one_machine(
    small: list[str], built_locally: Path, watched: ModuleType, tmp_path: Path
) -> None:
    output, command = tmp_path / "d", [*small, *JOBS]

    first = watched.start(command, output)
    first.in_the_middle(2)
    kill_a_job(first)
    known = first.in_the_middle(len(first.parts) + 4)
    assert first.ended(signal.SIGKILL).code == -signal.SIGKILL
    assert not output.exists()

    second = watched.start(command, output)
    done = second.ended()
    assert done.code == 0, done.errors
    made, there = map(int, re.findall(r"(\d+) parts made, (\d+) there already", done.out)[0])
    assert made + there == PARTS
    assert there >= len(known)  # jobs go on until the next command ends them
    assert second.descendants() == {}
    assert watched.digests(output) == watched.digests(built_locally)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".d.index", ".d.plans", "d"]


def test_interrupted_it_leaves_no_job(small: list[str], watched: ModuleType, tmp_path: Path) -> None:
    build = watched.start([*small, *JOBS], tmp_path / "d")
    build.in_the_middle(1)
    interrupted = build.ended(signal.SIGINT)
    assert (interrupted.code, interrupted.errors) == (130, "interrupted\n")
    assert interrupted.seconds < 15
    assert build.descendants() == {}
    assert {path.name for path in tmp_path.iterdir()} <= {".d.building", ".d.index", ".d.plans"}
