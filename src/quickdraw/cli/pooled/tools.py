"""The `quickdraw pooled` group."""

from __future__ import annotations

import os
import sys
from typing import Any

import typer
from typer.core import TyperGroup

from quickdraw.cli.pooled.align import align
from quickdraw.cli.pooled.check import check
from quickdraw.cli.pooled.delete import delete
from quickdraw.cli.pooled.info import info
from quickdraw.cli.pooled.pack import pack
from quickdraw.cli.pooled.recalc_stats import recalc_stats
from quickdraw.cli.pooled.repair_scale import repair_scale
from quickdraw.cli.pooled.show import show
from quickdraw.cli.pooled.split_episodes import split_episodes
from quickdraw.pipeline.exits import FAILED


class _Told(TyperGroup):
    """Ends with 1, not with a traceback, where stdout takes nothing."""

    def invoke(self, ctx: Any) -> Any:
        try:
            answer = super().invoke(ctx)
            if sys.stdout is not None:
                sys.stdout.flush()
        except BrokenPipeError:  # whoever listened has heard enough
            raise
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what could not be said is forgotten
            typer.echo(f"failed: the answer cannot be written: {error.strerror}", err=True)
            raise typer.Exit(FAILED) from None
        return answer


tools = typer.Typer(cls=_Told, no_args_is_help=True, add_completion=False)
for command in (info, check, show, align, pack, delete, repair_scale, split_episodes, recalc_stats):
    tools.command()(command)


@tools.callback()
def about() -> None:
    """Tools for tasks recorded as pooled_episodes_v1. What changes files only shows its plan until --apply.

    --episode is always N, the global number from 1: file numbers and _ep names repeat in every chunk.
    """
