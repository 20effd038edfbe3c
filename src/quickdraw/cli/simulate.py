"""`quickdraw simulate`: a tree of synthetic raw campaigns, to try the build on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quickdraw.pipeline.exits import FAILED, REFUSED

if TYPE_CHECKING:
    from quickdraw.sim.spec import RunSpec
    from quickdraw.sim.tree import CampaignSpec


_Root = Annotated[Path, typer.Argument(help="Folder to write the tree into; must be new or empty.")]
_Seconds = Annotated[
    float, typer.Option(min=0.5, help="Usable footage per run, in seconds; the long run has three times as much.")
]
_Runs = Annotated[int, typer.Option(min=1, help="Runs per campaign; there are four campaigns.")]
_Seed = Annotated[int, typer.Option(min=0, help="Equal seeds write equal trees.")]
_PaintNumbers = Annotated[
    bool, typer.Option("--paint-numbers", help="Paint each picture's number into it, as a strip of blocks.")
]
_QuantumMs = Annotated[
    float, typer.Option(min=0.0, help="Grain of the camera stamps, in milliseconds; 0 leaves them exact.")
]
_LoopSeconds = Annotated[
    float | None,
    typer.Option(
        min=0.5, help="Film only so many seconds per camera and repeat them: long runs quickly. Default: film all."
    ),
]
_Strays = Annotated[
    bool, typer.Option("--strays/--no-strays", help="Add the stray folders that lie about in a real tree.")
]
_RigDevices = Annotated[
    bool, typer.Option("--rig-devices", help="Pass cameras off as the rig's, /dev/videoN instead of simulated.")
]
_SimulatedMarks = Annotated[
    bool,
    typer.Option(
        "--simulated-marks",
        help="Write only what the collector's own simulation writes; a strict reader must refuse it.",
    ),
]


def simulate(
    root: _Root,
    *,
    seconds: _Seconds = 6.0,
    runs: _Runs = 2,
    seed: _Seed = 0,
    paint_numbers: _PaintNumbers = False,
    quantum_ms: _QuantumMs = 4.0,
    loop_seconds: _LoopSeconds = None,
    strays: _Strays = True,
    rig_devices: _RigDevices = False,
    simulated_marks: _SimulatedMarks = False,
) -> None:
    """Write synthetic raw campaigns in the collector's format: streams, four camera films, run.json.

    A scripted operator moves an xArm 7 over a table with three coloured cubes. Prints ROOT when done. The runs say that
    their cameras are simulated: a build takes them with +source.allow_simulated=true.
    """
    from quickdraw.errors import Refused
    from quickdraw.pipeline.refusals import failure
    from quickdraw.sim.spec import RunSpec
    from quickdraw.sim.tree import default_campaigns, require_empty

    try:
        require_empty(root)
        base = RunSpec(
            stamp_quantum_s=quantum_ms / 1000.0,
            paint_numbers=paint_numbers,
            loop_seconds=loop_seconds,
            simulated_devices=not rig_devices,
            simulated_marks=simulated_marks,
        )
        _write_with_progress(root, seed, default_campaigns(runs=runs, seconds=seconds), base=base, strays=strays)
    except (Refused, ValueError, OverflowError, NotADirectoryError) as refusal:
        typer.echo(f"refused: {failure(refusal)}", err=True)
        raise typer.Exit(REFUSED) from None
    except OSError as error:
        typer.echo(f"failed: {failure(error)}", err=True)
        raise typer.Exit(FAILED) from None
    typer.echo(str(root))


def _write_with_progress(
    root: Path, seed: int, campaigns: tuple[CampaignSpec, ...], *, base: RunSpec, strays: bool
) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from quickdraw.sim.tree import PlannedRun, write_tree

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("runs", total=sum(campaign.runs for campaign in campaigns))
        begun = 0

        def tell(run: PlannedRun) -> None:
            nonlocal begun
            progress.update(task, completed=begun, description=str(run.folder))
            begun += 1

        write_tree(root, seed=seed, campaigns=campaigns, base=base, strays=strays, on_run=tell)
        progress.update(task, completed=begun, description="done")
