"""Tasks on processes of this machine.

Workers are spawned, not forked: each imports only what its tasks need, and none inherits the parent's threads. They
live as long as the executor is open, so that a build pays for their imports once.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import chain
from multiprocessing.connection import wait as wait_for_end
from pathlib import Path

import cv2

from quickdraw.errors import WorkerDied
from quickdraw.pipeline.executors.memory import give_back_freed_memory
from quickdraw.pipeline.interrupts import interrupts_held


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
    """An executor on an open pool of processes."""

    def __init__(self, workers: int) -> None:
        self.others = set(multiprocessing.active_children())
        self.workers = workers
        self.pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _begin)

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
        """Apply `function` to every task; results come as they are finished. A task's exception is raised here.

        What a result makes possible comes next, before the rest of `tasks`. Raises WorkerDied where a process did.
        """
        try:
            yield from self._run(function, tasks, then)
        except BrokenProcessPool as error:
            raise WorkerDied("a worker process died; was it killed, or out of memory?") from error

    def _run[T, R](
        self, function: Callable[[T], R], tasks: Iterable[T], then: Callable[[R], Iterable[T]] | None
    ) -> Iterator[R]:
        waiting, possible = iter(tasks), deque[T]()
        running: set[Future[R]] = set()
        while True:
            for task in chain(_drain(possible), waiting):
                with interrupts_held():  # the parent alone answers Ctrl-C, and ends its workers
                    running.add(self.pool.submit(function, task))
                if len(running) > self.workers:  # one task ahead, so that no worker waits and none piles up
                    break
            if not running:
                break
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                result = future.result()
                yield result
                possible.extend(then(result) if then else ())


def _drain[T](tasks: deque[T]) -> Iterator[T]:
    while tasks:
        yield tasks.popleft()


def _begin() -> None:
    """In a worker, first: it runs one thread, for workers are what runs in parallel, and ends with its parent.

    OpenCV's own threads would mostly wait for each other on pictures of this size, and burn CPU while they do.
    """
    cv2.setNumThreads(1)
    give_back_freed_memory()
    _die_with_parent()


def _die_with_parent() -> None:
    """In a worker: the parent's death, however sudden, ends it."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_exit_after, args=(parent.sentinel,), daemon=True).start()


def _exit_after(sentinel: int) -> None:
    wait_for_end([sentinel])
    os._exit(1)
