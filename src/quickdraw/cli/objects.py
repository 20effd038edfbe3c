"""`quickdraw objects`: measure the cubes of a built dataset in its own pictures."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quickdraw.cli.outcomes import exit_codes
from quickdraw.pipeline.exits import FAILED

if TYPE_CHECKING:
    from quickdraw.core.hues import CubeThresholds

_Dataset = Annotated[Path, typer.Argument(help="Folder of a built dataset, holding train/, val/, ...")]
_Workers = Annotated[int | None, typer.Option(min=1, max=512, help="Worker processes; default one per core.")]
_Value = Annotated[float | None, typer.Option(help="Least value (HSV, 0..1) of a cube's pixel.")]
_Saturation = Annotated[float | None, typer.Option(help="Least saturation (HSV, 0..1) of a cube's pixel.")]
_Peak = Annotated[float | None, typer.Option(help="Least saturation of the pixels hue peaks are found among.")]
_Area = Annotated[float | None, typer.Option(help="Smaller blobs are specks [px at 144x192].")]
_EvidenceArea = Annotated[float | None, typer.Option(help="A colour is there where it covers so much [px at 144x192]")]
_EvidenceShare = Annotated[
    float | None, typer.Option(help="... in this share of an episode's rows, and in at least ten.")
]


def objects(
    dataset: _Dataset,
    *,
    min_value: _Value = None,
    min_saturation: _Saturation = None,
    peak_saturation: _Peak = None,
    min_area_px: _Area = None,
    evidence_area_px: _EvidenceArea = None,
    evidence_share: _EvidenceShare = None,
    workers: _Workers = None,
) -> None:
    """Add observation.objects.cube to a built dataset, or measure it anew. Videos, state and action are not touched.

    Thresholds that are not given are those it was built with. Exit code 0 when done, 2 when the dataset or an option is
    refused, 1 when something fails, 130 when interrupted: but for the first, the dataset is as it was.
    """
    given = {
        "min_value": min_value,
        "min_saturation": min_saturation,
        "peak_saturation": peak_saturation,
        "min_area_px": min_area_px,
        "evidence_area_px": evidence_area_px,
        "evidence_share": evidence_share,
    }
    with exit_codes():
        failed = _measure(dataset, {name: value for name, value in given.items() if value is not None}, workers)
    if failed:
        typer.echo(f"failed: {failed}", err=True)
        raise typer.Exit(FAILED)


def _measure(dataset: Path, given: dict[str, float], workers: int | None) -> str:
    """Measure, and make page and card anew where there is either; why that failed, or nothing. Raises Refused."""
    from quickdraw.core.cubes import CubeRule
    from quickdraw.data.block_stack_options import CUBE_CAMERAS
    from quickdraw.pipeline.executors.local import local_processes
    from quickdraw.pipeline.objects import put_cubes
    from quickdraw.pipeline.progress import for_this_output
    from quickdraw.pipeline.publish import mend
    from quickdraw.pipeline.view_files import has_views
    from quickdraw.report.views import refresh

    mend(dataset.resolve())  # before its thresholds are looked up
    chosen, progress = _thresholds(dataset, given), for_this_output()
    wanted = has_views(dataset)  # by now: measuring takes the page of what was there away
    with local_processes(workers or len(os.sched_getaffinity(0))) as executor:
        put_cubes(dataset, CubeRule(CUBE_CAMERAS, chosen), executor, progress)
        failed = refresh(dataset, executor, progress, wanted=wanted)
    progress.note(f"dataset: {dataset}")
    return failed


def _thresholds(dataset: Path, given: dict[str, float]) -> CubeThresholds:
    """What was given, over what the dataset was built with, over the defaults. Raises Refused."""
    from quickdraw.core.hues import CubeThresholds
    from quickdraw.data.block_stack_options import Cube, cube_faults
    from quickdraw.errors import Refused
    from quickdraw.pipeline.places import PROVENANCE
    from quickdraw.pipeline.trace import read_provenance

    known = asdict(CubeThresholds())
    traced = read_provenance(dataset) if (dataset / PROVENANCE).exists() else {}
    config = traced.get("config")
    built = config.get("cube") if isinstance(config, dict) else None
    told = built if isinstance(built, dict) else {}
    values = known | {name: told[name] for name in known if isinstance(told.get(name), int | float)} | given
    faults = cube_faults(Cube(**values))
    if faults:
        raise Refused(faults)
    return CubeThresholds(**values)
