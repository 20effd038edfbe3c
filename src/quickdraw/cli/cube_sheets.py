"""`quickdraw cube-sheets`: pictures of what was measured of the cubes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quickdraw.cli.outcomes import exit_codes


def cube_sheets(
    dataset: Annotated[Path, typer.Argument(help="Folder of a dataset with observation.objects.cube.")],
    folder: Annotated[Path, typer.Argument(help="Where the PNG files go, one a split; made where it is missing.")],
    *,
    episodes: Annotated[int, typer.Option(min=1, help="Episodes of each split.")] = 4,
) -> None:
    """Draw contact sheets: sampled frames of both views, with the measured cubes marked. Prints the files it wrote.

    A cross in a circle of its area is a cube seen now, a hollow square one held where it was last seen.
    Exit code 0 when done, 2 when the dataset is refused, 1 when something fails.
    """
    import cv2

    from quickdraw.data.block_stack_options import CUBE_CAMERAS
    from quickdraw.errors import COMMAND_LINE, Fault, Refused
    from quickdraw.formats.lerobot.reader import splits_of
    from quickdraw.report.sheets.cube_sheet import cube_sheet

    with exit_codes():
        if folder.exists() and not folder.is_dir():
            raise Refused([Fault(COMMAND_LINE, "folder", "a file", "a folder, or nothing there", path=str(folder))])
        sheets = {name: cube_sheet(split, CUBE_CAMERAS, episodes) for name, split in splits_of(dataset).items()}
        folder.mkdir(parents=True, exist_ok=True)
        for name, sheet in sheets.items():
            path = folder / f"cubes_{name}.png"
            path.write_bytes(cv2.imencode(".png", cv2.cvtColor(sheet, cv2.COLOR_RGB2BGR))[1].tobytes())
            typer.echo(str(path))
