"""`quickdraw simulate`: a group whose own name still does what it did when there was one thing to simulate."""

from __future__ import annotations

from typing import Any, Final

import typer
from typer.core import TyperGroup

from quickdraw.cli.simulate import simulate
from quickdraw.cli.simulate_pooled import pooled

_DEFAULT: Final = "campaigns"


class _CampaignsUnlessNamed(TyperGroup):
    """Takes `simulate ROOT` and `simulate --seconds 3 ROOT` for `simulate campaigns ...`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        named = args and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if named else [_DEFAULT, *args])


simulations = typer.Typer(cls=_CampaignsUnlessNamed, add_completion=False)
simulations.command(_DEFAULT)(simulate)
simulations.command()(pooled)


@simulations.callback()
def about() -> None:
    """Write synthetic recordings: raw campaigns (where no command is named), or pooled tasks.

    `quickdraw simulate ROOT` is `quickdraw simulate campaigns ROOT`; its options: simulate campaigns --help.
    """
