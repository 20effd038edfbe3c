"""`quickdraw inspect`: what a build of a raw tree would make, and everything that stands in its way."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quickdraw.cli.completion import build_options
from quickdraw.cli.outcomes import exit_codes
from quickdraw.pipeline.exits import REFUSED

if TYPE_CHECKING:
    from quickdraw.pipeline.plan import Survey
    from quickdraw.pipeline.progress import Progress

_Tree = Annotated[
    Path,
    typer.Argument(help="Raw campaign tree, <tree>/<campaign>/recording_*/; a pooled task, or the folder of several."),
]
_Overrides = Annotated[
    list[str] | None,
    typer.Argument(
        help="Options of a build, as +source.on_bad_run=skip; +processor=<name> where the tree does not tell.",
        autocompletion=build_options,
    ),
]
_Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
_Quiet = Annotated[bool, typer.Option("--quiet", help="Only say what is wrong: nothing, where a build would begin.")]


def inspect(tree: _Tree, overrides: _Overrides = None, *, as_json: _Json = False, quiet: _Quiet = False) -> None:
    """Show what would be built from raw recordings, and every fault of each. Nothing is written, no picture decoded.

    Exit code 0 where a build would begin, 2 where it would be refused, 1 when something fails, 130 when interrupted.
    """
    with exit_codes(overrides=True, every=True):
        if as_json:
            _print_document(tree, overrides or [])
        else:
            _print_words(tree, overrides or [], quiet=quiet)


def _print_words(tree: Path, overrides: Sequence[str], *, quiet: bool) -> None:
    """The plan, and a line an episode. Raises Refused where the build would be."""
    from quickdraw.errors import Refused
    from quickdraw.pipeline.describe import describe
    from quickdraw.pipeline.inspection import episode_lines
    from quickdraw.pipeline.progress import Silence, for_this_output, tell

    progress = Silence() if quiet else for_this_output()
    found = _surveyed(tree, overrides, progress)
    # Where it would be refused, faults come below, with the rest.
    described = describe(found.plan, found.settings, with_faults=not found.faults)
    tell(progress, (*described, "", *episode_lines(found.plan)))
    if found.faults:
        raise Refused(found.faults, found.runs, found.settings.source.words)


def _print_document(tree: Path, overrides: Sequence[str]) -> None:
    """One JSON document, whatever is wrong. Raises typer.Exit where the build would be refused."""
    from quickdraw.errors import Refused
    from quickdraw.pipeline.inspection import as_document
    from quickdraw.pipeline.plan import BuildPlan
    from quickdraw.pipeline.progress import Silence

    try:
        found = _surveyed(tree, overrides, Silence())
        plan, faults, runs = found.plan, found.faults, found.runs
    except Refused as refused:  # there is no tree, or no such option
        plan, faults, runs = BuildPlan.empty(), refused.faults, 0
    typer.echo(json.dumps(as_document(plan, faults, runs), indent=2))
    if faults:
        raise typer.Exit(REFUSED)


def _surveyed(tree: Path, overrides: Sequence[str], progress: Progress) -> Survey:
    from quickdraw.data.building import settings_of
    from quickdraw.data.command_line.arguments import named
    from quickdraw.data.command_line.composing import parse
    from quickdraw.data.processors import opened
    from quickdraw.data.recognising import processor_of
    from quickdraw.pipeline.plan import survey
    from quickdraw.pipeline.plan_index import PlanIndex

    chosen = [] if named("processor", overrides) else [f"processor={processor_of(tree)}"]
    command = parse([*chosen, f"source.dir={tree}", *overrides])
    settings = settings_of(command.processor, command.config)
    with opened(command, settings, progress) as executor:
        return survey(settings, executor, progress, PlanIndex(settings.source))
