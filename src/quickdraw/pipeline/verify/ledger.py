"""What is found while a dataset is checked. A check that fails on something unreadable hides no other's findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from quickdraw.errors import Fault, Refused, VideoError

# What reading values of a kind nobody expected raises: malformed metadata of others, never a reason to stop.
MALFORMED = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, OSError, RecursionError)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A check that could not be made, of what, and why."""

    check: str
    where: str
    reason: str


def first_of(wrong: Sequence[tuple[str, str]], others: str) -> Iterator[tuple[str, str]]:
    """The first of things that are wrong alike, (found, expected), and how many `others` there are: one finding."""
    for found, expected in wrong[:1]:
        yield found + (f" (and {len(wrong) - 1} {others})" if len(wrong) > 1 else ""), expected


@dataclass(slots=True)
class Ledger:
    """Findings in the order they were made, each once; how many things each check looked at; what was not checked."""

    dataset: Path
    faults: dict[Fault, None] = field(default_factory=dict)
    looked: Counter[str] = field(default_factory=Counter)
    skipped: dict[Skipped, None] = field(default_factory=dict)

    def saw(self, check: str, amount: int = 1) -> None:
        """`amount` more things were looked at, sound or not."""
        self.looked[check] += amount

    def fault(self, check: str, where: str, *, found: str, expected: str, path: Path | None = None) -> None:
        """Something is wrong: `where` is the split, or the document, that it is wrong in."""
        self.add(Fault(where, check, found, expected, path=str(path or "")))

    def add(self, fault: Fault) -> None:
        """Keep a finding, its path told from the dataset on."""
        path = Path(fault.path)
        if fault.path and path.is_relative_to(self.dataset):
            short = str(path.relative_to(self.dataset))
            fault = replace(fault, path=short, found=fault.found.replace(fault.path, short))
        self.faults[fault] = None

    def skip(self, check: str, where: str, reason: str) -> None:
        """A check was not made."""
        self.skipped[Skipped(check, where, reason)] = None

    @contextmanager
    def checking(self, check: str, where: str) -> Iterator[None]:
        """A check's boundary: what it cannot read becomes a finding, and the next check goes on."""
        try:
            yield
        except Refused as refused:
            for fault in refused.faults:
                self.add(replace(fault, where=where))
            self.skip(check, where, "what it reads is unreadable")
        except VideoError as error:
            self.add(Fault(where, check, error.found, error.expected, path=error.path))
        except MALFORMED as error:
            self.fault(check, where, found=f"malformed metadata ({error!r})", expected="the metadata of LeRobot v3.0")
