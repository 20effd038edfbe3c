"""`quickdraw pooled pack`: one episode as the archive its server takes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quickdraw.cli.pooled.answers import (
    AsJson,
    Number,
    TaskFolder,
    answering,
    named,
    place_document,
    print_document,
    say,
)

_Out = Annotated[
    Path | None, typer.Option("--out", help="The zip, or a folder for <task><_ep name>.zip; default: here.")
]


def pack(task: TaskFolder, *, episode: Number, out: _Out = None, as_json: AsJson = False) -> None:
    """Pack one episode: its videos, data and row, and the task's documents, stored under their own paths.

    An episode that lacks anything is refused. The task is not changed. Exit code 0 when packed, 2 when refused.
    """
    from quickdraw.formats.pooled.archive import pack as packed
    from quickdraw.formats.pooled.info import recognise

    with answering(as_json=as_json):
        layout = recognise(task).layout
        place = packed(layout, episode, out or Path())
    if as_json:
        fields = {"name": layout.task, "episode_index": str(layout.place(episode).file)}
        print_document(place_document(layout, episode) | {"archive": str(place), "form": fields})
    else:
        say(f"{named(layout, episode)}: {place}")
