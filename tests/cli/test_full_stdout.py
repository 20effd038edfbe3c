"""A stdout that takes no more: a failure in words, and no traceback, whichever command it was."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

QUICKDRAW = ("-c", "from quickdraw.cli.start import start; start()")
DOOR = ("-m", "quickdraw.data.processors")


@pytest.mark.parametrize(
    "command",
    [(*QUICKDRAW, "--version"), (*QUICKDRAW, "inspect", "nowhere", "--json"), (*DOOR, "--help"),
     (*DOOR, "+processor=block_stack", "+source.dir=nowhere", "--json")],
    ids=["version", "inspect", "door's help", "door's document"],
)  # fmt: skip
def test_a_full_stdout_is_told_in_words(command: tuple[str, ...], tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, *command], stdout=full, stderr=subprocess.PIPE, text=True, cwd=tmp_path, check=False
        )
    assert done.stderr.splitlines()[-1].startswith("failed: ")
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert done.returncode == 1
