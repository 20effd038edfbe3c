"""Tasks on processes of this machine.

Workers are spawned, not forked: each imports only what its tasks need, and none inherits the parent's threads.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing.connection import wait as wait_for_end


@dataclass(frozen=True, slots=True)
class LocalProcesses:
    """`workers` processes; results come as they are finished, in no promised order."""

    workers: int

    def run[T, R](self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        """Apply `function` to every task. An exception of a task is raised here, and the other workers are stopped."""
        pool = ProcessPoolExecutor(self.workers, multiprocessing.get_context("spawn"), _die_with_parent)
        waiting = iter(tasks)
        running: set[Future[R]] = set()
        try:
            while True:
                for task in waiting:
                    running.add(pool.submit(function, task))
                    if len(running) > self.workers:  # one task ahead, so that no worker waits and none piles up
                        break
                if not running:
                    break
                done, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in multiprocessing.active_children():
                child.terminate()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _die_with_parent() -> None:
    """In a worker: the parent alone answers Ctrl-C, and its death, however sudden, ends the worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_exit_after, args=(parent.sentinel,), daemon=True).start()


def _exit_after(sentinel: int) -> None:
    wait_for_end([sentinel])
    os._exit(1)
