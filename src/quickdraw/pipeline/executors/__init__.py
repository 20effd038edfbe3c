"""Where tasks run: one file per engine, all behind `Executor`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol


class Executor(Protocol):
    """Runs picklable tasks somewhere and hands results back as they are finished, in no promised order.

    A task may run more than once, where a worker or a node dies, and twice at once, where one is only thought dead:
    whatever it writes must be whole, and the same, each time.
    """

    @property
    def workers(self) -> int:
        """How many tasks run at once."""
        ...

    def run[T, R](
        self, function: Callable[[T], R], tasks: Iterable[T], then: Callable[[R], Iterable[T]] | None = None
    ) -> Iterator[R]:
        """Apply `function` to every task; an exception of a task is raised when all others are done.

        Where many fail it is raised at once. `then` is asked of every result, after the caller has had it, for the
        tasks that it makes possible. Raises WorkerDied where a task's workers die again and again.
        """
        ...

    def refuse_unseen(self, place: Path) -> None:
        """Raise Refused where a worker does not see a file or folder as this process does, now or when it joins."""
        ...

    def stop(self) -> None:
        """End what is running, at once; when this returns, no task writes any more. There is no way back.

        Workers on other machines are waited for no longer than some half to two minutes, for one may not answer.
        """
        ...
