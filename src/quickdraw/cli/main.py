"""The `quickdraw` command: one sub-command a file."""

from __future__ import annotations

import io
import signal
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

import quickdraw
from quickdraw.cli.cube_sheets import cube_sheets
from quickdraw.cli.inspect import inspect
from quickdraw.cli.lerobot_check import lerobot_check
from quickdraw.cli.objects import objects
from quickdraw.cli.pooled.tools import tools
from quickdraw.cli.preview import preview
from quickdraw.cli.push import push
from quickdraw.cli.report import report
from quickdraw.cli.simulations import simulations
from quickdraw.cli.verify import verify
from quickdraw.cli.view import view

PANELS: dict[str, tuple[Callable[..., Any], ...]] = {
    "Build and check": (inspect, verify, lerobot_check, objects),
    "Look": (report, preview, view, cube_sheets),
    "Publish": (push,),
}

app = typer.Typer(no_args_is_help=True, add_completion=True, pretty_exceptions_enable=False)
for panel, commands in PANELS.items():
    for command in commands:
        app.command(rich_help_panel=panel)(command)
app.add_typer(tools, name="pooled", rich_help_panel="Pooled recordings")
app.add_typer(simulations, name="simulate", rich_help_panel="Simulate")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(quickdraw.__version__)
        raise typer.Exit


_Version = Annotated[bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version.")]


@app.callback()
def main(*, version: _Version = False) -> None:
    """Raw robot teleoperation campaigns to LeRobot v3.0 splits.

    Datasets are built by: python -m quickdraw.data.processors --help
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # names in any script are shown even where the terminal knows few
            stream.reconfigure(errors="backslashreplace")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a scheduler's end is an interruption like Ctrl-C
