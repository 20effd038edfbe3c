"""The `quickdraw pooled` group."""

from __future__ import annotations

import typer

from quickdraw.cli.pooled.align import align
from quickdraw.cli.pooled.check import check
from quickdraw.cli.pooled.delete import delete
from quickdraw.cli.pooled.info import info
from quickdraw.cli.pooled.pack import pack
from quickdraw.cli.pooled.recalc_stats import recalc_stats
from quickdraw.cli.pooled.repair_scale import repair_scale
from quickdraw.cli.pooled.show import show
from quickdraw.cli.pooled.split_episodes import split_episodes

tools = typer.Typer(no_args_is_help=True, add_completion=False)
for command in (info, check, show, align, pack, delete, repair_scale, split_episodes, recalc_stats):
    tools.command()(command)


@tools.callback()
def about() -> None:
    """Tools for tasks recorded as pooled_episodes_v1. What changes files only shows its plan until --apply.

    --episode is always N, the global number from 1: file numbers and _ep names repeat in every chunk.
    """
