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
        named = args[0] in self.commands or args[0] in ctx.help_option_names if args else ctx.resilient_parsing
        return super().parse_args(ctx, args if named else [_DEFAULT, *args])

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Commands, and options of what needs no name."""
        default, offered = self.commands[_DEFAULT], super().shell_complete(ctx, incomplete)
        known = {item.value for item in offered}
        inner = default.context_class(default, info_name=_DEFAULT, parent=ctx)
        return [*offered, *(item for item in default.shell_complete(inner, incomplete) if item.value not in known)]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Its own, and that of what it does where no command is named: nobody looks for those options elsewhere."""
        super().format_help(ctx, formatter)
        default = self.commands[_DEFAULT]
        with default.context_class(default, info_name=_DEFAULT, parent=ctx) as inner:
            default.format_help(inner, formatter)


simulations = typer.Typer(cls=_CampaignsUnlessNamed, add_completion=False)
simulations.command(_DEFAULT)(simulate)
simulations.command()(pooled)


@simulations.callback()
def about() -> None:
    """Write synthetic recordings: raw campaigns (where no command is named), or pooled tasks.

    `quickdraw simulate ROOT` is `quickdraw simulate campaigns ROOT`, whose options follow below.
    """
