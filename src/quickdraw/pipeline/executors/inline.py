"""Tasks in this very process, one after another: for a debugger or a profiler, which then see everything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from quickdraw.pipeline.executors.flow import Failed, flow


class Inline:
    """An executor that is no more than a loop."""

    workers = 1

    def run[T, R](
        self, function: Callable[[T], R], tasks: Iterable[T], then: Callable[[R], Iterable[T]] | None = None
    ) -> Iterator[R]:
        """Apply `function` to every task, and to those a result makes possible before the next."""
        return flow(_Lane(function), tasks, then)

    def refuse_unseen(self, place: Path) -> None:
        """The only worker is this process."""

    def stop(self) -> None:
        """Nothing runs when nobody asks for results."""


@dataclass(slots=True)
class _Lane[T, R]:
    """One task at a time, which runs when its result is asked for."""

    function: Callable[[T], R]
    tasks: list[T] = field(default_factory=list)

    def has_room(self, running: int) -> bool:
        return not running

    def begin(self, task: T) -> None:
        self.tasks.append(task)

    def ended(self) -> Iterator[R | Failed]:
        try:
            result = self.function(self.tasks.pop())
        except Exception as error:
            yield Failed(error)
        else:
            yield result
