"""Tasks in array jobs of Slurm, submitted through submitit; a stage of few tasks runs on processes here instead.

Jobs and this process share a folder, and nothing else: a file of tasks for each job, and one that it appends results
to.
"""

from __future__ import annotations

import logging
import os
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, redirect_stderr
from io import StringIO
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from quickdraw.errors import COMMAND_LINE, Fault, Refused
from quickdraw.pipeline.executors.batch import LEAVE_S, Batch
from quickdraw.pipeline.executors.flow import flow
from quickdraw.pipeline.executors.job_folder import end_orphans, own_folder, queue_of
from quickdraw.pipeline.executors.job_lane import JobLane, Jobs
from quickdraw.pipeline.executors.local import LocalProcesses, local_processes
from quickdraw.pipeline.executors.queues import Queue, missing_commands, wait_until_gone
from quickdraw.pipeline.executors.surroundings import Surroundings, surroundings
from quickdraw.pipeline.interrupts import interrupts_held

if TYPE_CHECKING:
    import submitit

LONGEST_ARRAY = 1001  # elements, as Slurm has it where its configuration does not say
FAREWELL_S = 10  # that jobs which have ended their work are given to be gone


@contextmanager
def slurm_jobs(
    *,
    folder: Path,
    cluster: Literal["slurm", "local"],
    partition: str | None,
    account: str | None,
    qos: str | None,
    constraint: str | None,
    jobs: int,
    job_cpus: int,
    job_memory_gb: int | None,
    job_minutes: int,
    job_tasks: int,
    here: int,
    workers: int,
) -> Iterator[SlurmJobs]:
    """Jobs until the block is left; by an exception, they are cancelled at once.

    `folder` is on the shared path, and there only while there are jobs; those of a driver that died are ended first.
    A stage of fewer than `here` tasks runs on `workers` processes of this machine. Raises Refused without Slurm.
    """
    if cluster == "slurm" and (missing := missing_commands()):
        found, expected = f"slurm without {', '.join(missing)}", "a machine that jobs can be submitted from"
        raise Refused([Fault(COMMAND_LINE, "executor.cluster", found, expected, option="+executor.cluster=local")])
    end_orphans(folder)
    asked = Jobs(
        cluster=cluster, partition=partition, account=account, qos=qos, constraint=constraint, jobs=jobs,
        cpus=job_cpus, memory_gb=job_memory_gb, minutes=job_minutes, tasks=job_tasks,
    )  # fmt: skip
    with ExitStack() as stack:
        executor = SlurmJobs(folder.absolute(), asked, here, workers, stack)
        try:
            yield executor
        except BaseException:
            executor.stop()
            raise
        else:
            executor.leave()


class SlurmJobs:
    """An executor on array jobs."""

    def __init__(self, parent: Path, asked: Jobs, here: int, processes: int, stack: ExitStack) -> None:
        self.parent, self.asked, self.here, self.processes, self.stack = parent, asked, here, processes, stack
        self.places: list[str] = []
        self._expected: Surroundings | None = None
        self._folder: Path | None = None
        self._local: LocalProcesses | None = None
        self._submitted: list[submitit.Job[None]] = []

    @property
    def workers(self) -> int:
        """How many tasks run at once, when all jobs do."""
        return self.asked.jobs * self.asked.cpus

    def run[T, R](
        self, function: Callable[[T], R], tasks: Iterable[T], then: Callable[[R], Iterable[T]] | None = None
    ) -> Iterator[R]:
        """Apply `function` to every task; results come as they are appended by jobs.

        Exceptions of tasks are raised when the others are done; WorkerDied for one whose workers, or jobs, die each
        time. Raises Refused at once where a node is not as this one, where Slurm takes no job or where none starts.
        """
        waiting = iter(tasks)
        first = list(islice(waiting, self.here))
        if len(first) < self.here:
            yield from self.processes_here().run(function, first, then)
            return
        lane = JobLane[T, R](self, function)
        try:
            yield from flow(lane, chain(first, waiting), then)
        finally:
            lane.cancel()

    def refuse_unseen(self, place: Path) -> None:
        """Have every job look, before its first task: no node is known before a job runs there."""
        self.places.append(os.fspath(place))
        self._expected = None

    def stop(self) -> None:
        """Cancel all jobs, and wait until they are gone."""
        if self._local is not None:
            self._local.stop()
        if self._folder is not None:
            self.queue.cancel()
            wait_until_gone(self.queue)
            self._forget()

    def leave(self) -> None:
        """Let jobs that have ended their work go."""
        if self._folder is not None and not wait_until_gone(self.queue, FAREWELL_S):
            self.queue.cancel()
            wait_until_gone(self.queue, FAREWELL_S)
        self._forget()

    @property
    def folder(self) -> Path:
        """Of this driver, on the shared path; made with the first job."""
        if self._folder is None:
            self._folder = self.stack.enter_context(own_folder(self.parent, self.asked.cluster))
        return self._folder

    @property
    def queue(self) -> Queue:
        """Where our jobs are."""
        return queue_of(self.folder)

    @property
    def expected(self) -> Surroundings:
        """What a node must be like."""
        if self._expected is None:
            self._expected = surroundings(self.places)
        return self._expected

    def submit(self, batches: Sequence[Batch]) -> list[submitit.Job[None]]:
        """Queue jobs, as an array. Raises Refused with what Slurm says where it takes none."""
        from submitit.core.utils import FailedJobError, FailedSubmissionError
        from submitit.helpers import clean_env

        engine = _engine(self.folder, self.asked)
        # Slurm would take what it told a job that this process runs in for what new jobs are to have.
        foreign = clean_env() if "SLURM_JOB_ID" in os.environ else nullcontext()
        longest = _longest_array() if self.asked.cluster == "slurm" and len(batches) > 1 else len(batches)
        jobs: list[submitit.Job[None]] = []
        try:
            with foreign:
                for start in range(0, len(batches), longest):
                    with interrupts_held(), redirect_stderr(StringIO()):  # on which submitit prints what it raises
                        jobs += engine.submit_array(batches[start : start + longest])
        except (FailedJobError, FailedSubmissionError) as error:
            if not jobs:
                said = re.sub(r"\s*\bsbatch: (error: )?|\s+", " ", str(error)).strip() or "nothing"
                expected = "an array job; see executor.partition, account, qos, constraint, job_cpus, job_minutes"
                raise Refused([Fault("slurm", "sbatch", said, expected)]) from error
        self._submitted += jobs
        return jobs

    def cancel(self, ids: Sequence[str]) -> None:
        """End these jobs, where they are not ended already."""
        if self._submitted:
            self.queue.cancel(ids)

    def processes_here(self) -> LocalProcesses:
        """Those for few tasks."""
        if self._local is None:
            self._local = self.stack.enter_context(local_processes(self.processes))
        return self._local

    def _forget(self) -> None:
        if self.asked.cluster == "local":
            for job in self._submitted:
                job.done()  # which reaps the process
        self._submitted.clear()


def _engine(folder: Path, asked: Jobs) -> submitit.SlurmExecutor | submitit.LocalExecutor:
    """The executor of submitit, which says nothing on its own."""
    import submitit

    logger = logging.getLogger("submitit")
    logger.handlers.clear()
    logger.propagate = False
    logger.addHandler(logging.NullHandler())
    if asked.cluster == "local":
        local = submitit.LocalExecutor(folder)
        local.update_parameters(timeout_min=asked.minutes, signal_delay_s=LEAVE_S, stderr_to_stdout=True)
        return local
    slurm = submitit.SlurmExecutor(folder)
    slurm.update_parameters(
        job_name=folder.name,
        partition=asked.partition,
        account=asked.account,
        qos=asked.qos,
        constraint=asked.constraint,
        time=asked.minutes,
        nodes=1,
        ntasks_per_node=1,
        cpus_per_task=asked.cpus,
        mem=None if asked.memory_gb is None else f"{asked.memory_gb}GB",
        signal_delay_s=LEAVE_S,
        stderr_to_stdout=True,
        array_parallelism=asked.jobs,
        srun_args=[f"--cpus-per-task={asked.cpus}"],  # which srun has not taken from sbatch since Slurm 22.05
        additional_parameters={"requeue": True},
    )
    return slurm


def _longest_array() -> int:
    """Elements that Slurm takes in one array."""
    try:
        asked = subprocess.run(["scontrol", "show", "config"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return LONGEST_ARRAY
    found = re.search(r"^MaxArraySize\s*=\s*(\d+)", asked.stdout, re.MULTILINE)
    return max(1, int(found[1])) if found else LONGEST_ARRAY
