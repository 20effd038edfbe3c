"""`quickdraw pooled show`: one episode as a contact sheet."""

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

_Out = Annotated[Path | None, typer.Option("--out", help="The PNG to write; default <task>_episode_<N>.png here.")]


def show(task: TaskFolder, *, episode: Number, out: _Out = None, as_json: AsJson = False) -> None:
    """Draw one episode as a PNG: frames of each slot, depth, force matrices, IMU, over its time.

    Exit code 0 when drawn, 2 where there is no such episode or it is damaged.
    """
    from quickdraw.formats.pooled.reader import Task
    from quickdraw.report.pooled_sheet import sheet, write_png

    with answering(as_json=as_json):
        opened = Task.open(task)
        layout = opened.info.layout
        picture = sheet(opened.episode(episode))
        place = out or Path(f"{layout.root.resolve().name}_episode_{episode:06d}.png")
        write_png(place, picture)
    if as_json:
        print_document(place_document(layout, episode) | {"sheet": str(place)})
    else:
        typer.echo(f"{named(layout, episode)}: {place}")
