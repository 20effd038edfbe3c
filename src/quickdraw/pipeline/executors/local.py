"""Tasks on processes of this machine.

Workers are spawned, not forked: each imports only what its tasks need, and none inherits the parent's threads. They
live as long as the executor is open, so that a build pays for their imports once.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from multiprocessing.connection import wait as wait_for_end
from pathlib import Path
from typing import Any

from quickdraw.errors import NoWorkers, WorkerDied
from quickdraw.pipeline.executors.flow import Failed, flow
from quickdraw.pipeline.executors.telling import Raised, failed, named, raised
from quickdraw.pipeline.executors.worker_process import give_back_freed_memory, make_ready
from quickdraw.pipeline.interrupts import interrupts_held

DEATHS = 3  # at a task, the last of them while it ran alone, before they are its failure


@contextmanager
def local_processes(workers: int) -> Iterator[LocalProcesses]:
    """`workers` processes until the block is left; by an exception, they are stopped at once."""
    give_back_freed_memory()
    executor = LocalProcesses(workers)
    try:
        yield executor
    except BaseException:
        executor.stop()
        raise
    finally:
        executor.pool.shutdown(wait=True, cancel_futures=True)


class LocalProcesses:
    """An executor on an open pool of processes. Those that die are replaced, and what they were at is done again."""

    def __init__(self, workers: int) -> None:
        self.others = set(multiprocessing.active_children())
        self.workers = workers
        self.pool = _pool(workers)

    def refuse_unseen(self, place: Path) -> None:
        """Workers are of this machine."""

    def stop(self) -> None:
        """End the processes, whatever they are at."""
        for child in set(multiprocessing.active_children()) - self.others:
            child.terminate()
        self.pool.shutdown(wait=True, cancel_futures=True)

    def run[T, R](
        self, function: Callable[[T], R], tasks: Iterable[T], then: Callable[[R], Iterable[T]] | None = None
    ) -> Iterator[R]:
        """Apply `function` to every task; results come as they are finished.

        What a result makes possible comes next, before the rest of `tasks`. Exceptions of tasks are raised here when
        the others are done, WorkerDied for one whose process dies each time. Raises NoWorkers at once where processes
        die as they start.
        """
        return flow(_Lane(self, function), tasks, then)

    def submit[T, R](self, function: Callable[[T], R], task: T) -> Future[R | Raised]:
        """What is going to come of a task; a BrokenProcessPool where a process is dead already."""
        try:
            with interrupts_held():  # the parent alone answers Ctrl-C, and ends its workers
                return self.pool.submit(_apply, function, task)
        except BrokenProcessPool as error:
            lost = Future[R | Raised]()
            lost.set_exception(error)
            return lost

    def renew(self) -> None:
        """Other processes, once none of the old ones writes any more. Raises NoWorkers where they die as they start."""
        self.pool.shutdown(wait=True, cancel_futures=True)
        self.pool = _pool(self.workers)
        if _is_lost(self.submit(bool, None)):
            raise NoWorkers("worker processes die as they start; are they killed, or out of memory?")


@dataclass(frozen=True, slots=True)
class _Attempt[T]:
    """A task under way, and how often a process died before while it was."""

    task: T
    deaths: int


@dataclass(slots=True)
class _Lane[T, R]:
    """The pool at one stage's tasks."""

    processes: LocalProcesses
    function: Callable[[T], R]
    running: dict[Future[R | Raised], _Attempt[T]] = field(default_factory=dict)

    def has_room(self, running: int) -> bool:
        return running <= self.processes.workers  # one task ahead, so that no worker waits and none piles up

    def begin(self, task: T) -> None:
        self._begin(_Attempt(task, 0))

    def ended(self) -> Iterator[R | Failed]:
        done, _ = wait(self.running, return_when=FIRST_COMPLETED)
        if any(map(_is_lost, done)):  # with one process the pool gives up all, one after another
            done, _ = wait(self.running)
        suspects = list[_Attempt[T]]()
        for future in done:
            attempt = self.running.pop(future)
            if _is_lost(future):
                suspects.append(replace(attempt, deaths=attempt.deaths + 1))
            else:
                yield self._outcome(future)
        if suspects:
            yield from self._again(suspects)

    def _begin(self, attempt: _Attempt[T]) -> None:
        self.running[self.processes.submit(self.function, attempt.task)] = attempt

    def _again(self, suspects: Iterable[_Attempt[T]]) -> Iterator[R | Failed]:
        """One death may be an accident: all at once. By another the guilty one is sought: each alone, before these."""
        self.processes.renew()
        once = list[_Attempt[T]]()
        for attempt in suspects:
            if attempt.deaths == DEATHS - 1:
                yield self._alone(attempt.task)
            else:
                once.append(attempt)
        for attempt in once:
            self._begin(attempt)

    def _alone(self, task: T) -> R | Failed:
        """What comes of a task at which processes died, maybe by the fault of others: its failure if one does again."""
        future = self.processes.submit(self.function, task)
        if not _is_lost(future):
            return self._outcome(future)
        self.processes.renew()
        told = f"{named(task)}: its worker process died {DEATHS} times; was it killed, or out of memory?"
        return Failed(WorkerDied(told))

    def _outcome(self, future: Future[R | Raised]) -> R | Failed:
        try:
            told = future.result()
        except Exception as error:  # of what does not travel
            return Failed(error)
        return failed(told) if isinstance(told, Raised) else told


def _pool(workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _begin)


def _is_lost(future: Future[Any]) -> bool:
    """Whether a process died at it, or at another while it was in the pool; waits until that is known."""
    return isinstance(future.exception(), BrokenProcessPool)


def _apply[T, R](function: Callable[[T], R], task: T) -> R | Raised:
    """In a worker: what comes of a task."""
    try:
        return function(task)
    except Exception as error:
        return raised(error)


def _begin() -> None:
    """In a worker, first."""
    make_ready()
    _die_with_parent()


def _die_with_parent() -> None:
    """In a worker: the parent's death, however sudden, ends it."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_exit_after, args=(parent.sentinel,), daemon=True).start()


def _exit_after(sentinel: int) -> None:
    wait_for_end([sentinel])
    os._exit(1)
