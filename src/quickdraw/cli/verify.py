"""`quickdraw verify`: prove a dataset right, or find what is wrong with it."""

from __future__ import annotations

import json
import os
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quickdraw.cli.outcomes import exit_codes

if TYPE_CHECKING:
    from quickdraw.pipeline.verify.report import Report

_Dataset = Annotated[Path, typer.Argument(help="Folder of a dataset, holding train/, val/, ..., or of one split.")]
_Source = Annotated[
    Path | None, typer.Option(help="The raw tree it was built from: rows and pictures are compared with it.")
]
_Json = Annotated[bool, typer.Option("--json", help="Print the report as one JSON document.")]
_Quiet = Annotated[bool, typer.Option("--quiet", help="Only say what is wrong: nothing, where nothing is.")]
_Workers = Annotated[int | None, typer.Option(min=1, max=512, help="Worker processes; default one per core.")]


def verify(
    dataset: _Dataset,
    *,
    source: _Source = None,
    as_json: _Json = False,
    quiet: _Quiet = False,
    workers: _Workers = None,
) -> None:
    """Check everything a dataset says of itself: every file, row, picture, statistic; its source too where given.

    Datasets of others get every check that needs no provenance. Exit code 0 when nothing is wrong, 1 when something is
    (each finding says where), 2 when the folder is no dataset, 130 when interrupted. Nothing is written.
    """
    from quickdraw.pipeline.executors.local import local_processes
    from quickdraw.pipeline.progress import Silence, for_this_output
    from quickdraw.pipeline.verify.verify import verify as verified

    cores = len(os.sched_getaffinity(0))
    # Progress goes to stderr: what is printed is the report alone.
    told = exit_codes(as_json=as_json, consequence="nothing was checked")
    with told, redirect_stdout(sys.stderr), local_processes(workers or cores) as executor:
        progress = Silence() if quiet else for_this_output()
        report = verified(dataset.resolve(), executor, progress, source and source.resolve())
    if as_json:
        typer.echo(json.dumps(report.document(), indent=2, ensure_ascii=False))
    elif not quiet:
        _show(report)
    elif not report.sound:
        _show_findings(report)
    raise typer.Exit(0 if report.sound else 1)


def _show(report: Report) -> None:
    """What was checked and what was not, curves, then findings: a table on a terminal, else a line each."""
    from quickdraw.pipeline.amounts import counted

    typer.echo("checked: " + ", ".join(f"{check} {amount:,}" for check, amount in report.checks.items()))
    for line in report.sweep_lines():
        typer.echo(f"shift sweep: {line}")
    for skipped in report.skipped:
        typer.echo(f"not checked: {skipped.check} in {skipped.where}: {skipped.reason}")
    _show_findings(report)
    verdict = "nothing wrong" if report.sound else counted(len(report.findings), "finding")
    amounts = f"{report.files:,} files, {report.rows:,} rows, {report.pictures:,} pictures in {report.seconds:.1f} s"
    typer.echo(f"{report.dataset}: {verdict}; {amounts}")


def _show_findings(report: Report) -> None:
    if report.findings and sys.stdout.isatty():
        _show_table(report)
    else:
        for fault in report.findings:
            typer.echo(str(fault))


def _show_table(report: Report) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title="findings", show_lines=True)
    for name in ("check", "where", "found", "expected"):
        table.add_column(name, overflow="fold")
    for fault in report.findings:
        where = f"{fault.where}\n{fault.path}" if fault.path else fault.where
        table.add_row(*(Text(cell) for cell in (fault.field, where, fault.found, fault.expected)))
    Console().print(table)
