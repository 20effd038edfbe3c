"""What bash and zsh are offered behind `quickdraw`, asked as they ask; the scripts they load, and that it is quick."""

from __future__ import annotations

import os
import resource
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from quickdraw.cli.main import app

COMMANDS = {"inspect", "verify", "objects", "cube-sheets", "lerobot-check", "report", "preview", "view", "push",
            "pooled", "simulate"}  # fmt: skip
ENDS = "+source.on_bad_run=refuse", "+source.on_bad_run=skip"


def asked(**env: str) -> str:
    """In this process: what a shell reads when it asks for completion."""
    result = CliRunner().invoke(app, [], env=env, prog_name="quickdraw")
    assert result.exit_code == 0, result.output
    return result.stdout


def bash(*words: str) -> list[str]:
    """What bash offers for the last of these words, of which an = is always one of its own."""
    typed = [part for word in words for part in word.replace("=", " = ").split(" ") if part or not word]
    if words[-1].endswith("="):
        assert typed[-1] == "="
    line = {"COMP_WORDS": " ".join(["quickdraw", *map(shlex.quote, typed)]) if typed[-1] else
            " ".join(["quickdraw", *map(shlex.quote, typed[:-1]), ""])}  # fmt: skip
    return asked(_QUICKDRAW_COMPLETE="complete_bash", COMP_CWORD=str(len(typed)), **line).split()


def zsh(*words: str) -> str:
    return asked(_QUICKDRAW_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS=" ".join(["quickdraw", *words]))


def test_bash_is_offered_every_command_and_its_options() -> None:
    assert set(bash("")) == COMMANDS
    assert bash("lero") == ["lerobot-check"]
    assert {"--source", "--json", "--quiet", "--workers"} <= set(bash("verify", "--"))
    assert bash("lerobot-check", "x", "--decoder", "") == ["pyav", "torchcodec"]
    assert {"check", "repair-scale", "split-episodes"} <= set(bash("pooled", ""))


def test_simulate_offers_what_it_does_where_no_command_is_named() -> None:
    assert bash("simulate", "") == ["campaigns", "pooled"]
    assert bash("simulate", "--se") == bash("simulate", "root", "--se") == ["--seconds", "--seed"]
    assert bash("simulate", "pooled", "--d") == ["--defects"]
    shown = CliRunner().invoke(app, ["simulate", "--help"]).stdout
    assert all(word in shown for word in ("campaigns", "pooled", "--seconds", "--paint-numbers"))


def test_bash_is_offered_a_builds_options_and_their_values_where_these_are_few() -> None:
    assert {"+source.on_bad_run=", "+source.on_gap="} == set(bash("inspect", "tree", "+source.on_"))
    assert bash("inspect", "tree", "+source.on_b") == list(ENDS)
    assert bash("inspect", "tree", "+source.on_bad_run=") == ["refuse", "skip"]
    assert bash("inspect", "tree", "+source.on_bad_run=s") == ["skip"]
    assert bash("inspect", "tree", "++source.allow_sim") == [f"++source.allow_simulated={x}" for x in ("true", "false")]
    assert bash("inspect", "tree", "source.require_green=t") == ["true"]
    assert bash("inspect", "tree", "+source.max_gap_s=") == []
    assert bash("inspect", "tree", "+processor=") == ["block_stack", "pooled_episodes"]


def test_options_are_those_of_the_processor_that_is_named_or_recognised(sample_pooled: Path) -> None:
    assert bash("inspect", "tree", "+processor=pooled_episodes", "+source.depth.mode=") == ["none", "lossless", "copy"]
    assert bash("inspect", "tree", "+processor=block_stack", "+source.depth") == []
    assert bash("inspect", str(sample_pooled / "recordings"), "+source.allow") == []
    assert "+source.allow_faults=" in bash("inspect", "tree", "+source.allow")


def test_options_of_an_executor_are_those_of_the_one_that_is_named() -> None:
    assert bash("inspect", "tree", "+executor=") == ["inline", "local", "ray", "slurm"]
    assert {"+executor=", "+executor.address=", "+executor.jobs="} <= {*bash("inspect", "tree", "+executor")}
    assert bash("inspect", "tree", "+executor=ray", "+executor.j") == []
    assert bash("inspect", "tree", "+executor=slurm", "+executor.cl") == [
        f"+executor.cluster={each}" for each in ("slurm", "local")
    ]


def test_zsh_is_offered_whole_words() -> None:
    assert zsh("inspect", "tree", "+source.on_bad_run=s") == "_arguments '*: :((\"+source.on_bad_run=skip\"))'\n"
    assert all(f'"{word}"' in zsh("inspect", "tree", "+source.on_bad_run=") for word in ENDS)
    assert all(f'"{word}"' in zsh("") for word in COMMANDS)


def test_folders_are_left_to_the_shell() -> None:
    assert bash("verify", "") == []
    assert zsh("verify", "") == "_files\n"
    assert zsh("inspect", "/da") == "_files\n"


@pytest.mark.parametrize("command", ["preview", "view"])
def test_splits_are_those_of_the_dataset(command: str, tmp_path: Path) -> None:
    for name in ("train", "val", "eval_purple play"):
        (tmp_path / name / "meta").mkdir(parents=True)
        (tmp_path / name / "meta/info.json").touch()
    (tmp_path / "media").mkdir()
    assert bash(command, str(tmp_path), "--split", "") == ["eval_purple", "play", "train", "val"]  # a line each
    assert bash(command, str(tmp_path), "--split", "v") == ["val"]
    assert bash(command, str(tmp_path / "gone"), "--split", "") == []


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_the_script_of_a_shell_is_shown(shell: str) -> None:
    script = asked(_QUICKDRAW_COMPLETE=f"source_{shell}")
    assert f"_QUICKDRAW_COMPLETE=complete_{shell}" in script
    if shell == "bash":
        subprocess.run(["bash", "--norc", "-n"], input=script, text=True, check=True, timeout=30)


def test_an_answer_is_quick_and_loads_nothing_that_is_slow() -> None:
    """Half a second where nobody else wants the cores; more than a second of one it takes nowhere."""
    env = {**os.environ, "_QUICKDRAW_COMPLETE": "complete_bash", "COMP_CWORD": "3",
           "COMP_WORDS": "quickdraw inspect tree +source.on_b"}  # fmt: skip
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-X", "importtime", "-m", "quickdraw.cli.start"]
    result = subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=60)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert result.stdout.split() == list(ENDS)
    assert after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime < 1
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in result.stderr.splitlines()}
    assert "quickdraw" in loaded
    assert not loaded & {"av", "cv2", "hydra", "omegaconf", "pyarrow", "pandas", "scipy", "matplotlib", "jinja2",
                         "huggingface_hub", "rerun", "ray", "submitit", "torch", "lerobot"}  # fmt: skip
