"""Ctrl-C while modules are still loaded: one word and no traceback, at whatever moment after the first line has run."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

# Interrupts itself as soon as the named module is asked for, as a person does who thinks better of it.
RUN = """
import runpy, signal, sys

class Hasty:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Hasty())
sys.argv = ["quickdraw", *{arguments!r}]
runpy.run_module({command!r}, run_name="__main__", alter_sys=True)
"""
DOOR, COMMAND = "quickdraw.data.processors", "quickdraw.cli.start"
BUILD = ["+processor=block_stack", "+source.dir=tree"]


@pytest.mark.parametrize(
    ("command", "module", "arguments"),
    [(DOOR, "quickdraw.errors", BUILD), (DOOR, "quickdraw.data.command_line.help_text", BUILD),
     (DOOR, "hydra", BUILD), (DOOR, "quickdraw.data.building", BUILD),
     (DOOR, "quickdraw.data.config_files", ["--help"]),
     (COMMAND, "typer", ["--help"]), (COMMAND, "quickdraw.cli.verify", ["verify", "x"]),
     (COMMAND, "quickdraw.pipeline.verify.verify", ["verify", "x"]),
     (COMMAND, "quickdraw.data.recognising", ["inspect", "x"])],
)  # fmt: skip
def test_an_interruption_while_modules_load_leaves_no_traceback(
    command: str, module: str, arguments: list[str], tmp_path: Path
) -> None:
    script = RUN.format(module=module, arguments=arguments, command=command)
    result = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert result.returncode in (130, -signal.SIGINT)  # to a shell both are 130
    assert result.stderr.strip() in ("interrupted", "")
    assert (result.stdout, list(tmp_path.iterdir())) == ("", [])


@pytest.mark.parametrize("command", [DOOR, COMMAND])
def test_another_error_is_still_told_whole(command: str) -> None:
    script = RUN.format(module="quickdraw.errors", arguments=["verify", "x"], command=command)
    script = script.replace("signal.raise_signal(signal.SIGINT)", "raise ValueError('broken')")
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert result.returncode == 1
    assert "Traceback" in result.stderr
    assert result.stderr.endswith("ValueError: broken\n")
