"""What the README says of pooled tasks is run as it stands there."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from quickdraw.cli.main import app
from quickdraw.data.command_line.composing import default_config, option_names
from quickdraw.data.options import as_json
from quickdraw.data.pooled_episodes.naming import spec_of
from quickdraw.data.pooled_episodes.options import PooledOptions
from quickdraw.data.processors import main

OPTIONS = msgspec.convert(as_json(default_config("pooled_episodes").source) | {"target_hz": 30}, PooledOptions)

TESTS = Path(__file__).resolve().parents[1]
README = (TESTS.parent / "README.md").read_text(encoding="utf-8")
SECTION = README[README.index("## Pooled tasks") : README.index("## Working on quickdraw")]
SPLITS = SECTION[SECTION.index("### LeRobot splits of tasks") :]
DEPTH = "observation.images.umi_depth"


def blocks(language: str) -> list[str]:
    """The blocks of a language, or of none, in order."""
    return [code for name, code in re.findall(r"^```(\w*)\n(.*?)^```$", SECTION, re.DOTALL | re.MULTILINE)
            if name == language]  # fmt: skip


def rows(beginning: str) -> list[list[str]]:
    """The cells of each row of the table whose head begins so."""
    _, _, rest = SPLITS.partition(f"\n\n| {beginning} |")
    lines = rest.split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def run(line: list[str]) -> None:
    """A command of the README, in this process."""
    program, *arguments = line
    if program == ".venv/bin/quickdraw":
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, result.output
        return
    assert [program, *arguments[:2]] == [".venv/bin/python", "-m", "quickdraw.data.processors"]
    assert main(arguments[2:]) == 0


def script(code: str | Path, question: dict[str, Any] | None = None) -> str:
    """What a Python of its own says to a question, or after a snippet; for it imports torch."""
    command = [sys.executable, str(code)] if isinstance(code, Path) else [sys.executable, "-c", code]
    done = subprocess.run(command, input=json.dumps(question), capture_output=True, text=True, timeout=600,
                          check=False, env=os.environ | {"HF_HUB_OFFLINE": "1"})  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def test_its_commands_and_its_lines_of_python_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    commands = [block.replace("\\\n", " ").splitlines() for block in blocks("bash")]
    lines = [[shlex.split(line, comments=True) for line in block] for block in commands]
    tried, built = lines
    assert [line[1:3] for line in tried] == [
        ["simulate", "pooled"],
        ["pooled", "info"],
        ["pooled", "check"],
        ["pooled", "show"],
    ]
    assert len(built) == 3
    for line in (*tried, *built):
        run(line)
    assert (tmp_path / "umi_place_episode_000001.png").is_file()
    reading, splits, by_lerobot = blocks("python")
    found: dict[str, Any] = {}
    exec(compile(reading, "README.md", "exec"), found)
    assert {"rgb", "mm", "mn", "ts_ns"} <= found.keys()
    exec(compile(splits, "README.md", "exec"), found)
    assert (found["pose"].shape[1], found["mm"].shape, found["mm"].dtype) == (9, (120, 160), "uint16")
    of_first_row = next(iter(found["train"].depth(episode=0, camera="umi_depth")))
    told = script(f"{by_lerobot}\nprint(); print(mm.dtype, tuple(mm.shape), int(mm.double().sum()))")
    assert told == f"torch.float32 (1, 120, 160) {int(of_first_row.sum(dtype='int64'))}"
    check_that_act_takes_what_it_is_told_to(tmp_path / "datasets/umi_place/train")


def check_that_act_takes_what_it_is_told_to(split: Path) -> None:
    """Only with the lines that are shown a batch goes through a policy, as lerobot-train configures it."""
    without, with_depth = (shlex.split(block) for block in blocks(""))
    arguments: tuple[list[str], ...] = ([], without, with_depth)
    jobs = [{"root": str(split), "arguments": each, "expand": [DEPTH] * (each is with_depth)} for each in arguments]
    bare, *taken = json.loads(script(TESTS / "e2e/scripts/act_forward.py", {"jobs": jobs}))["told"]
    assert "to have 3 channels, but got 1 channels" in bare["raised"]
    assert [DEPTH in each["takes"] for each in taken] == [False, True]
    assert all(math.isfinite(each["loss"]) for each in taken)


def test_every_tool_is_in_its_table() -> None:
    listed = re.findall(r"^\| `([a-z-]+) <task>", SECTION, re.MULTILINE)
    assert sorted(listed) == sorted(
        ["info", "check", "show", "align", "pack", "delete", "repair-scale", "split-episodes", "recalc-stats"]
    )


@pytest.mark.parametrize(
    ("told", "column", "matrices"),
    [
        ("`observation.<glove>`", "left_glove", "sums"),
        ("`observation.<glove>_imu_quat`", "left_glove_imu_quat", "sums"),
        ("`observation.<glove>_imu_valid`", "left_glove_imu_valid", "sums"),
        ("`observation.imu`", "imu", "sums"),
        ("`observation.{p}gripper_state`", "gripper_2_gripper_state", "sums"),
        ("`observation.{p}gripper_{left,right}_force`", "gripper_right_force", "sums"),
        ("`..._force_matrix`", "gripper_left_force_matrix", "sums"),
        ("with `+source.force_matrices=5x10`", "gripper_left_force_matrix", "5x10"),
        ("`observation.{p}slam_trajectory`", "slam_trajectory", "sums"),
        ("`observation.{left,right}_hand_pose`", "left_hand_pose", "sums"),
    ],
)
def test_features_are_called_as_its_table_says(told: str, column: str, matrices: str) -> None:
    (feature, dimensions), *more = [row[1:3] for row in rows("column") if row[0] == told]
    options = replace(OPTIONS, force_matrices=matrices)
    spec = spec_of(f"observation.{column}", {"left_glove": 256, "left_glove_imu_valid": 16}.get(column, 0), options)
    wide, named = re.match(r"(\d+)(?: samples of (\d+))?:", dimensions), re.findall(r"`(\w+)`", dimensions)
    assert not more
    assert wide is not None
    assert spec.width == int(wide[1]) * int(wide[2] or 1)
    assert (spec.names[0], spec.names[-1]) == (named[0], named[-1])
    assert set(named) <= set(spec.names)
    assert spec.name.endswith(feature.strip("`").rpartition("}")[2].replace("...", "") or column)


def test_what_it_offers_against_a_refusal_is_an_option() -> None:
    offered = set(re.findall(r"\+(source\.[\w.<>]+)=", SPLITS))
    assert len(offered) > 8
    assert offered - {"source.depth"} <= set(option_names("pooled_episodes"))
