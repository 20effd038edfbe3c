"""What a person, or a log, sees of a build while it runs."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Protocol

from quickdraw.pipeline.amounts import duration

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from quickdraw.pipeline.tables import Table

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


class Silence:
    """Progress that nobody sees; its lines are kept all the same."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, line: str) -> None:
        """Keep one line."""
        self.lines.append(line)

    @contextmanager
    def stage(self, name: str, total: int, unit: str) -> Iterator[Meter]:
        """Keep how long the stage took."""
        count = _Count(total, unit)
        yield count
        self.lines.append(f"{name}: {count.ended()}")


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
        meter = _PlainMeter(self, name, _Count(total, unit))
        yield meter
        self.note(f"{name}: {meter.count.ended()}")


class TerminalProgress:
    """A live bar a stage, with rate and time left, and notes above it."""

    def __init__(self) -> None:
        from rich.console import Console

        self.lines: list[str] = []
        self.console = Console(highlight=False, emoji=False)

    def note(self, line: str) -> None:
        """Say one line, broken at words, but where it holds a path that may be copied. Warnings stand out."""
        self.lines.append(line)
        style = "yellow" if line.startswith(("warning: ", "not built: ")) else ""
        self.console.print(line, markup=False, soft_wrap=" /" in line, style=style)

    def tabulate(self, table: Table) -> None:
        """Say a table, ruled and folded to the width there is."""
        from rich.box import SIMPLE_HEAD
        from rich.table import Table as Ruled
        from rich.text import Text

        self.lines += table.lines()
        ruled = Ruled(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for heading in table.headings:
            ruled.add_column(heading, justify="right" if heading in table.numbers else "left", overflow="fold")
        for row in table.rows:
            ruled.add_row(*map(Text, row))
        self.console.print(ruled)

    @contextmanager
    def stage(self, name: str, total: int, unit: str) -> Iterator[Meter]:
        """Show a bar while the stage runs; it stays, with how long that took."""
        from rich.progress import BarColumn, Progress, TextColumn

        count = _Count(total, unit)
        told = TextColumn("{task.fields[count]}", justify="right")  # asked anew with every look at it
        columns = (TextColumn("{task.description:<7}"), BarColumn(bar_width=None), told)
        with Progress(*columns, console=self.console, expand=True) as bars:
            yield _Bar(bars, bars.add_task(name, total=total, count=count), count)
            count.is_over = True
        self.lines.append(f"{name}: {count.ended()}")


def tell(progress: Progress, blocks: Iterable[str | Table]) -> None:
    """Lines and tables: on a terminal ruled ones, else, and for progress.log, aligned lines."""
    for block in blocks:
        if isinstance(block, str):
            progress.note(block)
        elif isinstance(progress, TerminalProgress):
            progress.tabulate(block)
        else:
            for line in block.lines():
                progress.note(line)


def for_this_output() -> Progress:
    """Bars where stdout is a terminal, plain lines elsewhere."""
    return TerminalProgress() if sys.stdout is not None and sys.stdout.isatty() else PlainProgress()


class _Count:
    """How far a stage is, in words. Where there is one unit alone, neither count nor rate says anything."""

    def __init__(self, total: int, unit: str) -> None:
        self.total, self.unit = total, unit
        self.done, self.started, self.is_over = 0, time.monotonic(), False

    def __str__(self) -> str:
        return self.ended() if self.is_over else self.going()

    def advance(self, amount: int) -> None:
        self.done += amount

    @property
    def elapsed_s(self) -> float:
        return max(time.monotonic() - self.started, 1e-3)

    def text(self) -> str:
        """`4240/5684 pictures, 262 pictures/s`."""
        rate = self.done / self.elapsed_s
        shown = f"{rate:,.0f}" if rate >= 10 or not self.done else f"{rate:.1f}"
        return f"{self.done}/{self.total} {self.unit}, {shown} {self.unit}/s"

    def going(self) -> str:
        """With the time left, once there is a pace to tell it from."""
        if self.total <= 1:
            return ""
        if not self.done:
            return f"0/{self.total} {self.unit}"
        left_s = self.elapsed_s * max(self.total - self.done, 0) / self.done
        return f"{self.text()}, {f'{left_s:.0f} s' if left_s < 59.5 else duration(left_s)} left"

    def ended(self) -> str:
        """With the time it took."""
        return f"{self.text() + ', ' if self.total > 1 else ''}{duration(self.elapsed_s)}"


class _PlainMeter:
    def __init__(self, progress: PlainProgress, name: str, count: _Count) -> None:
        self.progress, self.name, self.count, self.shown = progress, name, count, count.started

    def advance(self, amount: int) -> None:
        self.count.advance(amount)
        if time.monotonic() - self.shown >= PLAIN_EVERY_S and self.count.done < self.count.total:
            self.shown = time.monotonic()
            self.progress.note(f"{self.name}: {self.count.going()}")


class _Bar:
    def __init__(self, bars: Bars, task: TaskID, count: _Count) -> None:
        self.bars, self.task, self.count = bars, task, count

    def advance(self, amount: int) -> None:
        self.count.advance(amount)
        self.bars.advance(self.task, amount)
