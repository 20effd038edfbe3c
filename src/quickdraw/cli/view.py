"""`quickdraw view`: episodes in Rerun's viewer."""

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
_Episodes = Annotated[list[int] | None, typer.Option("--episode", help="Which episode, from 0; may be given again.")]
_Save = Annotated[
    Path | None,
    typer.Option(help="Write FILE.rrd and open nothing; of several episodes FILE_<episode>.rrd each."),
]


def view(dataset: _Dataset, *, split: _Split = None, episode: _Episodes = None, save: _Save = None) -> None:
    """Open episodes in Rerun: cameras, state, action, cubes and poses on one timeline.

    Rerun comes with the extra `viz` of quickdraw. On a machine without a display --save writes what `rerun FILE.rrd`
    opens on another. Prints the files it wrote; files of these names are replaced.
    Exit code 0 when done, 2 when refused, 1 when something fails, 130 when interrupted.
    """
    from quickdraw.cli.selection import cube_cameras, selected
    from quickdraw.pipeline.progress import for_this_output
    from quickdraw.report.viewer.recording import lacks_decoder, missing_rerun, open_viewer, save_recording
    from quickdraw.report.viewer.rows import Shown

    # Progress goes to stderr: what is printed is the files alone.
    with exit_codes(consequence="nothing was written or opened"), redirect_stdout(sys.stderr):
        chosen = selected(dataset, split, episode or [0], [*missing_rerun(), *_odd_target(dataset, save)])
        cameras, progress = cube_cameras(), for_this_output()
        shown = [Shown(chosen.split, number, chosen.name, cameras) for number in chosen.episodes]
        files = [] if save is None else [_file(save, each.episode, len(shown)) for each in shown]
        with progress.stage("view", sum(each.parts for each in shown), "parts") as meter:
            if save is None:
                open_viewer(shown, meter.advance)
            for each, file in zip(shown, files, strict=False):
                file.parent.mkdir(parents=True, exist_ok=True)
                save_recording(each, file, meter.advance)
        if save is None and lacks_decoder():
            progress.note("note: Rerun's viewer shows H.264 by an ffmpeg on the PATH, and there is none")
    for file in files:
        typer.echo(str(file))


def _file(save: Path, episode: int, episodes: int) -> Path:
    return save if episodes == 1 else save.with_name(f"{save.stem}_{episode}{save.suffix}")


def _odd_target(dataset: Path, save: Path | None) -> list[Fault]:
    """What is wrong with where the episodes are to go: a file, or the viewer."""
    from quickdraw.cli.selection import inside
    from quickdraw.errors import COMMAND_LINE, Fault
    from quickdraw.report.viewer.recording import missing_display

    if save is None:
        return missing_display()
    faults = inside(dataset, "--save", save)
    if save.suffix != ".rrd":
        faults.append(Fault(COMMAND_LINE, "--save", save.name, "a file name that ends in .rrd"))
    if save.is_dir():
        faults.append(Fault(COMMAND_LINE, "--save", "a folder", "a file, or nothing there", path=str(save)))
    return faults
