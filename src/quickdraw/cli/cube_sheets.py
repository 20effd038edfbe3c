"""`quickdraw cube-sheets`: pictures of what was measured of the cubes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def cube_sheets(
    dataset: Annotated[Path, typer.Argument(help="Folder of a dataset with observation.objects.cube.")],
    folder: Annotated[Path, typer.Argument(help="Where the PNG files go, one a split; made where it is missing.")],
    *,
    episodes: Annotated[int, typer.Option(min=1, help="Episodes of each split.")] = 4,
) -> None:
    """Draw contact sheets: sampled frames of both views, with the measured cubes marked. Prints the files it wrote.

    A cross in a circle of its area is a cube seen now, a hollow square one held where it was last seen.
    Exit code 0 when done, 2 when the dataset is refused.
    """
    import cv2

    from quickdraw.data.block_stack import CUBE_CAMERAS
    from quickdraw.errors import Refused, VideoError
    from quickdraw.formats.lerobot.reader import splits_of
    from quickdraw.report.cube_sheet import cube_sheet

    try:
        sheets = {name: cube_sheet(split, CUBE_CAMERAS, episodes) for name, split in splits_of(dataset).items()}
        folder.mkdir(parents=True, exist_ok=True)
        for name, sheet in sheets.items():
            path = folder / f"cubes_{name}.png"
            path.write_bytes(cv2.imencode(".png", cv2.cvtColor(sheet, cv2.COLOR_RGB2BGR))[1].tobytes())
            typer.echo(str(path))
    except Refused as refused:
        for fault in refused.faults:
            typer.echo(f"refused: {fault}", err=True)
        raise typer.Exit(2) from None
    except (OSError, VideoError) as error:
        typer.echo(f"refused: {error}", err=True)
        raise typer.Exit(2) from None
