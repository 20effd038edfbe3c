"""In what is right nothing is found, and what could not be checked is said."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from quickdraw.pipeline.verify.report import Report
from quickdraw.pipeline.verify.verify import verify_structure

Verified = Callable[..., Report]


def test_nothing_is_wrong_with_the_built_sample(whole: Path, verified: Verified) -> None:
    report = verified(whole)
    assert [str(fault) for fault in report.findings] == []
    assert [skipped.check for skipped in report.skipped] == []
    assert (report.rows, report.pictures) == (1421, 4 * 1421)
    assert report.checks["decoding"] == report.checks["media"] == 4 * 1421
    assert report.checks["fingerprints"] == (4 + 2) * 1421  # of cameras, of state and action
    assert report.checks["cubes"] == 1421


def test_nothing_is_wrong_with_it_where_nothing_says_how_it_was_built(bare: Path, verified: Verified) -> None:
    report = verified(bare)
    assert [str(fault) for fault in report.findings] == []
    reasons = {skipped.reason for skipped in report.skipped}
    assert {"no provenance.json", "no fingerprints/files.json", "no fingerprints/val.parquet"} <= reasons


def test_a_single_split_folder_is_a_dataset(bare: Path, verified: Verified) -> None:
    report = verified(bare / "val")
    assert [str(fault) for fault in report.findings] == []
    assert (report.rows, report.pictures) == (641, 4 * 641)


def test_the_structure_is_sound_without_decoding_a_picture(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from quickdraw.pipeline.verify import pictures

    monkeypatch.setattr(pictures, "pictures", None)
    assert verify_structure(whole) == []


def test_the_report_is_json_with_every_check_it_made(whole: Path, verified: Verified, sample_tree: Path) -> None:
    report = verified(whole, sample_tree)
    assert [str(fault) for fault in report.findings] == []
    document = json.loads(json.dumps(report.document()))
    assert document["sound"]
    assert document["checks"]["source rows"] == {"looked_at": 2 * 1421, "findings": 0}
    curves = document["shift_sweep"]
    assert len(curves) == 4 * 7
    for curve in curves:
        least = min(curve["mean_square"])
        assert curve["verdict"] == "aligned"
        assert curve["mean_square"][curve["shifts"].index(0)] == least
        assert sorted(curve["others"].values())[0] > 10 * least


def test_a_source_tree_that_misses_a_run_or_holds_another_is_told(
    whole: Path, verified: Verified, sample_tree: Path, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    for campaign in sorted(sample_tree.iterdir()):
        if campaign.is_dir() and campaign.name != "campaign9-purple-stack":
            for run in sorted(path for path in campaign.iterdir() if path.is_dir()):
                (tree / campaign.name).mkdir(parents=True, exist_ok=True)
                (tree / campaign.name / run.name).symlink_to(run)
    findings = [str(fault) for fault in verified(whole, tree).findings]
    assert any(
        "eval_purple_stack episode 0" in line and "source files: found nothing there" in line for line in findings
    )
    assert all("eval_purple_stack" in line for line in findings)


def test_an_executor_finds_what_this_process_does(whole: Path, executor: Any, plants: ModuleType) -> None:
    assert verify_structure(whole, executor) == []
    plants.clip_of_another_episode(whole)
    plants.truncated(whole)
    found = verify_structure(whole)
    assert {fault.field for fault in found} >= {"media", "picture count", "fingerprints"}
    assert verify_structure(whole, executor) == found
