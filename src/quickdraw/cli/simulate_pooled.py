"""`quickdraw simulate pooled`: synthetic tasks of `pooled_episodes_v1`, to try the pooled tools on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quickdraw.pipeline.exits import FAILED, REFUSED

_Root = Annotated[Path, typer.Argument(help="Recordings root to write the tasks into; must be new or empty.")]
_Seed = Annotated[int, typer.Option(min=0, help="Equal seeds write equal tasks.")]
_Defects = Annotated[
    bool, typer.Option("--defects", help="Add one task for each known defect, named defect_<what is wrong>.")
]


def pooled(root: _Root, *, seed: _Seed = 0, defects: _Defects = False) -> None:
    """Write synthetic tasks of pooled_episodes_v1: Parquet rows, videos, depth, force matrices, documents.

    Two gloves with a 400 Hz IMU, a gripper whose matrices and depth come in every layout, and a recording of two
    cameras; none of them has a fault. Prints ROOT when done.
    """
    from quickdraw.errors import Refused, VideoError
    from quickdraw.pipeline.refusals import failure
    from quickdraw.sim.pooled.recordings import require_empty

    try:
        require_empty(root)
        _write_with_progress(root, seed, defects=defects)
    except (Refused, NotADirectoryError) as refusal:
        typer.echo(f"refused: {failure(refusal)}", err=True)
        raise typer.Exit(REFUSED) from None
    except (OSError, VideoError) as error:
        typer.echo(f"failed: {failure(error)}", err=True)
        raise typer.Exit(FAILED) from None
    typer.echo(str(root))


def _write_with_progress(root: Path, seed: int, *, defects: bool) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from quickdraw.sim.pooled import write_recordings
    from quickdraw.sim.pooled.defects import DEFECTS
    from quickdraw.sim.pooled.tasks import default_tasks

    tasks, spoiled = default_tasks(seed=seed), tuple(DEFECTS) if defects else ()
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True)) as progress:
        shown = progress.add_task("tasks", total=len(tasks) + len(spoiled))
        begun = 0

        def tell(name: str) -> None:
            nonlocal begun
            progress.update(shown, completed=begun, description=name)
            begun += 1

        write_recordings(root, seed=seed, tasks=tasks, defects=spoiled, tell=tell)
        progress.update(shown, completed=begun, description="done")
