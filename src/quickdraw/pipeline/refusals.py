"""How a refusal is shown: every fault, whole, then what it comes to."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator

from quickdraw.errors import COMMAND_LINE, Fault, Refused


def show(refused: Refused, advice: Iterable[str] = (), *, consequence: str = "nothing was published") -> None:
    """On stderr, where there is one: a table on a terminal, else a line a fault, never cut; then what it comes to."""
    if sys.stderr is None:
        return
    with contextlib.suppress(OSError):  # whoever listened is gone
        lines = [*_summary(refused, consequence), *advice]
        if sys.stderr.isatty():
            _print_table(refused)
        else:
            lines = [*map(_line, refused.faults), *lines]
        for line in lines:
            print(line, file=sys.stderr)


def _line(fault: Fault) -> str:
    """One line, whatever the names and values in it hold."""
    text = str(fault).replace("\r", "\\r").replace("\n", "\\n")
    return f"refused: {text}" if fault.where == COMMAND_LINE else text


def _summary(refused: Refused, consequence: str) -> Iterator[str]:
    """What it comes to; a slip on the command line needs no such words."""
    if all(fault.where == COMMAND_LINE for fault in refused.faults):
        return
    faults = len(refused.faults)
    where = f" in {refused.bad_runs} of {refused.runs} {refused.words.many}" if refused.bad_runs else ""
    yield f"refused: {faults} fault{'s' if faults != 1 else ''}{where}; {consequence}"


def _print_table(refused: Refused) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(refused.words.one, "where", "found", "expected", "option", show_lines=True)
    for column in table.columns:
        column.overflow = "fold"
    for fault in refused.faults:
        place = ":".join(part for part in (fault.path, str(fault.line or "")) if part)
        where = f"{place}: {fault.field}" if place else fault.field
        table.add_row(*map(Text, (fault.where, where, fault.found, fault.expected, fault.option)))
    Console(stderr=True, highlight=False, emoji=False).print(table)
