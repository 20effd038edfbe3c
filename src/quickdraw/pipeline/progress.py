"""What a person, or a log, sees of a build while it runs."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

PLAIN_EVERY_S = 5.0


class Meter(Protocol):
    """The running count of one stage."""

    def advance(self, amount: int) -> None:
        """`amount` more units are done."""
        ...


class Progress(Protocol):
    """Where stages and notes are shown. `lines` keeps every note, for progress.log."""

    lines: list[str]

    def note(self, line: str) -> None:
        """Say one line."""
        ...

    def stage(self, name: str, total: int, unit: str) -> AbstractContextManager[Meter]:
        """Show a stage of `total` units while it runs."""
        ...


class PlainProgress:
    """Plain lines, unwrapped and whole, for logs and pipes: one every few seconds while a stage runs."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, line: str) -> None:
        """Say one line."""
        self.lines.append(line)
        if sys.stdout is None:
            return
        try:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()
        except OSError:  # whoever listened is gone; the build is not
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    @contextmanager
    def stage(self, name: str, total: int, unit: str) -> Iterator[Meter]:
        """Show a stage; its last line gives the rate."""
        meter = _PlainMeter(self, name, total, unit)
        yield meter
        meter.finish()


class _PlainMeter:
    def __init__(self, progress: PlainProgress, name: str, total: int, unit: str) -> None:
        self.progress, self.name, self.total, self.unit = progress, name, total, unit
        self.done, self.started = 0, time.monotonic()
        self.shown = self.started

    def advance(self, amount: int) -> None:
        self.done += amount
        if time.monotonic() - self.shown >= PLAIN_EVERY_S and self.done < self.total:
            self.shown = time.monotonic()
            elapsed = self.shown - self.started
            left = elapsed * (self.total - self.done) / self.done if self.done else 0.0
            self.progress.note(f"{self.text()}, {left:.0f} s left")

    def text(self) -> str:
        rate = self.done / max(time.monotonic() - self.started, 1e-3)
        return f"{self.name}: {self.done}/{self.total} {self.unit}, {rate:.0f} {self.unit}/s"

    def finish(self) -> None:
        self.progress.note(f"{self.text()}, {time.monotonic() - self.started:.1f} s")


class TerminalProgress:
    """A live bar a stage, with rate and time left, and notes above it."""

    def __init__(self) -> None:
        from rich.console import Console

        self.lines: list[str] = []
        self.console = Console(highlight=False, emoji=False)

    def note(self, line: str) -> None:
        """Say one line."""
        self.lines.append(line)
        self.console.print(line, markup=False, soft_wrap=True)

    @contextmanager
    def stage(self, name: str, total: int, unit: str) -> Iterator[Meter]:
        """Show a bar while the stage runs."""
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        rate = TextColumn("{task.fields[rate]}")
        columns = (TextColumn("{task.description:<7}"), BarColumn(), MofNCompleteColumn(), rate, TimeRemainingColumn())
        started = time.monotonic()
        with Progress(*columns, console=self.console) as bars:
            meter = _Bar(bars, bars.add_task(name, total=total, rate=unit), unit, started)
            yield meter
        self.lines.append(f"{name}: {meter.done}/{total} {unit}, {time.monotonic() - started:.1f} s")


class _Bar:
    def __init__(self, bars: Bars, task: TaskID, unit: str, started: float) -> None:
        self.bars, self.task, self.unit, self.started, self.done = bars, task, unit, started, 0

    def advance(self, amount: int) -> None:
        self.done += amount
        rate = self.done / max(time.monotonic() - self.started, 1e-3)
        self.bars.update(self.task, advance=amount, rate=f"{rate:,.0f} {self.unit}/s")


def for_this_output() -> Progress:
    """Bars where stdout is a terminal, plain lines elsewhere."""
    return TerminalProgress() if sys.stdout is not None and sys.stdout.isatty() else PlainProgress()
