"""One stage's tasks in jobs: dealt into groups, their results followed, and what dead jobs left dealt again."""

from __future__ import annotations

import pickle
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from quickdraw.errors import Fault, Refused, WorkerDied
from quickdraw.pipeline.executors.batch import TRIES, Batch, Numbered, given_up, outcome_in, worker_died, write_tasks
from quickdraw.pipeline.executors.flow import Failed
from quickdraw.pipeline.executors.frames import Following, Frame, Kind
from quickdraw.pipeline.executors.local import LocalProcesses
from quickdraw.pipeline.executors.queues import HELD, NEVER, Queue
from quickdraw.pipeline.executors.surroundings import Surroundings, Unfit

SHORTEST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 2.0
OPENING_S = 0.005  # of pause for each job: those who wait leave the file system to those who work
GATHER_S = 5.0  # that tasks wait for others to go with, while there are jobs
LOOK_S = {"slurm": 20.0, "local": 1.0}  # between questions which jobs are alive
LOG_TAIL = 400  # characters


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


class Site(Protocol):
    """Where jobs are submitted."""

    @property
    def asked(self) -> Jobs: ...

    @property
    def here(self) -> int: ...

    @property
    def folder(self) -> Path: ...

    @property
    def queue(self) -> Queue: ...

    @property
    def expected(self) -> Surroundings: ...

    def processes_here(self) -> LocalProcesses: ...

    def submit(self, batches: Sequence[Batch]) -> Sequence[Job]:
        """Queue jobs, the first of these at least; raises Refused where none is taken."""
        ...

    def cancel(self, ids: Sequence[str]) -> None:
        """End these."""
        ...


@dataclass(slots=True)
class Item[T]:
    """A task, and how many jobs began it and did not end it."""

    task: T
    begun: int = 0


@dataclass(slots=True)
class Group[T]:
    """A job, and the tasks whose results are awaited of it."""

    job: Job
    results: Following
    items: dict[int, Item[T]]
    stirred: bool = False
    ended: bool = False


@dataclass(slots=True)
class JobLane[T, R]:
    """A stage's tasks in the jobs of a site."""

    site: Site
    function: Callable[[T], R]
    waiting: deque[Item[T]] = field(default_factory=deque)
    groups: list[Group[T]] = field(default_factory=list)
    submitted_s: float = float("-inf")
    looked_s: float = field(default_factory=time.monotonic)
    read_s: float = float("-inf")
    pause_s: float = SHORTEST_PAUSE_S
    unfit: dict[Fault, None] = field(default_factory=dict)  # of all nodes that told it by now
    stillborn: int = 0  # jobs in a row that died before they did anything

    def has_room(self, running: int) -> bool:
        """Tasks are read ahead for as many jobs as there may be."""
        return running < self.site.asked.jobs * self.site.asked.tasks

    def begin(self, task: T) -> None:
        """Keep it for the next job."""
        self.waiting.append(Item(task))

    def ended(self) -> Iterable[R | Failed]:
        """What came of tasks of all jobs. Raises Refused where a node is not as it must be, or no job starts."""
        while not self._is_remnant():
            self._submit()
            time.sleep(max(0.0, self.read_s + max(self.pause_s, OPENING_S * len(self.groups)) - time.monotonic()))
            outcomes = [outcome for group in self.groups for outcome in self._read(group)]
            self.read_s = time.monotonic()
            if self.read_s - self.looked_s >= LOOK_S[self.site.asked.cluster]:
                outcomes += self._bury()
                self.looked_s = time.monotonic()
            self._close_ended()
            if self.unfit:
                raise Unfit(self.unfit)
            if outcomes:
                self.pause_s = SHORTEST_PAUSE_S
                return outcomes
            self.pause_s = min(1.5 * self.pause_s, LONGEST_PAUSE_S)
        return self._done_here()

    def cancel(self) -> None:
        """End what still runs, where nobody wants it any more."""
        if self.groups:
            self.site.cancel([group.job.job_id for group in self.groups])

    def _is_remnant(self) -> bool:
        """Whether what is left, a result made possible late, would wait for a job longer than it takes.

        What was begun in a job that died is not tried on the machine that the command runs on.
        """
        few = len(self.waiting) < self.site.here
        return few and not self.groups and not any(item.begun for item in self.waiting)

    def _done_here(self) -> Iterator[R | Failed]:
        tasks = dict(enumerate(item.task for item in self.waiting))
        self.waiting.clear()
        try:
            for number, outcome, _ in self.site.processes_here().run(Numbered(self.function), list(tasks.items())):
                del tasks[number]
                yield outcome_in(outcome)
        except WorkerDied:
            yield from (Failed(worker_died(task)) for task in tasks.values())

    def _submit(self) -> None:
        asked, now_s = self.site.asked, time.monotonic()
        free = asked.jobs - len(self.groups)
        few = len(self.waiting) < asked.tasks and now_s - self.submitted_s < GATHER_S
        if free <= 0 or not self.waiting or (self.groups and few):
            return
        self.submitted_s = now_s
        dealt = deal(self.waiting, free, asked.cpus, asked.tasks)
        batches = [self._batch(items) for items in dealt]
        taken = 0
        try:
            for job, batch, items in zip(self.site.submit(batches), batches, dealt, strict=False):
                self.groups.append(Group(job, Following(batch.results), dict(enumerate(items))))
                taken += 1
        except Refused:
            if not self.groups:  # else there are too many for now, perhaps, and some will end
                raise
        for batch, items in zip(batches[taken:], dealt[taken:], strict=True):
            self.waiting.extendleft(reversed(items))
            batch.tasks.unlink()
            batch.results.unlink()

    def _batch(self, items: Sequence[Item[T]]) -> Batch:
        asked = self.site.asked
        batch = Batch(str(self.site.folder / f"group-{secrets.token_hex(6)}"), asked.cpus, 60.0 * asked.minutes)
        write_tasks(batch.tasks, self.site.expected, self.function, [item.task for item in items])
        batch.results.touch()  # by us: where a name was looked for in vain, NFS may go on to say so
        return batch

    def _read(self, group: Group[T]) -> Iterator[R | Failed]:
        for frame in group.results.read():
            if frame.kind is Kind.ENDED:
                group.ended = True
            elif frame.kind is not Kind.STARTED:
                self.stillborn, group.stirred = 0, True
                yield from self._outcome(group, frame)

    def _outcome(self, group: Group[T], frame: Frame) -> Iterator[R | Failed]:
        if frame.kind is Kind.UNFIT:
            self.unfit.update(dict.fromkeys(pickle.loads(frame.payload)))
        elif frame.kind is not Kind.DONE:
            if frame.number in group.items:
                group.items[frame.number].begun += 1 if frame.kind is Kind.BEGUN else -1
        elif group.items.pop(frame.number, None) is not None:  # a job that was started again may repeat one
            yield outcome_in(frame.payload)

    def _bury(self) -> Iterator[R | Failed]:
        """Give the tasks of jobs that are no more to others; those at which too many died are failures."""
        alive = self._alive()
        for group in self.groups:
            if alive is None or group.job.job_id in alive or group.ended:
                continue
            yield from self._read(group)
            if not group.ended:
                group.ended = True
                yield from self._give_up(group)

    def _alive(self) -> dict[str, str] | None:
        """Jobs that may still do something. Raises Refused where Slurm has taken one that it never starts."""
        alive = self.site.queue.alive()
        for group in self.groups:
            reason = (alive or {}).get(group.job.job_id, "")
            if NEVER.fullmatch(reason):
                expected = "one that can start; see executor.partition, job_minutes, job_cpus, job_memory_gb"
                raise Refused([Fault(f"job {group.job.job_id}", "reason", reason, expected)])
            if alive is not None and HELD.fullmatch(reason):
                self.site.cancel([group.job.job_id])
                del alive[group.job.job_id]
        return alive

    def _give_up(self, group: Group[T]) -> Iterator[Failed]:
        for number, item in list(group.items.items()):
            if item.begun >= TRIES:
                del group.items[number]
                yield Failed(given_up(item.task, _last_words(group.job)))

    def _refuse_stillborn(self, job: Job) -> None:
        self.stillborn += 1
        failed = job.paths.result_pickle.exists()  # Python ran, and could not load the job
        if failed or self.stillborn >= TRIES:
            found = f"ended before its first task ({_last_words(job) or 'without a word'})"
            expected = f"a node that has the Python and the package of this command, and sees {self.site.folder}"
            raise Refused([Fault(f"job {job.job_id}", "start", found, expected)])

    def _close_ended(self) -> None:
        for group in self.groups:
            if group.ended:
                if group.items and not group.stirred:
                    self._refuse_stillborn(group.job)
                self.waiting.extendleft(reversed(group.items.values()))
        self.groups = [group for group in self.groups if not group.ended]


def deal[T](waiting: deque[Item[T]], jobs: int, cpus: int, most: int) -> list[list[Item[T]]]:
    """Take tasks for at most `jobs` jobs: at most `most` for each, evenly, and no job for less than it has CPUs.

    Neighbours go to different jobs, for they are often as long as each other. One at which jobs died repeatedly gets a
    job of its own: if that dies too, no other task did it.
    """
    alone, others = list[list[Item[T]]](), list[Item[T]]()
    while waiting:
        is_suspect = waiting[0].begun >= TRIES - 1
        if len(others) + (most if is_suspect else 1) > most * (jobs - len(alone)):
            break
        if is_suspect:
            alone.append([waiting.popleft()])
        else:
            others.append(waiting.popleft())
    groups = min(jobs - len(alone), -(-len(others) // min(cpus, most)))
    return alone + [others[start::groups] for start in range(groups)]


def _last_words(job: Job) -> str:
    """The end of a job's log, on one line."""
    try:
        said: str = job.paths.stdout.read_text(errors="replace")
    except OSError:
        return ""
    return " ".join(said.split())[-LOG_TAIL:]
