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
)

_Out = Annotated[Path | None, typer.Option("--out", help="The zip to write; default <task><_ep name>.zip here.")]


def pack(task: TaskFolder, *, episode: Number, out: _Out = None, as_json: AsJson = False) -> None:
    """Pack one episode: its videos, data and row, and the task's documents, stored under their own paths.

    An episode that lacks anything is refused. The task is not changed. Exit code 0 when packed, 2 when refused.
    """
    from quickdraw.formats.pooled.archive import pack as packed
    from quickdraw.formats.pooled.info import recognise

    with answering(as_json=as_json):
        layout = recognise(task).layout
        name = f"{layout.root.resolve().name}{layout.place(episode).suffix}.zip"
        place = packed(layout, episode, out or Path(name))
    if as_json:
        fields = {"name": layout.root.resolve().name, "episode_index": str(layout.place(episode).file)}
        print_document(place_document(layout, episode) | {"archive": str(place), "form": fields})
    else:
        typer.echo(f"{named(layout, episode)}: {place}")
