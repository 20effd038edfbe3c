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
    say,
)

_Out = Annotated[Path | None, typer.Option("--out", help="The PNG to write; default <task>_episode_<N>.png here.")]


def show(task: TaskFolder, *, episode: Number, out: _Out = None, as_json: AsJson = False) -> None:
    """Draw one episode as a PNG: frames of each slot, depth, force matrices, IMU, over its time.

    Exit code 0 when drawn, 2 where there is no such episode or it is damaged.
    """
    from quickdraw.errors import COMMAND_LINE, Fault, Refused
    from quickdraw.formats.pooled.reader import Task
    from quickdraw.report.sheets.pooled_sheet import sheet, write_png

    with answering(as_json=as_json):
        opened = Task.open(task)
        layout = opened.info.layout
        picture = sheet(opened.episode(episode))
        place = out or Path(f"{layout.task}_episode_{episode:06d}.png")
        if layout.root.resolve() in place.resolve().parents:
            fault = Fault(COMMAND_LINE, "--out", str(place), "a place outside the task's folder")
            raise Refused([fault])
        write_png(place, picture)
    if as_json:
        print_document(place_document(layout, episode) | {"sheet": str(place)})
    else:
        say(f"{named(layout, episode)}: {place}")
