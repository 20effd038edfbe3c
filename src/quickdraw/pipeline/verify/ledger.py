"""What is found while a dataset is checked. A check that fails on something unreadable hides no other's findings."""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from quickdraw.errors import Fault, Refused, VideoError

# What documents and tables hold is checked where it is parsed. These are what is left of numbers of an odd size or
# shape; everything else, a missing attribute say, is a bug of ours and no finding.
MALFORMED = (LookupError, ValueError, ArithmeticError)
# What is wrong with the machine, not with the file.
MACHINE = (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM)


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

    def take(self, other: Ledger) -> None:
        """What was found elsewhere, of a part of the dataset."""
        self.faults |= other.faults
        self.looked += other.looked
        self.skipped |= other.skipped

    @contextmanager
    def checking(self, check: str, where: str) -> Iterator[None]:
        """A check's boundary: what it cannot read becomes a finding, and the next check goes on.

        Raises OSError where it is the machine that fails.
        """
        try:
            with np.errstate(invalid="ignore", over="ignore"):  # numbers may be odd: they are compared, not warned of
                yield
        except Refused as refused:
            for fault in refused.faults:
                self.add(replace(fault, where=where))
            self.skip(check, where, "what it reads is unreadable")
        except VideoError as error:
            self.add(Fault(where, check, error.found, error.expected, path=error.path))
        except OSError as error:
            if error.errno in MACHINE:
                raise
            path = Path(error.filename) if isinstance(error.filename, str) else None
            found = f"unreadable ({error.strerror or error})"
            self.fault(check, where, found=found, expected="a readable file", path=path)
        except MALFORMED as error:
            self.fault(check, where, found=f"malformed metadata ({error!r})", expected="the metadata of LeRobot v3.0")
