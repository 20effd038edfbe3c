"""Where tasks run: one file per engine, all behind `Executor`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol


class Executor(Protocol):
    """Runs picklable tasks somewhere and hands results back as they are finished, in no promised order."""

    @property
    def workers(self) -> int:
        """How many tasks run at once."""
        ...

    def run[T, R](
        self, function: Callable[[T], R], tasks: Iterable[T], then: Callable[[R], Iterable[T]] | None = None
    ) -> Iterator[R]:
        """Apply `function` to every task; an exception of a task is raised to the caller.

        `then` is asked of every result, after the caller has had it, for the tasks that it makes possible.
        """
        ...

    def stop(self) -> None:
        """End what is running, at once; when this returns, no task writes any more. There is no way back."""
        ...
