"""`quickdraw simulate`: a group whose bare form is what it always was, and `simulate pooled`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from quickdraw.cli.main import app
from quickdraw.sim.pooled.defects import DEFECTS
from quickdraw.sim.pooled.spec import TaskSpec
from quickdraw.sim.tree import CampaignSpec

FORMS = {
    "bare": ("{root}", "--seconds", "3"),
    "named": ("campaigns", "{root}", "--seconds", "3"),
    "option_first": ("--seconds", "3", "{root}"),
    "option_with_equals": ("--seconds=3", "{root}"),
    "named_like_a_command": ("{root}/pooled", "--seconds", "3"),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_campaigns_are_simulated_where_nothing_else_is_named(
    form: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Path, float]] = []

    def write_tree(root: Path, *, campaigns: Sequence[CampaignSpec], **_: Any) -> None:
        asked.append((root, campaigns[0].seconds))

    monkeypatch.setattr("quickdraw.sim.tree.write_tree", write_tree)
    result = CliRunner().invoke(app, ["simulate", *(word.format(root=tmp_path / "raw") for word in form)])
    assert result.exit_code == 0
    assert asked == [(Path(result.stdout.strip()), 3.0)]
    assert asked[0][0].is_relative_to(tmp_path / "raw")


def test_simulate_alone_still_asks_for_a_root() -> None:
    result = CliRunner().invoke(app, ["simulate"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Missing argument" in result.stderr


def test_an_unknown_option_is_still_refused(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["simulate", "--secs", "3", str(tmp_path / "raw")])
    assert result.exit_code == 2
    assert "--secs" in result.stderr
    assert not (tmp_path / "raw").exists()


def test_help_names_both_and_shows_the_options_of_campaigns() -> None:
    result = CliRunner().invoke(app, ["simulate", "--help"])
    assert result.exit_code == 0
    for word in (" campaigns ", " pooled ", "--seconds", "--paint-numbers"):
        assert word in result.stdout


def test_pooled_tasks_are_written_within_seconds_and_the_root_is_told(tmp_path: Path) -> None:
    root = tmp_path / "recordings"
    started = time.perf_counter()
    result = CliRunner().invoke(app, ["simulate", "pooled", str(root), "--seed", "1"])
    took_s = time.perf_counter() - started
    print(f"simulate pooled: {took_s:.1f} s")
    assert (result.exit_code, result.stdout) == (0, f"{root}\n")
    assert sorted(path.name for path in root.iterdir()) == ["two_cameras", "umi_place", "手套_插孔"]
    assert "done" in result.stderr
    assert took_s < 60.0


def test_a_full_folder_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("precious")
    result = CliRunner().invoke(app, ["simulate", "pooled", str(tmp_path)])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "not empty" in result.stderr
    assert result.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_defects_come_beside_the_sound_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, list[str], tuple[str, ...]]] = []

    def write_recordings(_: Path, *, seed: int, tasks: Sequence[TaskSpec], defects: Sequence[str], **__: Any) -> None:
        asked.append((seed, [task.name for task in tasks], tuple(defects)))

    monkeypatch.setattr("quickdraw.sim.pooled.write_recordings", write_recordings)
    command = ["simulate", "pooled", str(tmp_path / "recordings"), "--defects"]
    assert CliRunner().invoke(app, command).exit_code == 0
    assert asked == [(0, ["手套_插孔", "umi_place", "two_cameras"], tuple(DEFECTS))]
