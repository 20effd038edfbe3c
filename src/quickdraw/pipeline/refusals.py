"""How a refusal is shown: every fault, whole, those of one cause told once, then what it comes to."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from quickdraw.errors import COMMAND_LINE, Fault, Refused
from quickdraw.pipeline.amounts import counted
from quickdraw.pipeline.grouping import SHOWN, Entry, entries

if TYPE_CHECKING:
    from rich.text import Text

EVERY = "faults of one cause are told once: quickdraw inspect tells each, and so does --json"


def show(
    refused: Refused,
    advice: Iterable[str] = (),
    *,
    consequence: str = "nothing was published",
    every: bool = False,
) -> None:
    """On stderr, where there is one: a table on a terminal, else a line a fault, never cut; then what it comes to.

    `every` tells each fault, also those of one cause.
    """
    if sys.stderr is None:
        return
    told = [Entry((fault,)) for fault in refused.faults] if every else entries(refused.faults)
    shortened = refused.bad_runs and len(told) < len(refused.faults)
    lines = [*_summary(refused, consequence), *([EVERY] if shortened else []), *advice]
    with contextlib.suppress(OSError):  # whoever listened is gone
        if sys.stderr.isatty():
            _print_table(refused, told, lines)
        else:
            for line in (*(_line(entry.told) for entry in told), *lines):
                print(line, file=sys.stderr)


def fault_lines(faults: Iterable[Fault]) -> Iterator[str]:
    """A line a fault, those of one cause in one."""
    return (_escaped(str(entry.told)) for entry in entries(faults))


def _line(fault: Fault) -> str:
    text = _escaped(str(fault))
    return f"refused: {text}" if fault.where == COMMAND_LINE else text


def _escaped(text: str) -> str:
    """One line, whatever the names and values in it hold."""
    return text.replace("\r", "\\r").replace("\n", "\\n")


def _summary(refused: Refused, consequence: str) -> Iterator[str]:
    """What it comes to; a slip on the command line needs no such words."""
    if all(fault.where == COMMAND_LINE for fault in refused.faults):
        return
    where = f" in {refused.bad_runs} of {refused.runs} {refused.words.many}" if refused.bad_runs else ""
    yield f"refused: {counted(len(refused.faults), 'fault')}{where}; {consequence}"


def _print_table(refused: Refused, told: Iterable[Entry], lines: Iterable[str]) -> None:
    """Whose it is, and what: two columns, for five would be too narrow for a path. Below it what it comes to."""
    from rich.box import ROUNDED
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=ROUNDED, show_lines=True, expand=True)
    table.add_column(refused.words.one, overflow="fold", ratio=2)
    table.add_column("what is wrong", overflow="fold", ratio=3)
    for entry in told:
        places = [*entry.places[:SHOWN], *([more] if (more := entry.more) else [])]
        table.add_row(Text("\n".join(places)), Text("\n").join(_cell(entry.told)))
    console = Console(stderr=True, highlight=False, emoji=False)
    console.print(table)
    for line in lines:
        console.print(line, markup=False, soft_wrap=" /" in line)


def _cell(fault: Fault) -> Iterator[Text]:
    from rich.text import Text

    yield Text(fault.field, "bold")
    yield Text.assemble("found     ", (fault.found, "red"))
    yield Text.assemble("expected  ", fault.expected)
    if fault.path:
        yield Text.assemble("in        ", ":".join(part for part in (fault.path, str(fault.line or "")) if part))
    if fault.option:
        yield Text.assemble("override  ", fault.option)


def failure(error: Exception) -> str:
    """What failed, in words: of a file its name and the system's reason, without its number; then what else is known.

    What takes more than a line is left to a traceback.
    """
    told = str(error)
    if isinstance(error, OSError) and error.strerror:
        told = f"{error.filename}: {error.strerror}" if error.filename is not None else error.strerror
    return "; ".join([told, *(note for note in getattr(error, "__notes__", ()) if "\n" not in note)])


def as_document(refused: Refused) -> dict[str, Any]:
    """Every fault, field by field, JSON-ready."""
    return {"refused": [asdict(fault) for fault in refused.faults]}
