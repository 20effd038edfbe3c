"""`quickdraw inspect`: the plan and the faults, in words and as JSON, with the exit code the build would have."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from quickdraw.cli.main import app

type Five = dict[str, Any]
ONE, TWO, THREE = "campaign3-play/recording_1", "campaign3-play/recording_2", "campaign5-play-long/recording_3"
SKIP = "+source.on_bad_run=skip"


def inspect(tree: Path, *arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["inspect", str(tree), "+source.workers=1", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def document(tree: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    code, out, err = inspect(tree, "--json", *arguments)
    assert err == ""
    return code, json.loads(out)


@pytest.fixture
def spoilt(five: Five) -> Path:
    """A run not finished, one with a gap that was mended and a camera to warn of."""
    five[TWO].meta["status"] = "recording"
    five[THREE].arm[70]["joints_real_deg"] = []
    five[THREE].times["scene_left"]["actual"] = {"buffersize_set": False}
    five[THREE].times["scene_left"]["t"] = five[ONE].times["scene_left"]["t"]
    for name in (TWO, THREE):
        five[name].write()
    tree: Path = five[TWO].tree
    return tree


def test_a_good_tree_is_one_document_of_everything_planned(five: Five, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = five[ONE].tree
    monkeypatch.chdir(tree.parent)
    code, told = document(tree)
    assert code == 0
    assert told["refused"] is False
    assert told["faults"] == told["rejected"] == told["left_out"] == told["ignored"] == told["warnings"] == []
    assert [(c["name"], c["split"], c["episodes"]) for c in told["campaigns"]] == [
        ("campaign3-play", "pool", 2), ("campaign5-play-long", "pool", 2), ("campaign8-purple", "eval_purple", 1)
    ]  # fmt: skip
    assert [(s["name"], s["episodes"]) for s in told["splits"]] == [
        ("train", [THREE, "campaign5-play-long/recording_4"]), ("val", [ONE, TWO]),
        ("eval_purple", ["campaign8-purple/recording_5"])]  # fmt: skip
    episode = told["episodes"][0]
    assert (episode["campaign"], episode["run"], episode["split"]) == ("campaign3-play", "recording_1", "val")
    assert episode["frames"] == sum(s["frames"] for s in told["splits"]) / 5
    assert episode["seconds"] == pytest.approx(episode["frames"] / 30)
    assert set(episode["displacement"]["scene_left"]) == {
        "max_s", "p99_s", "bound_s", "past_bound", "gaps", "deciles_s"
    }  # fmt: skip
    assert (episode["mended"], episode["commanded"], episode["warnings"]) == ({}, None, [])
    assert told["counts"] == {"runs": 5, "episodes": 5, "rejected": 0, "faults": 0, "frames": 5 * episode["frames"],
                              "seconds": pytest.approx(5 * episode["seconds"])}  # fmt: skip
    assert [path.name for path in tree.parent.iterdir()] == ["tree"]


def test_faults_are_told_field_by_field_and_the_good_runs_beside_them(spoilt: Path) -> None:
    code, told = document(spoilt)
    assert (code, told["refused"], told["rejected"]) == (2, True, [TWO])
    assert told["faults"] == [
        {"where": TWO, "path": str(spoilt / TWO / "run.json"), "line": None, "field": "status", "found": "'recording'",
         "expected": "'ready'", "option": ""}
    ]  # fmt: skip
    assert (told["counts"]["runs"], told["counts"]["episodes"], told["counts"]["faults"]) == (5, 4, 1)
    third = next(e for e in told["episodes"] if e["run"] == "recording_3")
    assert third["mended"] == {"arm_state rows without a needed field": 1}
    (warning,) = third["warnings"]
    assert warning.startswith("scene_left: buffersize_set false")
    assert told["warnings"] == [f"{THREE}: {warning}"]


def test_with_skip_the_document_is_that_of_the_build_with_the_faults_of_whom_it_skips(spoilt: Path) -> None:
    code, told = document(spoilt, SKIP)
    assert (code, told["refused"], told["rejected"], len(told["faults"])) == (0, False, [TWO], 1)
    assert [len(split["episodes"]) for split in told["splits"]] == [1, 2, 1]


def test_where_there_is_no_tree_and_no_such_option_the_document_says_so(tmp_path: Path) -> None:
    code, told = document(tmp_path / "gone")
    assert (code, told["refused"], told["campaigns"], told["episodes"]) == (2, True, [], [])
    assert [(f["where"], f["field"], f["found"]) for f in told["faults"]] == [("source", "dir", "nothing there")]
    code, told = document(tmp_path, "+source.on_bad_rum=skip")
    assert (code, told["faults"][0]["where"]) == (2, "command line")


def test_in_words_it_is_the_plan_a_line_an_episode_and_the_faults_on_stderr(spoilt: Path) -> None:
    code, out, err = inspect(spoilt)
    assert code == 2
    assert err.splitlines() == [
        f"{TWO}: {spoilt / TWO}/run.json: status: found 'recording', expected 'ready'",
        "refused: 1 fault in 1 of 5 runs; nothing was published",
    ]
    assert "not built" not in out
    assert "campaign8-purple     eval_purple" in out
    (line,) = [line for line in out.splitlines() if line.startswith(f"{THREE} ")]
    assert " ms off (" in line
    assert line.endswith("mended: arm_state rows without a needed field 1")


def test_with_skip_it_says_in_words_who_is_not_built_and_exits_with_0(spoilt: Path) -> None:
    code, out, err = inspect(spoilt, SKIP)
    assert (code, err) == (0, "")
    assert f"not built: {TWO}: {spoilt / TWO}/run.json: status: found 'recording', expected 'ready'" in out


def test_a_tree_without_enough_runs_is_described_all_the_same(five: Five) -> None:
    code, out, err = inspect(five[ONE].tree, "+source.exclude_globs=[campaign5-*,campaign3-play/recording_2]")
    assert code == 2
    assert err.startswith(f"source: pooled runs: found 1 ({ONE}), expected at least 2")
    assert f"{ONE} " in out
    code, told = document(five[ONE].tree, "+source.exclude_globs=[campaign*]")
    assert (code, told["counts"]["runs"], told["splits"]) == (2, 0, [])


def test_a_name_that_no_encoding_has_is_no_traceback(five: Five) -> None:
    tree = five[ONE].tree
    (tree / "campaign3-play" / os.fsdecode(b"recording_\xff")).mkdir()
    command = [sys.executable, "-c", "from quickdraw.cli.main import app; app()", "inspect", str(tree), "--json"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (result.returncode, result.stderr) == (2, "")
    (fault,) = json.loads(result.stdout)["faults"]
    assert (fault["where"], fault["expected"]) == (r"campaign3-play/recording_\udcff", "a name in UTF-8")


def test_a_simulated_tree_is_taken_only_by_who_asks_for_it(tmp_path: Path) -> None:
    small = ["--seconds", "2.5", "--runs", "1", "--loop-seconds", "0.5", "--quantum-ms", "0"]
    assert CliRunner().invoke(app, ["simulate", str(tmp_path / "raw"), *small]).exit_code == 0
    code, told = document(tmp_path / "raw")
    assert (code, told["counts"]["rejected"], told["counts"]["faults"]) == (2, 4, 16)
    assert {(f["field"], f["found"], f["option"]) for f in told["faults"]} == {
        ("device", "'simulated'", "+source.allow_simulated=true")
    }
    assert document(tmp_path / "raw", "+source.allow_simulated=true")[0] == 0


def test_the_sample_is_planned_in_a_few_seconds(sample_tree: Path) -> None:
    code, told = document(sample_tree)
    assert (code, told["counts"]["episodes"], told["counts"]["rejected"]) == (0, 7, 0)
    assert all(e["commanded"]["ticks"] > 3 * e["frames"] for e in told["episodes"])


def test_a_campaign_all_of_whose_runs_are_refused_is_not_one_without_runs(five: Five) -> None:
    for name in (ONE, TWO):
        five[name].meta["status"] = "recording"
        five[name].write()
    code, out, _ = inspect(five[ONE].tree)
    assert code == 2
    assert [line.split() for line in out.splitlines() if line.startswith("campaign3-play ")] == [
        ["campaign3-play", "all", "refused"]
    ]
