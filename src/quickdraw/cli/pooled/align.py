"""`quickdraw pooled align`: which force reading was taken nearest to each picture."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

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
from quickdraw.pipeline.exits import FAILED

if TYPE_CHECKING:
    from quickdraw.formats.pooled.align import Alignment
    from quickdraw.formats.pooled.reader import Episode

SHOWN = 40  # rows of residuals in words


class Which(StrEnum):
    """What is aligned to the pictures."""

    matrix = "matrix"
    force = "force"
    trajectory = "trajectory"


class Side(StrEnum):
    """Of the gripper's two fingers."""

    left = "left"
    right = "right"


_Which = Annotated[Which, typer.Option(help="What is aligned to the pictures.")]
_Side = Annotated[Side, typer.Option(help="Finger of the gripper, for matrix and force.")]
_Gripper = Annotated[int, typer.Option(min=1, help="Which gripper, from 1.")]


def align(
    task: TaskFolder,
    *,
    episode: Number,
    which: _Which = Which.matrix,
    side: _Side = Side.left,
    gripper: _Gripper = 1,
    as_json: AsJson = False,
) -> None:
    """For each row's picture, the row (of a trajectory: the point) whose stamp is nearest to hardware_ns.

    Nothing is interpolated; ties go to the earlier one. Rows before the first or after the last sample are told as out
    of range, not as aligned. The bound is half the usual time between samples: farther rows lie in a hole of theirs.
    Exit code 0 when aligned, 1 where the stamps do not allow it, 2 where there is no such episode.
    """
    from quickdraw.formats.pooled.align import NotAlignable
    from quickdraw.formats.pooled.reader import Task

    with answering(as_json=as_json):
        opened = Task.open(task)
        layout, one = opened.info.layout, opened.episode(episode)
        try:
            found = _aligned(one, which, side, gripper)
        except NotAlignable as error:
            if as_json:
                print_document(place_document(layout, episode) | {"not_alignable": error.reason})
            typer.echo(f"{named(layout, episode)}: not alignable: {error.reason}", err=True)
            raise typer.Exit(FAILED) from None
    if as_json:
        print_document(place_document(layout, episode) | _document(found))
    else:
        say(f"{named(layout, episode)}: {which.value}")
        _show(found)


def _aligned(episode: Episode, which: Which, side: Side, gripper: int) -> Alignment:
    from quickdraw.formats.pooled.align import align as aligned
    from quickdraw.formats.pooled.align import align_trajectory

    if which is Which.trajectory:
        return align_trajectory(episode, gripper)
    return aligned(episode, side.value, "force" if which is Which.force else "matrix", gripper)


def _document(found: Alignment) -> dict[str, Any]:
    return {
        "bound_ns": found.bound_ns,
        "mapping": found.index.tolist(),
        "residual_ns": found.residual_ns.tolist(),
        "out_of_range": found.out_of_range.tolist(),
    }


def _show(found: Alignment) -> None:
    import numpy as np

    inside = found.residual_ns[~found.out_of_range] / 1e6
    say(f"{'row':>6} {'sample':>7} {'residual ms':>12}")
    for row in range(min(SHOWN, len(found.index))):
        far = "  past the bound" if found.residual_ns[row] > found.bound_ns else ""
        beyond = "  out of range" if found.out_of_range[row] else far
        say(f"{row:6d} {found.index[row]:7d} {found.residual_ns[row] / 1e6:12.3f}{beyond}")
    if len(found.index) > SHOWN:
        say(f"... {len(found.index) - SHOWN} rows more; --json has all of them")
    if len(inside):
        figures = f"residual median {np.median(inside):.3f} ms, largest {inside.max():.3f} ms"
        past = int((inside > found.bound_ns / 1e6).sum())
        say(f"{len(inside)} rows aligned: {figures}; {past} past the bound of {found.bound_ns / 1e6:.3f} ms")
    say(f"{int(found.out_of_range.sum())} rows out of range")
