"""One stage's tasks in jobs: dealt into groups, their results followed, and what dead jobs left dealt again."""

from __future__ import annotations

import pickle
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from quickdraw.errors import Fault, NoWorkers, Refused, WorkerDied
from quickdraw.pipeline.executors.batch import (
    TRIES,
    Batch,
    Numbered,
    given_up,
    outcome_in,
    too_long,
    worker_died,
    write_tasks,
)
from quickdraw.pipeline.executors.dealing import Item, deal, put_back
from quickdraw.pipeline.executors.desk import Desk, Job, last_words
from quickdraw.pipeline.executors.flow import Failed
from quickdraw.pipeline.executors.frames import Following, Frame, Kind
from quickdraw.pipeline.executors.queues import HELD, NEVER
from quickdraw.pipeline.executors.spool import Spool
from quickdraw.pipeline.executors.surroundings import Surroundings, Unfit

SHORTEST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 2.0
OPENING_S = 0.005  # of pause for each job: those who wait leave the file system to those who work
GATHER_S = 5.0  # that tasks wait for others to go with, while there are jobs
AGAIN_S = 20.0  # after which Slurm, which took no more jobs, is asked again, unless one ends before
LOOK_S = {"slurm": 20.0, "local": 1.0}  # between questions which jobs are alive
MOST_STILLBORN = 30  # looks in a row that find jobs dead before they did anything, once any has done something


@dataclass(slots=True)
class Group:
    """A job, and the tasks whose results are awaited of it."""

    job: Job
    results: Following
    items: dict[int, Item]
    is_alone: bool  # its one task is suspected of killing jobs
    started: bool = False
    stirs: int = 0  # tasks that it began, and did not give back
    ended: bool = False

    @property
    def is_stillborn(self) -> bool:
        """Whether it ended before it did anything."""
        return bool(self.ended and self.items and not self.stirs)


@dataclass(slots=True)
class JobLane[T, R]:
    """A stage's tasks in jobs. `expected` is what a node must be like."""

    desk: Desk
    function: Callable[[T], R]
    expected: Surroundings
    waiting: deque[Item] = field(default_factory=deque)
    groups: list[Group] = field(default_factory=list)
    spool: Spool | None = None
    submitted_s: float = float("-inf")
    again_s: float = float("-inf")  # when more jobs may be asked for
    looked_s: float = field(default_factory=time.monotonic)
    read_s: float = float("-inf")
    pause_s: float = SHORTEST_PAUSE_S
    unfit: dict[Fault, None] = field(default_factory=dict)  # of all nodes that told it by now
    stillborn: int = 0  # looks in a row that found such jobs, and none that did anything
    has_stirred: bool = False  # any job

    def has_room(self, running: int) -> bool:
        """Tasks are read ahead for as many jobs as there may be."""
        return running < self.desk.asked.jobs * self.desk.asked.tasks

    def begin(self, task: T) -> None:
        """Keep it for the next job."""
        self.waiting.append(Item(self._kept_in().keep(task)))

    def ended(self) -> Iterable[R | Failed]:
        """What came of tasks of all jobs. Raises Refused where a node is not as it must be, or no job starts."""
        while not self._is_remnant():
            self._submit()
            time.sleep(max(0.0, self.read_s + max(self.pause_s, OPENING_S * len(self.groups)) - time.monotonic()))
            outcomes = [outcome for group in self.groups for outcome in self._read(group)]
            self.read_s = time.monotonic()
            if self.read_s - self.looked_s >= LOOK_S[self.desk.asked.cluster]:
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

    def close(self) -> None:
        """End jobs whose results nobody wants any more; those without a task are about to end by themselves."""
        if unwanted := [group.job.job_id for group in self.groups if group.items]:
            self.desk.cancel(unwanted)
        if self.spool is not None:
            self.spool.close()

    def _kept_in(self) -> Spool:
        if self.spool is None:
            self.spool = Spool(self.desk.folder / f"stage-{secrets.token_hex(6)}.tasks")
        return self.spool

    def _task(self, item: Item) -> T:
        task: T = self._kept_in().task(item.kept)
        return task

    def _is_remnant(self) -> bool:
        """Whether what is left, a result made possible late, would wait for a job longer than it takes.

        What was begun in a job that died is not tried on the machine that the command runs on.
        """
        few = len(self.waiting) < self.desk.here
        return few and not self.groups and not any(item.begun for item in self.waiting)

    def _done_here(self) -> Iterator[R | Failed]:
        tasks = dict(enumerate(map(self._task, self.waiting)))
        self.waiting.clear()
        try:
            for number, outcome, _ in self.desk.processes_here().run(Numbered(self.function), list(tasks.items())):
                del tasks[number]
                yield outcome_in(outcome)
        except NoWorkers:
            raise
        except WorkerDied:
            yield from (Failed(worker_died(task)) for task in tasks.values())

    def _submit(self) -> None:
        asked, now_s = self.desk.asked, time.monotonic()
        free = asked.jobs - len(self.groups)
        few = len(self.waiting) < asked.tasks and now_s - self.submitted_s < GATHER_S
        if free <= 0 or not self.waiting or (self.groups and few) or now_s < self.again_s:
            return
        self.submitted_s = now_s
        dealt = deal(self.waiting, free, asked.cpus, asked.tasks)
        batches = [self._batch(items) for items in dealt]
        taken = 0
        try:
            for job, batch, items in zip(self.desk.submit(batches), batches, dealt, strict=False):
                is_alone = items[0].begun >= TRIES - 1
                self.groups.append(Group(job, Following(batch.results), dict(enumerate(items)), is_alone))
                taken += 1
        except Refused:
            if not self.groups:  # else there are too many for now, perhaps, and some will end
                raise
        for batch, items in zip(batches[taken:], dealt[taken:], strict=True):
            self.again_s = now_s + AGAIN_S
            self.waiting.extendleft(reversed(items))
            batch.tasks.unlink()
            batch.results.unlink()

    def _batch(self, items: Sequence[Item]) -> Batch:
        asked, spool = self.desk.asked, self._kept_in()
        batch = Batch(str(self.desk.folder / f"group-{secrets.token_hex(6)}"), asked.cpus, 60.0 * asked.minutes)
        write_tasks(batch.tasks, self.expected, self.function, [spool.pickled(item.kept) for item in items])
        batch.results.touch()  # by us: where a name was looked for in vain, NFS may go on to say so
        return batch

    def _read(self, group: Group) -> Iterator[R | Failed]:
        for frame in group.results.read():
            if frame.kind is Kind.STARTED:
                group.started = True
            elif frame.kind is Kind.ENDED:
                group.ended = True
            elif frame.kind is Kind.UNFIT:
                self.unfit.update(dict.fromkeys(pickle.loads(frame.payload)))
            else:
                group.stirs += -1 if frame.kind is Kind.LEFT else 1
                yield from self._outcome(group, frame)
        if group.stirs:
            self.has_stirred, self.stillborn = True, 0

    def _outcome(self, group: Group, frame: Frame) -> Iterator[R | Failed]:
        item = group.items.get(frame.number)
        if item is None:  # a job that was started again may repeat a result
            return
        if frame.kind is Kind.DONE:
            del group.items[frame.number]
            yield outcome_in(frame.payload)
        else:
            item.begun += 1 if frame.kind is Kind.BEGUN else -1
            item.late += frame.kind is Kind.LATE

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
        alive = self.desk.queue.alive()
        for group in self.groups:
            reason = (alive or {}).get(group.job.job_id, "")
            if NEVER.fullmatch(reason):
                expected = "one that can start; see executor.partition, job_minutes, job_cpus, job_memory_gb"
                raise Refused([Fault(f"job {group.job.job_id}", "reason", reason, expected)])
            if alive is not None and HELD.fullmatch(reason):
                self.desk.cancel([group.job.job_id])
                del alive[group.job.job_id]
        return alive

    def _give_up(self, group: Group) -> Iterator[Failed]:
        for number, item in list(group.items.items()):
            if item.late >= TRIES:
                yield Failed(too_long(self._task(item), self.desk.asked.minutes))
            elif item.begun >= TRIES and group.is_alone:
                yield Failed(given_up(self._task(item), last_words(group.job)))
            else:
                continue
            del group.items[number]

    def _refuse_stillborn(self, jobs: Sequence[Group]) -> None:
        """Count a look that found such jobs. Raises Refused where it is one too many, or Python cannot load a job.

        One node that ends every job it is given, or somebody who cancels all, ends no build.
        """
        self.stillborn += bool(jobs)
        most = MOST_STILLBORN if self.has_stirred else TRIES
        for group in jobs:
            job = group.job
            if self.stillborn >= most or (not group.started and job.paths.result_pickle.exists()):
                found = f"ended before its first task ({last_words(job) or 'without a word'})"
                expected = f"a node that has the Python and the package of this command, and sees {self.desk.folder}"
                raise Refused([Fault(f"job {job.job_id}", "start", found, expected)])

    def _close_ended(self) -> None:
        self._refuse_stillborn([group for group in self.groups if group.is_stillborn])
        for group in self.groups:
            if group.ended:
                self.again_s = float("-inf")
                put_back(self.waiting, list(group.items.values()))
        self.groups = [group for group in self.groups if not group.ended]
