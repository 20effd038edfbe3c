"""What a job does: a group of tasks, on processes of its node, each result appended to a file as it comes.

The file is all that remains of a job, and all that one which is started again needs: it goes on with what has no
result.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import Any

from quickdraw.errors import COMMAND_LINE, Fault, NoWorkers, Refused, WorkerDied
from quickdraw.pipeline.executors.flow import Failed
from quickdraw.pipeline.executors.frames import Appending, Following, Frame, Kind
from quickdraw.pipeline.executors.local import local_processes
from quickdraw.pipeline.executors.surroundings import Surroundings, differences
from quickdraw.pipeline.executors.telling import Raised, failed, named, raised

TRIES = 3  # jobs that a task is given, before it is held to be what kills them, or too long for them
LEAVE_S = 30  # before the time limit, Slurm tells a job to leave
EARLY_S = 60  # Slurm tells it by up to so much too early


@dataclass(frozen=True, slots=True)
class Batch:
    """A job: the tasks of `<stem>.tasks`, on `cpus` processes, within `limit_s` seconds."""

    stem: str
    cpus: int
    limit_s: float

    @property
    def tasks(self) -> Path:
        """What `write_tasks` wrote."""
        return Path(f"{self.stem}.tasks")

    @property
    def results(self) -> Path:
        """What it appends frames to; those of its earlier starts stand there."""
        return Path(f"{self.stem}.results")

    def __call__(self) -> None:
        """Run it. SIGTERM ends it at once."""
        clock = Clock(self.limit_s)
        results = Appending(self.results)
        with _left_on_sigterm(), closing(results):
            results.add(Frame(Kind.STARTED, payload=os.uname().nodename.encode()))
            function, tasks, faults = read_tasks(self.tasks)
            if faults:
                results.add(Frame(Kind.UNFIT, payload=pickle.dumps(faults)))
            else:
                rest = list(unfinished(tasks, Following(self.results).read(), results))
                self._run(function, rest, results, clock)

    def _run(
        self, function: Callable[[Any], Any], tasks: Sequence[tuple[int, Any]], results: Appending, clock: Clock
    ) -> None:
        under_way = set[int]()
        try:
            with local_processes(max(1, min(self.cpus, len(tasks)))) as processes:
                begun = _begun(tasks, under_way, results, clock)
                for number, outcome, took_s in processes.run(Numbered(function), begun):
                    results.add(Frame(Kind.DONE, number, outcome))
                    under_way.discard(number)
                    clock.longest_s = max(clock.longest_s, took_s)
        except NoWorkers:
            _leave(under_way, Kind.LEFT, results)
            raise
        except WorkerDied:  # raised when all others are done: what has no result killed its workers
            for number, task in tasks:
                if number in under_way:
                    results.add(Frame(Kind.DONE, number, pickle.dumps(Failed(worker_died(task)))))
        except BaseException:
            _leave(under_way, Kind.LATE if clock.is_up else Kind.LEFT, results)
            raise
        results.add(Frame(Kind.ENDED))


@dataclass(slots=True)
class Clock:
    """How much of a job's time is left."""

    limit_s: float
    longest_s: float = 0  # that a task took so far
    began_s: float = field(default_factory=time.monotonic)

    @property
    def is_late(self) -> bool:
        """Whether a further task, twice as long as any so far, would be under way when the job is told to leave."""
        margin_s = min(LEAVE_S + EARLY_S, self.limit_s / 4)
        return self.passed_s + 2 * self.longest_s > self.limit_s - margin_s

    @property
    def is_up(self) -> bool:
        """Whether a job that is told to leave now is told so for its time limit, of which its start took some."""
        return self.passed_s > self.limit_s - min(LEAVE_S + 2 * EARLY_S, self.limit_s / 2)

    @property
    def passed_s(self) -> float:
        """Since the job began."""
        return time.monotonic() - self.began_s


def outcome_in(payload: bytes) -> Any:
    """What came of a task: its result, or Failed."""
    try:
        outcome = pickle.loads(payload)
    except Exception as error:
        return Failed(error)
    return failed(outcome) if isinstance(outcome, Raised) else outcome


@dataclass(frozen=True, slots=True)
class Numbered[T, R]:
    """A function, in a worker, at tasks that are numbered; outcomes come pickled, with the seconds they took."""

    function: Callable[[T], R]

    def __call__(self, numbered: tuple[int, T]) -> tuple[int, bytes, float]:
        """Never fails."""
        number, task = numbered
        began_s = time.monotonic()
        try:
            outcome = pickle.dumps(self.function(task))
        except Exception as error:
            outcome = pickle.dumps(raised(error))
        return number, outcome, time.monotonic() - began_s


def write_tasks(path: Path, expected: Surroundings, function: Callable[[Any], Any], tasks: Sequence[bytes]) -> None:
    """What a job needs to know; tasks come pickled, and are numbered from 0."""
    with path.open("xb") as file:
        pickle.dump(expected, file)
        pickle.dump((function, len(tasks)), file)
        file.writelines(tasks)
        file.flush()
        os.fsync(file.fileno())


def read_tasks(path: Path) -> tuple[Callable[[Any], Any], list[Any], list[Fault]]:
    """The function and its tasks, or what is wrong with this node, which is found before they are looked at."""
    node = f"node {os.uname().nodename}"
    with path.open("rb") as file:
        try:
            expected: Surroundings = pickle.load(file)
            faults = differences(expected, node)
            function, tasks = (abs, []) if faults else _tasks_in(file)
        except Exception as error:
            found = f"one that cannot read its tasks ({type(error).__name__}: {error})"
            return abs, [], [Fault(node, "quickdraw", found, "the package that the command was started with")]
    return function, tasks, faults


def _tasks_in(file: BufferedReader) -> tuple[Callable[[Any], Any], list[Any]]:
    function, count = pickle.load(file)
    return function, [pickle.load(file) for _ in range(count)]


def unfinished(tasks: Sequence[Any], before: Iterable[Frame], results: Appending) -> Iterator[tuple[int, Any]]:
    """The tasks that have no result yet, with their numbers.

    Where the job was started before and died, tasks that were begun then come last. One that was begun so each time is
    passed over, for a job of its own; in that it is given up.
    """
    done, deaths = set[int](), dict[int, int]()
    for frame in before:
        if frame.kind is Kind.DONE:
            done.add(frame.number)
        elif frame.kind in (Kind.BEGUN, Kind.LEFT, Kind.LATE):
            deaths[frame.number] = deaths.get(frame.number, 0) + (1 if frame.kind is Kind.BEGUN else -1)
    rest = [number for number in range(len(tasks)) if number not in done]
    for number in sorted(rest, key=lambda number: deaths.get(number, 0)):
        if deaths.get(number, 0) < (TRIES if len(tasks) == 1 else TRIES - 1):
            yield number, tasks[number]
        elif len(tasks) == 1:
            results.add(Frame(Kind.DONE, number, pickle.dumps(Failed(given_up(tasks[number])))))


def worker_died(task: object) -> WorkerDied:
    """The error of a task whose processes died each time, while the job lived."""
    node = os.uname().nodename
    return WorkerDied(f"{named(task)}: its worker process died each time, on {node}; was it killed, or out of memory?")


def given_up(task: object, last_words: str = "") -> WorkerDied:
    """The error of a task whose jobs died each time."""
    said = f" The last one's log ends: {last_words}" if last_words else ""
    return WorkerDied(f"{named(task)}: {TRIES} jobs died at it; were they killed, or out of memory?{said}")


def too_long(task: object, minutes: int) -> Refused:
    """The error of a task that was not done when the time of each of its jobs was up."""
    found = f"{minutes}, in which {TRIES} jobs did not get {named(task)} done"
    return Refused([Fault(COMMAND_LINE, "executor.job_minutes", found, "more, or shorter episodes")])


def _leave(under_way: Iterable[int], why: Kind, results: Appending) -> None:
    for number in under_way:
        results.add(Frame(why, number))


def _begun(
    tasks: Iterable[tuple[int, Any]], under_way: set[int], results: Appending, clock: Clock
) -> Iterator[tuple[int, Any]]:
    for number, task in tasks:
        if clock.is_late:
            return
        under_way.add(number)
        results.add(Frame(Kind.BEGUN, number))
        yield number, task


@contextmanager
def _left_on_sigterm() -> Iterator[None]:
    """Preemption, and a job that is cancelled, are told by SIGTERM, which submitit would have go by."""
    before = signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
