"""`quickdraw pooled check`: hold a task against every rule of the contract."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from quickdraw.cli.pooled.answers import AsJson, TaskFolder, answering, print_document, say, telling
from quickdraw.pipeline.amounts import counted
from quickdraw.pipeline.exits import FAILED

if TYPE_CHECKING:
    from quickdraw.formats.pooled.check import Report

_Deep = Annotated[bool, typer.Option("--deep", help="Also decode every video and look into every cell.")]
_Strict = Annotated[bool, typer.Option("--strict", help="A warning is an error, too.")]


def check(task: TaskFolder, *, deep: _Deep = False, strict: _Strict = False, as_json: AsJson = False) -> None:
    """Check a task's folders, documents, rows, data and videos. Nothing is written.

    Each finding names file and rule, and what mends it. Exit code 0 where there is no error (warnings are allowed
    unless --strict), 1 where there is one, 2 where the folder is no pooled task.
    """
    from quickdraw.formats.pooled.check import check as checked

    with answering(as_json=as_json), telling("check", "episodes") as tell:
        report = checked(task, deep=deep, tell=tell)
    passes = report.passes(strict=strict)
    if as_json:
        counts = {"errors": len(report.of("error")), "warnings": len(report.of("warning"))}
        findings = [asdict(each) for each in report.findings]
        print_document(
            {"task": str(task), "episodes": report.episodes, **counts, "passes": passes, "findings": findings}
        )
    else:
        _show(report, strict=strict)
    if not passes:
        raise typer.Exit(FAILED)


def _show(report: Report, *, strict: bool) -> None:
    if report.findings and sys.stdout.isatty():
        _show_table(report)
    else:
        for finding in report.findings:
            say(str(finding))
    errors, warnings = counted(len(report.of("error")), "error"), counted(len(report.of("warning")), "warning")
    severe = ", errors by --strict" if strict and report.of("warning") else ""
    say(f"{counted(report.episodes, 'episode')} checked: {errors}, {warnings}{severe}")


def _show_table(report: Report) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table("", "rule", "N", "file", "found", "what mends it", show_lines=True)
    for column in table.columns:
        column.overflow = "fold"
    styles = {"error": "bold red", "warning": "yellow", "info": "dim"}
    for each in report.findings:
        name = "" if each.number is None else f"{each.number}\n{each.episode}"
        cells = (each.rule, name, each.path, each.found, each.mend)
        table.add_row(Text(each.severity, style=styles[each.severity]), *map(Text, cells))
    Console(highlight=False, emoji=False).print(table)
