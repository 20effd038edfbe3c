"""`quickdraw objects`: measure the cubes of a built dataset in its own pictures."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from quickdraw.core.hues import CubeThresholds

PREFIX = "source.cube."


def objects(
    dataset: Annotated[Path, typer.Argument(help="Folder of a built dataset, holding train/, val/, ...")],
    thresholds: Annotated[
        list[str] | None,
        typer.Argument(help=f"Thresholds to change, as +{PREFIX}min_area_px=20; else those it was built with."),
    ] = None,
    *,
    workers: Annotated[int | None, typer.Option(min=1, max=512, help="Worker processes; default one per core.")] = None,
) -> None:
    """Add observation.objects.cube to a built dataset, or measure it anew. Videos, state and action are not touched.

    Exit code 0 when done, 2 when the dataset or an option is refused, 1 when something fails, 130 when interrupted: but
    for the first, the dataset is as it was.
    """
    from quickdraw.core.cubes import CubeRule
    from quickdraw.data.block_stack import CUBE_CAMERAS
    from quickdraw.errors import Refused, WorkerDied
    from quickdraw.pipeline.executors.local import local_processes
    from quickdraw.pipeline.objects import put_cubes
    from quickdraw.pipeline.progress import for_this_output

    try:
        rule, progress = CubeRule(CUBE_CAMERAS, _thresholds(dataset, thresholds or [])), for_this_output()
        with local_processes(workers or len(os.sched_getaffinity(0))) as executor:
            put_cubes(dataset, rule, executor, progress)
        progress.note(f"dataset: {dataset}")
    except Refused as refused:
        for fault in refused.faults:
            typer.echo(f"refused: {fault}", err=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        raise typer.Exit(130) from None
    except (WorkerDied, OSError) as error:
        typer.echo(f"failed: {error}", err=True)
        raise typer.Exit(1) from None


def _thresholds(dataset: Path, overrides: list[str]) -> CubeThresholds:
    """What was typed, over what the dataset was built with, over the defaults. Raises Refused."""
    from quickdraw.core.hues import CubeThresholds
    from quickdraw.data.config import Cube, parse
    from quickdraw.data.ranges import cube_faults
    from quickdraw.errors import COMMAND_LINE, Fault, Refused
    from quickdraw.pipeline.documents import PROVENANCE, read_provenance

    command = parse(["processor=block_stack", *overrides])
    strange = [name for name in command.given if name != "processor" and not name.startswith(PREFIX)]
    if strange:
        expected = ", ".join(f"+{PREFIX}{name}=..." for name in Cube.__dataclass_fields__)
        raise Refused([Fault(COMMAND_LINE, name, "not a threshold", f"one of {expected}") for name in strange])
    typed = {name.removeprefix(PREFIX) for name in command.given}
    values = vars(command.config.source.cube)
    traced = read_provenance(dataset) if (dataset / PROVENANCE).exists() else {}
    built = traced.get("config", {}).get("cube", {})
    chosen = Cube(**values | {name: value for name, value in built.items() if name in values and name not in typed})
    faults = cube_faults(chosen)
    if faults:
        raise Refused(faults)
    return CubeThresholds(**vars(chosen))
