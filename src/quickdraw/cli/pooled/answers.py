"""How a pooled tool is asked and how it answers: words or one JSON document, progress on stderr, exit codes 0, 1, 2."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quickdraw.cli.outcomes import exit_codes

if TYPE_CHECKING:
    from quickdraw.formats.pooled.layout import Layout
    from quickdraw.pipeline.progress import Meter

TaskFolder = Annotated[Path, typer.Argument(help="Folder of a task: <recordings>/<task>, holding meta/info.json.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else on stdout.")]
Apply = Annotated[bool, typer.Option("--apply", help="Change the files. Without it: show what would be done.")]
Number = Annotated[int, typer.Option("--episode", min=1, help="The global episode number N, from 1.")]


def answering(*, as_json: bool) -> AbstractContextManager[None]:
    """Raise typer.Exit where the block is refused (2), fails (1) or is interrupted, having said why.

    The faults of a refusal are lines on stderr, and with `as_json` whatever went wrong is a document on stdout too.
    """
    return exit_codes(consequence="nothing was changed", as_json=as_json)


@contextmanager
def telling(name: str, unit: str) -> Iterator[Callable[[int, int], None]]:
    """A bar, or lines, on stderr; the block is given what to call with (done, in all) as it goes on."""
    from quickdraw.pipeline.progress import for_this_output

    with redirect_stdout(sys.stderr), ExitStack() as shown:
        meter: Meter | None = None
        before = 0

        def tell(done: int, total: int) -> None:
            nonlocal meter, before
            meter = meter or shown.enter_context(for_this_output().stage(name, total, unit))
            meter.advance(done - before)
            before = done

        yield tell


def print_document(document: Mapping[str, Any]) -> None:
    """One JSON document on stdout."""
    say(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))


def say(text: str) -> None:
    """A line on stdout, whatever file names are in it: bytes that are no UTF-8 become `\\udcNN`."""
    from quickdraw.formats.pooled.checks.findings import plain

    typer.echo(plain(text))


def named(layout: Layout, number: int) -> str:
    """`episode 1001 (chunk-001/episode-000, _ep000000)`: N, its files, and what other programs show of it."""
    place = layout.place(number)
    return f"episode {number} (chunk-{place.chunk:03d}/episode-{place.file:03d}, {place.suffix})"


def place_document(layout: Layout, number: int) -> dict[str, Any]:
    """N and its file number as JSON."""
    place = layout.place(number)
    return {"episode": number, "chunk": place.chunk, "file": place.file, "name": place.suffix}


def told(apply: bool, done: str, would: str) -> str:
    """What was done, or what would be: a plan is never told as a deed."""
    return done if apply else f"{would}; nothing was changed: --apply does it"
