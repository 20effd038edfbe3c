"""The exception tree. Imports nothing of ours.

Two families: what a user can mend (`Refused`, exit code 2) and what is ours to mend (everything else, exit code 1).
Every error takes data and pickles, so that a worker's error reaches the parent whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

COMMAND_LINE = "command line"  # `Fault.where` of what the user typed


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with one input, in the words its owner needs to mend it.

    `where` names the input (`campaign/run`, a split, the command line), `path` and `line` (from 1) the place in a
    file, `field` the key there. `option` is the override that would accept it, where one exists.
    """

    where: str
    field: str
    found: str
    expected: str
    path: str = ""
    line: int | None = None
    option: str = ""

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}: " if self.line else f"{self.path}: " if self.path else ""
        option = f"; override: {self.option}" if self.option else ""
        return f"{self.where}: {place}{self.field}: found {self.found}, expected {self.expected}{option}"


@dataclass(frozen=True, slots=True)
class Words:
    """What people call a group of episodes, and one of them, in the tree these come from; `example` is one's name."""

    group: str
    one: str
    example: str

    @property
    def many(self) -> str:
        """Several of them."""
        return f"{self.one}s"


RUNS = Words("campaign", "run", "campaign/run")


class QuickdrawError(Exception):
    """Base of every error this project raises on purpose."""


class Refused(QuickdrawError):
    """The input or the command is refused; nothing was published. Carries every fault found, never only the first.

    `runs` is how many runs were looked at, where that is known, `words` what they are called.
    """

    def __init__(self, faults: Iterable[Fault], runs: int | None = None, words: Words = RUNS) -> None:
        self.faults, self.runs, self.words = tuple(faults), runs, words
        super().__init__("\n".join(str(fault) for fault in self.faults))

    @property
    def by_command(self) -> bool:
        """Whether some of it is what the user typed."""
        return any(fault.where == COMMAND_LINE for fault in self.faults)

    @property
    def bad_runs(self) -> int:
        """How many of `runs` there are faults of; 0 where no run was looked at."""
        return len({fault.where for fault in self.faults if "/" in fault.where}) if self.runs else 0

    def __reduce__(self) -> tuple[type[Refused], tuple[tuple[Fault, ...], int | None, Words]]:
        return type(self), (self.faults, self.runs, self.words)


class VideoError(QuickdrawError):
    """A video file cannot be read as its recorder promised: `path`, what was `found` and what was `expected`."""

    def __init__(self, path: str, found: str, expected: str) -> None:
        self.path, self.found, self.expected = path, found, expected
        super().__init__(f"{path}: found {found}, expected {expected}")

    def __reduce__(self) -> tuple[type[VideoError], tuple[str, str, str]]:
        return type(self), (self.path, self.found, self.expected)


class InvariantError(QuickdrawError):
    """What we wrote is not what we meant to write: a fault of ours, never of the input."""


class WorkerDied(QuickdrawError):
    """A worker process ended without an answer."""


class NoWorkers(WorkerDied):
    """Worker processes die as they start: no fault of what they were to do."""
