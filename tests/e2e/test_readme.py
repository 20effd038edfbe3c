"""What README says outside its part on pooled tasks, and PROCESSING.md, is run as it stands there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
POOLED = README[README.index("## Pooled tasks") : README.index("## Working on quickdraw")]  # test_pooled_readme.py
PAGES = {"README.md": README.replace(POOLED, ""), "PROCESSING.md": (ROOT / "PROCESSING.md").read_text(encoding="utf-8")}
BY_CI = ("scripts/demo", "scripts/test")
NEEDS_A_PERSON = ("hf auth login",)
FROM_THE_HUB = 'LeRobotDataset("user/block_stack-train")'
USER = "me"  # whom the stand-in of the Hub knows


def blocks(language: str) -> list[str]:
    return [
        code
        for page in PAGES.values()
        for name, code in re.findall(r"^```(\w*)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
        if name == language
    ]


def commands() -> list[str]:
    """Every line of every block of the shell's, without its comment."""
    lines = [line.partition("#")[0].strip() for block in blocks("bash") for line in block.splitlines()]
    return [line for line in lines if line]


@pytest.fixture(scope="module")
def hub(module_of: Callable[[Path], ModuleType]) -> Iterator[Any]:
    """A stand-in of the Hub that takes every card; what it says of one is tested in tests/hub."""
    stand_in = module_of(ROOT / "tests/hub/stand_in.py")
    with stand_in.Hub(lambda _: []) as running:
        yield running


@pytest.fixture(scope="module")
def place(sample_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the two datasets lie that README speaks of."""
    folder = tmp_path_factory.mktemp("readme")
    for name in ("datasets", "demo"):
        shutil.copytree(sample_dataset, folder / name / "block_stack", copy_function=os.link)
    return folder


@pytest.fixture(scope="module")
def environment(hub: Any, module_of: Callable[[Path], ModuleType], place: Path) -> dict[str, str]:
    token = module_of(ROOT / "tests/hub/stand_in.py").TOKEN
    kept = {name: value for name, value in os.environ.items() if name not in ("HF_HUB_OFFLINE", "PYTHONWARNINGS")}
    told = {"HF_ENDPOINT": hub.endpoint, "HF_HOME": str(place / "hf"), "HF_TOKEN": token, "HF_HUB_DISABLE_XET": "1"}
    return {**kept, **told, "HF_HUB_DISABLE_TELEMETRY": "1", "HF_LEROBOT_HOME": str(place / "hf/lr")}


def said(arguments: list[str], place: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        arguments, cwd=place, env=environment, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, f"{arguments}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_its_commands_run(place: Path, sample_tree: Path, hub: Any, environment: dict[str, str]) -> None:
    run = []
    for line in commands():
        if line in BY_CI:
            assert line in (ROOT / ".ci/run").read_text().splitlines()
        elif line in NEEDS_A_PERSON:
            assert (BIN / line.split()[0]).is_file()
        else:
            assert ".venv/bin/" in line, line
            run.append(line.replace(".venv/bin/", f"{BIN}/").replace("/data/campaigns", str(sample_tree)))
            run[-1] = run[-1].replace("user/", f"{USER}/")
            said(["bash", "-c", run[-1]], place, environment)
    told = {word for line in run for word in line.split()}
    assert {"verify", "report", "preview", "view", "push", "quickdraw.data.processors"} <= told
    assert {file.name for file in (place / "demo").iterdir()} == {
        "block_stack", "block_stack_val_0.mp4", "block_stack_val_0_sheet.png", "val.rrd"
    }  # fmt: skip
    assert "v3.0" in hub.repos[f"{USER}/block_stack"].tags
    assert hub.repos[f"{USER}/block_stack"].private


def test_its_lines_of_python_run(place: Path, hub: Any, environment: dict[str, str]) -> None:
    pushed = ["push", "datasets/block_stack", "--repo", f"{USER}/block_stack", "--per-split"]
    said([str(BIN / "quickdraw"), *pushed], place, environment)
    assert f"{USER}/block_stack-train" in hub.repos
    code = [block.replace("user/", f"{USER}/") for block in blocks("python")]
    assert sum(FROM_THE_HUB.replace("user/", f"{USER}/") in block for block in code) == 1
    checks = 'print(len(shared), shared[0]["action"].shape, rgb.shape, table.shape[0], len(track.sightings))'
    rows, action, shape, *_ = said([sys.executable, "-c", "\n".join([*code, checks])], place, environment).split(" ", 2)
    assert int(rows) > 0
    assert action.startswith("torch.Size([5]")
    assert "144, 192, 3" in shape
