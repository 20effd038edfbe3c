"""`quickdraw pooled delete`: remove one episode's files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from quickdraw.cli.pooled.answers import (
    Apply,
    AsJson,
    Number,
    TaskFolder,
    answering,
    named,
    place_document,
    print_document,
    say,
    told,
)
from quickdraw.pipeline.amounts import counted

if TYPE_CHECKING:
    from quickdraw.formats.pooled.layout import Layout

_WithRow = Annotated[bool, typer.Option("--with-row", help="Remove its row in meta/episodes, too.")]


def delete(
    task: TaskFolder, *, episode: Number, with_row: _WithRow = False, apply: Apply = False, as_json: AsJson = False
) -> None:
    """Remove the videos and the data of one episode. Its row stays unless asked for, its number is never used again.

    Statistics and total_episodes stay as they are. Exit code 0 when done, also where nothing was left to remove; 2
    where the folder is no pooled task or is being recorded to.
    """
    from quickdraw.formats.pooled.delete import delete as deleted
    from quickdraw.formats.pooled.info import recognise

    with answering(as_json=as_json):
        layout = recognise(task).layout
        report = deleted(layout, episode, with_row=with_row, apply=apply)
    if as_json:
        files = {"files": [str(path) for path in report.files], "shards": [str(path) for path in report.shards]}
        print_document(place_document(layout, episode) | {"applied": report.applied} | files)
        return
    for path in report.files:
        say(str(path))
    for path in report.shards:
        say(f"{path}: its row")
    number = counted(len(report.files), "file")
    removed = told(apply, f"{number} removed", f"{number} would be removed")
    say(f"{named(layout, episode)}: {removed if report.files or report.shards else _nothing(layout, episode)}")


def _nothing(layout: Layout, episode: int) -> str:
    from quickdraw.formats.pooled.info import recognise
    from quickdraw.formats.pooled.numbers import known_numbers

    highest = max(known_numbers(layout) | {recognise(layout.root).last_number})
    return "nothing left to remove" if episode <= highest else f"never recorded; the highest number is {highest}"
