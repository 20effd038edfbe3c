"""`quickdraw report`: the page and the card of a dataset, made again."""

from __future__ import annotations

import json
import os
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

import typer

from quickdraw.cli.outcomes import exit_codes

_Dataset = Annotated[Path, typer.Argument(help="Folder of a dataset, holding train/, val/, ...")]
_Out = Annotated[
    Path | None,
    typer.Option(help="Write the page here, outside the dataset: any LeRobot v3.0. A file there is replaced."),
]
_Json = Annotated[bool, typer.Option("--json", help="Print the files that were written as one JSON document.")]
_Workers = Annotated[int | None, typer.Option(min=1, max=512, help="Worker processes; default one per core.")]


def report(dataset: _Dataset, *, out: _Out = None, as_json: _Json = False, workers: _Workers = None) -> None:
    """Write report.html, one page to look a dataset over, and README.md, its card, into a dataset we built.

    A build does so by itself. The same dataset gives the same bytes; both are no part of it, and may be deleted. What
    stands between the card's marks for your own words is kept. Exit code 0 when done, 2 when the dataset or an option
    is refused, 1 when something fails, 130 when interrupted: but for the first, what was there is there still.
    """
    from quickdraw.pipeline.executors.local import local_processes
    from quickdraw.pipeline.progress import for_this_output
    from quickdraw.report.views import write_page, write_views

    root, file = dataset.resolve(), out and out.resolve()
    cores = len(os.sched_getaffinity(0))
    # Progress goes to stderr: what is printed is where the files are.
    with (
        exit_codes(consequence="nothing was written"),
        redirect_stdout(sys.stderr),
        local_processes(workers or cores) as executor,
    ):
        if file is None:
            written = write_views(root, executor, for_this_output())
        else:
            written = (write_page(root, file, executor, for_this_output()),)
    names = [str(path) for path in written]
    if as_json:
        typer.echo(json.dumps({"dataset": str(root), "written": names}, indent=2, ensure_ascii=False))
    else:
        typer.echo("\n".join(names))
