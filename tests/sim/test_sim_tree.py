from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from quickdraw.cli.simulate import simulate
from quickdraw.errors import Refused
from quickdraw.sim.spec import DEFAULT_CAMERAS, RunSpec
from quickdraw.sim.tree import CampaignSpec, default_campaigns, plan_tree, write_tree

SMALL = replace(RunSpec(), cameras=DEFAULT_CAMERAS[:2])
CAMPAIGNS = (CampaignSpec("campaign3-play", 2, 0.5), CampaignSpec("campaign9-purple-stack", 1, 0.5))


def _json_bytes(root: Path) -> dict[str, bytes]:
    files = [path for path in root.rglob("*") if path.suffix in {".json", ".jsonl", ".html"}]
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tree") / "campaigns"
    write_tree(folder, seed=4, campaigns=CAMPAIGNS, base=SMALL)
    return folder


def test_the_same_seed_writes_the_same_bytes(root: Path, tmp_path: Path) -> None:
    write_tree(tmp_path / "again", seed=4, campaigns=CAMPAIGNS, base=SMALL)
    assert _json_bytes(tmp_path / "again") == _json_bytes(root)


def test_another_seed_writes_another_run() -> None:
    specs = [plan_tree(seed=seed)[0].spec for seed in (0, 1)]
    assert specs[0].seed != specs[1].seed


def test_a_tree_has_its_campaigns_and_all_that_lies_about(root: Path) -> None:
    names = {path.name for path in root.iterdir()}
    assert names == {
        ".frame_verification.json",
        ".measurements.json",
        "_rt",
        "_lagtest_0",
        "shakedown",
        "audit",
        "campaign1-tests",
        "campaign3-play",
        "campaign9-purple-stack",
    }
    runs = sorted(path.name for path in (root / "campaign3-play").glob("recording_*"))
    assert runs == [run.folder.name for run in plan_tree(seed=4, campaigns=CAMPAIGNS, base=SMALL)[:2]]
    assert (root / "campaign3-play" / "lerobot" / "meta" / "info.json").is_file()
    assert json.loads((root / "campaign3-play" / "campaign.json").read_text())["slug"] == "campaign3-play"


def test_runs_of_a_session_follow_each_other_on_one_clock() -> None:
    first, second = (run.spec for run in plan_tree(campaigns=CAMPAIGNS)[:2])
    assert first.t0_monotonic_s == second.t0_monotonic_s
    assert second.uptime_s > first.uptime_s + first.seconds
    assert second.started_unix - first.started_unix == pytest.approx(second.uptime_s - first.uptime_s)


def test_one_default_run_is_clearly_the_longest() -> None:
    longest, runner_up = sorted((run.spec.seconds for run in plan_tree()), reverse=True)[:2]
    assert longest > 2 * runner_up
    assert [campaign.cube_colours[-1] for campaign in default_campaigns()] == ["blue", "blue", "purple", "purple"]


def test_a_folder_with_something_in_it_is_refused_untouched(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(Refused, match="not empty"):
        write_tree(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def _app() -> typer.Typer:
    app = typer.Typer()
    app.command()(simulate)
    return app


def test_the_command_refuses_a_full_folder_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("precious")
    result = CliRunner().invoke(_app(), [str(tmp_path)])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "not empty" in result.stderr
    assert result.stderr.count("\n") == 1


def test_the_command_refuses_numbers_in_a_repeated_film(tmp_path: Path) -> None:
    result = CliRunner().invoke(_app(), [str(tmp_path / "new"), "--paint-numbers", "--loop-seconds", "2"])
    assert result.exit_code == 2
    assert "exclude each other" in result.stderr
    assert not (tmp_path / "new").exists()


def test_the_command_writes_a_tree_and_prints_where(tmp_path: Path) -> None:
    arguments = ["--seconds", "0.5", "--runs", "1", "--loop-seconds", "0.5", "--no-strays", "--quantum-ms", "0"]
    result = CliRunner().invoke(_app(), [str(tmp_path / "new"), *arguments])
    assert result.exit_code == 0, result.stderr
    assert result.stdout == f"{tmp_path / 'new'}\n"
    assert len(list((tmp_path / "new").glob("campaign*/recording_*/run.json"))) == 4
    assert devices(tmp_path / "new") == {"simulated"}


def devices(root: Path) -> set[str]:
    """What the cameras of a tree call themselves; all else is as a rig writes it."""
    told = [json.loads(path.read_text()) for path in root.glob("campaign*/recording_*/video/*_frame_times.json")]
    assert all(times["timestamp_source"] == "v4l2_buffer" and "flipped_vertical" in times for times in told)
    return {times["device"] for times in told}


def test_the_command_passes_cameras_off_as_a_rigs_where_it_is_told_to(tmp_path: Path) -> None:
    arguments = ["--seconds", "0.5", "--runs", "1", "--loop-seconds", "0.5", "--no-strays", "--rig-devices"]
    assert CliRunner().invoke(_app(), [str(tmp_path / "new"), *arguments]).exit_code == 0
    assert devices(tmp_path / "new") == {camera.device for camera in DEFAULT_CAMERAS}
