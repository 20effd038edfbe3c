"""Tasks in this very process, one after another: for a debugger or a profiler, which then see everything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path


class Inline:
    """An executor that is no more than a loop."""

    workers = 1

    def run[T, R](
        self, function: Callable[[T], R], tasks: Iterable[T], then: Callable[[R], Iterable[T]] | None = None
    ) -> Iterator[R]:
        """Apply `function` to every task, and to those a result makes possible before the next."""
        for task in tasks:
            result = function(task)
            yield result
            if then is not None:
                yield from self.run(function, then(result), then)

    def refuse_unseen(self, place: Path) -> None:
        """The only worker is this process."""

    def stop(self) -> None:
        """Nothing runs when nobody asks for results."""
