"""`quickdraw preview`: an episode as one film, and as a sheet of pictures."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quickdraw.cli.completion import split_names
from quickdraw.cli.outcomes import exit_codes

if TYPE_CHECKING:
    from quickdraw.errors import Fault

_Dataset = Annotated[Path, typer.Argument(help="Folder of a dataset, holding train/, val/, ..., or of one split.")]
_Split = Annotated[
    str | None,
    typer.Option(help="Which split; val, or else the first, where none is named.", autocompletion=split_names),
]
_Episode = Annotated[int, typer.Option(help="Which episode of the split, counted from 0.")]
_Out = Annotated[Path, typer.Option(help="Folder for the two files; made where it is missing, never in the dataset.")]


def preview(dataset: _Dataset, *, split: _Split = None, episode: _Episode = 0, out: _Out = Path()) -> None:
    """Draw an episode as a film (MP4) and a sheet of twelve of its frames (PNG). Prints the files it wrote.

    All cameras beside one another, with time and row, the action as sticks or bars, the gripper asked for and measured,
    and the cubes: a ring where one is seen, a hollow square where it is held. Files of these names are replaced.
    Exit code 0 when done, 2 when refused, 1 when something fails, 130 when interrupted.
    """
    from quickdraw.cli.selection import cube_cameras, selected
    from quickdraw.pipeline.progress import for_this_output
    from quickdraw.report.previews.files import write_preview
    from quickdraw.report.previews.preview import preview_of

    # Progress goes to stderr: what is printed is the files alone.
    with exit_codes(consequence="nothing was written"), redirect_stdout(sys.stderr):
        chosen = selected(dataset, split, [episode], _odd_folder(dataset, out))
        film = preview_of(chosen.split, episode, cube_cameras())
        video = out / f"{chosen.name}_{episode}.mp4"
        sheet = video.with_name(f"{video.stem}_sheet.png")
        out.mkdir(parents=True, exist_ok=True)
        with for_this_output().stage("preview", film.rows, "rows") as meter:
            write_preview(film, video, sheet, meter.advance)
    typer.echo(f"{video}\n{sheet}")


def _odd_folder(dataset: Path, out: Path) -> list[Fault]:
    from quickdraw.cli.selection import inside
    from quickdraw.errors import COMMAND_LINE, Fault

    faults = inside(dataset, "--out", out)
    if out.exists() and not out.is_dir():
        faults.append(Fault(COMMAND_LINE, "--out", "a file", "a folder, or nothing there", path=str(out)))
    return faults
