"""What docs/cluster.md says is run as it stands there, on a cluster of this machine; and its options are there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from quickdraw.data.command_line.composing import parse

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
PAGE = ROOT / "docs" / "cluster.md"
COMMAND = "python -m quickdraw.data.processors"


def commands(language: str) -> list[str]:
    """Every command of every block of a language, on a line of its own, without its comment."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    joined = "\n".join(blocks).replace("\\\n", " ")
    lines = [re.sub(r"(^|\s)#.*", "", line).strip() for line in joined.splitlines()]
    return [line for line in lines if line]


@pytest.fixture(scope="module")
def shared(sample_tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the nodes share: the folder of the page, in which a campaign of two short runs lies."""
    folder = tmp_path_factory.mktemp("shared")
    shutil.copytree(sample_tree / "campaign3-play", folder / "campaigns/campaign3-play")
    return folder


def test_its_commands_run(shared: Path, ray_nodes: Any) -> None:
    there = {".venv/bin/": f"{BIN}/", "/shared/": f"{shared}/", "ray://head:10001": ray_nodes.client_address,
             "head:6379": ray_nodes.address}  # fmt: skip
    run = commands("bash")
    assert any(COMMAND in line for line in run)
    for line in run:
        for name, place in there.items():
            line = line.replace(name, place)
        done = subprocess.run(
            ["bash", "-c", line], cwd=shared, capture_output=True, text=True, timeout=300, check=False,
            env={name: value for name, value in os.environ.items() if name != "PYTHONWARNINGS"},
        )  # fmt: skip
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"


@cache
def flags_of(*command: str) -> str:
    return subprocess.run([str(BIN / command[0]), *command[1:], "--help"], capture_output=True, text=True,
                          check=True).stdout  # fmt: skip


def test_what_is_typed_on_nodes_is_there() -> None:
    for line in commands("sh"):
        if COMMAND in line:
            parse(line.partition(COMMAND)[2].split())
        if "ray start" in line:
            for flag in re.findall(r"--[a-z-]+", line.partition("ray start")[2]):
                assert flag in flags_of("ray", "start"), line
