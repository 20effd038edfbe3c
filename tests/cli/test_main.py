"""The `quickdraw` command itself."""

from __future__ import annotations

from typer.testing import CliRunner

import quickdraw
from quickdraw.cli.main import app


def test_it_tells_its_version() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.stdout) == (0, f"{quickdraw.__version__}\n")


def test_without_a_command_it_lists_them() -> None:
    result = CliRunner().invoke(app, [])
    assert result.exit_code == 2
    for command in ("inspect", "verify", "objects", "cube-sheets", "lerobot-check", "simulate"):
        assert f" {command} " in result.stdout
