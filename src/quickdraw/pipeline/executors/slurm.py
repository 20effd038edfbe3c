"""Tasks in array jobs of Slurm, submitted through submitit; a stage of few tasks runs on processes here instead.

Jobs and this process share a folder, and nothing else: a file of tasks for each job, and one that it appends results
to.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr
from io import StringIO
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from quickdraw.errors import COMMAND_LINE, Fault, Refused
from quickdraw.pipeline.executors.batch import LEAVE_S, Batch
from quickdraw.pipeline.executors.desk import Jobs
from quickdraw.pipeline.executors.flow import flow
from quickdraw.pipeline.executors.job_folder import end_orphans, own_folder, queue_of
from quickdraw.pipeline.executors.job_lane import JobLane
from quickdraw.pipeline.executors.local import LocalProcesses, local_processes
from quickdraw.pipeline.executors.queues import (
    Queue,
    answer_of,
    end_all,
    missing_commands,
    sites_environment,
    wait_until_gone,
)
from quickdraw.pipeline.executors.surroundings import surroundings
from quickdraw.pipeline.interrupts import interrupts_held

if TYPE_CHECKING:
    import submitit

LONGEST_ARRAY = 1001  # elements, as Slurm has it where its configuration does not say
FAREWELL_S = 10  # that jobs which have ended their work are given to be gone
LIMIT = re.compile(r"limit|array", re.IGNORECASE)  # what sbatch names where fewer jobs would do
# Variables of sbatch, without SBATCH_, that would undo what every job is given.
OURS = ("JOB_NAME", "ARRAY_INX", "TIMELIMIT", "OUTPUT", "ERROR", "INPUT", "OPEN_MODE", "NO_REQUEUE", "SIGNAL")


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
    A stage of fewer than `here` tasks runs on `workers` processes of this machine. Raises Refused without Slurm, and
    where jobs of before do not end.
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
        executor = SlurmJobs(parent=folder.absolute(), asked=asked, here=here, processes=workers, stack=stack)
        try:
            yield executor
        except BaseException:
            executor.stop()
            raise
        else:
            executor.leave()


class SlurmJobs:
    """An executor on array jobs."""

    def __init__(self, *, parent: Path, asked: Jobs, here: int, processes: int, stack: ExitStack) -> None:
        self.parent, self.asked, self.here, self.processes, self.stack = parent, asked, here, processes, stack
        self.places: list[str] = []
        self._longest_array: int | None = None
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
        lane = JobLane[T, R](self, function, surroundings(self.places))  # of now: a place may be gone since a stage
        try:
            yield from flow(lane, chain(first, waiting), then)
        finally:
            lane.close()

    def refuse_unseen(self, place: Path) -> None:
        """Have every job look, before its first task: no node is known before a job runs there."""
        self.places.append(os.fspath(place))

    def stop(self) -> None:
        """Cancel all jobs, and wait until they are gone."""
        if self._local is not None:
            self._local.stop()
        if self._folder is not None:
            end_all(self.queue)
            self._forget()

    def leave(self) -> None:
        """Let jobs that have ended their work go."""
        if self._folder is not None and not wait_until_gone(self.queue, FAREWELL_S):
            end_all(self.queue)
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

    def submit(self, batches: Sequence[Batch]) -> list[submitit.Job[None]]:
        """Queue jobs, as an array. Raises Refused with what Slurm says where it takes none.

        Where it has no room for so many more, it is asked to take half as many, and so on.
        """
        from submitit.core.utils import FailedJobError, FailedSubmissionError

        engine = _engine(self.folder, self.asked)
        jobs: list[submitit.Job[None]] = []
        longest = self._longest() if len(batches) > 1 else 1
        while len(jobs) < len(batches):
            array = batches[len(jobs) : len(jobs) + longest]
            try:
                # submitit prints what it raises
                with sites_environment(self._told()), interrupts_held(), redirect_stderr(StringIO()):
                    taken = engine.submit_array(array)
            except (FailedJobError, FailedSubmissionError) as error:
                if jobs:
                    break
                if len(array) == 1 or not LIMIT.search(str(error)):
                    raise _refused(error) from error
                longest = len(array) // 2
            else:
                jobs += taken
                self._submitted += taken
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

    def _longest(self) -> int:
        """Elements that Slurm takes in one array."""
        if self.asked.cluster == "local":
            return LONGEST_ARRAY
        if self._longest_array is None:
            said = re.search(r"^MaxArraySize\s*=\s*(\d+)", answer_of("scontrol", "show", "config") or "", re.MULTILINE)
            self._longest_array = max(1, int(said[1])) if said else LONGEST_ARRAY
        return self._longest_array

    def _told(self) -> list[str]:
        """What sbatch is told, by the names of its variables."""
        asked = self.asked
        names: dict[str, str | int | None] = {"PARTITION": asked.partition, "ACCOUNT": asked.account, "QOS": asked.qos}
        names |= {"CONSTRAINT": asked.constraint, "MEM_PER_NODE": asked.memory_gb, "MEM_PER_CPU": asked.memory_gb}
        return [*OURS, *(name for name, value in names.items() if value is not None)]

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
        wckey=None,  # submitit has one, which a site that accounts by them does not know
        srun_args=[f"--cpus-per-task={asked.cpus}"],  # which srun has not taken from sbatch since Slurm 22.05
        additional_parameters={"requeue": True},
    )
    return slurm


def _refused(error: Exception) -> Refused:
    """What sbatch said."""
    said = re.sub(r"\s*\bsbatch: (error: )?|\s+", " ", str(error)).strip() or "nothing"
    expected = "an array job; see executor.jobs, partition, account, qos, constraint, job_cpus, job_minutes"
    return Refused([Fault("slurm", "sbatch", said, expected)])
