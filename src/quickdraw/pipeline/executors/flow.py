"""The order in which tasks are begun and results handed on, whatever the engine: none piles up, none is lost."""

from __future__ import annotations

import errno
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from quickdraw.pipeline.amounts import counted

MOST_FAILURES = 16  # what so many tasks fail by, all would: a mount that is gone, a fault of ours
FOR_ALL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)  # what all would fail by if one does: there is no room left


@dataclass(frozen=True, slots=True)
class Failed:
    """A task ended by an exception."""

    error: Exception


class Lane[T, R](Protocol):
    """An engine at one stage's tasks."""

    def has_room(self, running: int) -> bool:
        """Whether it should be given a further task while so many run, or wait for a worker."""
        ...

    def begin(self, task: T) -> None:
        """Give it a task."""
        ...

    def ended(self) -> Iterable[R | Failed]:
        """What came of tasks that ended since it was asked last; it waits a while where there is none."""
        ...


@dataclass(slots=True)
class Failures:
    """Exceptions of tasks, kept while the others go on."""

    errors: list[Exception] = field(default_factory=list)

    def add(self, error: Exception) -> None:
        """Keep one. Raises the first where it is one too many, and this one where others need not be tried."""
        if isinstance(error, OSError) and error.errno in FOR_ALL:
            raise error
        self.errors.append(error)
        if len(self.errors) >= MOST_FAILURES:
            self.raise_first()

    def raise_first(self) -> None:
        """Raise the first, if there is one; it tells how many others there are."""
        if self.errors:
            first, *others = self.errors
            if others:
                first.add_note(f"{counted(len(others), 'further task')} failed, the last by {others[-1]!r}")
            raise first


def flow[T, R](lane: Lane[T, R], tasks: Iterable[T], then: Callable[[R], Iterable[T]] | None = None) -> Iterator[R]:
    """The results of all tasks, and of those that `then` names of a result, which come before the rest of `tasks`.

    Exceptions are raised as `Executor.run` promises.
    """
    waiting, possible, failures, running = iter(tasks), deque[T](), Failures(), 0
    while True:
        while lane.has_room(running):
            try:
                lane.begin(possible.popleft() if possible else next(waiting))
            except StopIteration:
                break
            running += 1
        if not running:
            break
        for outcome in lane.ended():
            running -= 1
            if isinstance(outcome, Failed):
                failures.add(outcome.error)
            else:
                yield outcome
                possible.extend(then(outcome) if then else ())
    failures.raise_first()
