"""What a shift sweep's curve says, and that one bad episode keeps no other from being swept."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from quickdraw.pipeline.verify.alignment import verdict_of
from quickdraw.pipeline.verify.report import Report

Verified = Callable[..., Report]


@pytest.mark.parametrize(
    ("curve", "verdict"),
    [
        ([9, 7, 5, 3, 2, 1, 2, 3, 5, 7, 9], "aligned"),
        ([9, 7, 5, 3, 2, 1.05, 1, 3, 5, 7, 9], "aligned"),  # a camera at half the rate shows each picture twice
        ([9, 7, 5, 3, 1, 1, 1, 1, 5, 7, 9], "aligned"),
        ([9, 7, 5, 3, 1, 1.2, 2, 3, 5, 7, 9], "shifted"),
        ([9, 7, 5, 3, 0, 0.1, 2, 3, 5, 7, 9], "shifted"),
        ([1.05, 1, 1, 1, 1, 1.1, 1, 1, 1, 1, 1], "flat"),
        ([0] * 11, "flat"),
    ],
)
def test_a_curve_is_shifted_only_where_it_is_clearly_lower_elsewhere(curve: list[float], verdict: str) -> None:
    assert verdict_of(np.array(curve, np.float64)) == verdict


def test_one_bad_episode_keeps_no_other_from_being_swept(
    whole: Path, verified: Verified, sample_tree: Path, tmp_path: Path
) -> None:
    path = whole / "provenance.json"
    document = json.loads(path.read_text())
    document["episodes"][0]["episode_index"] = 99
    unreadable = document["episodes"][-1]
    path.unlink()
    path.write_text(json.dumps(document))
    tree = tmp_path / "tree"
    for episode in document["episodes"]:
        run = tree / episode["campaign"] / episode["run"]
        run.parent.mkdir(parents=True, exist_ok=True)
        run.symlink_to(sample_tree / episode["campaign"] / episode["run"])
    (tree / unreadable["campaign"] / unreadable["run"]).unlink()
    report = verified(whole, tree)
    assert len(report.curves) == 4 * (7 - 2)
    assert {curve.verdict for curve in report.curves} == {"aligned"}
    found = {fault.field for fault in report.findings}
    assert {"provenance", "source files"} <= found
