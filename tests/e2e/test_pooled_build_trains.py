"""An ACT policy as lerobot-train configures it from a built pooled task takes one normalised batch forward and back."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DEPTH, COLOUR = "observation.images.umi_depth", "observation.images.umi_rgb"
TAKEN = {
    "observation.state": {"type": "STATE", "shape": [12]},
    COLOUR: {"type": "VISUAL", "shape": [3, 96, 128]},
}
WITH_DEPTH = TAKEN | {DEPTH: {"type": "VISUAL", "shape": [3, 96, 128]}}

type Lerobot = Callable[[str, dict[str, Any]], dict[str, Any]]


def line(features: dict[str, Any]) -> str:
    """The argument of lerobot-train that says what a policy takes."""
    return f"--policy.input_features={json.dumps(features)}"


@pytest.fixture(scope="module")
def told(pooled_datasets: Path, lerobot: Lerobot, remember: Callable[..., Any]) -> dict[str, Any]:
    """What came of each way to configure a policy."""
    flat, umi = (pooled_datasets / name / "d" / "train" for name in ("flat", "umi"))
    jobs = {
        "flat": {"root": flat, "arguments": [], "expand": []},
        "depth": {"root": umi, "arguments": [], "expand": []},
        "depth left out": {"root": umi, "arguments": [line(TAKEN)], "expand": []},
        "depth as three": {"root": umi, "arguments": [line(WITH_DEPTH)], "expand": [DEPTH]},
    }
    answers = remember("pooled-act", lambda _: lerobot("act_forward", {"jobs": list(jobs.values())}))["told"]
    return dict(zip(jobs, answers, strict=True))


def test_a_split_without_depth_needs_no_line(told: dict[str, Any]) -> None:
    assert told["flat"]["takes"][COLOUR] == ["VISUAL", [3, 96, 128]]
    assert math.isfinite(told["flat"]["loss"])


def test_with_depth_a_line_that_leaves_it_out_is_needed_and_enough(told: dict[str, Any]) -> None:
    assert "expected input[4, 1, 96, 128] to have 3 channels" in told["depth"]["raised"]
    assert set(told["depth left out"]["takes"]) == set(TAKEN)
    assert math.isfinite(told["depth left out"]["loss"])


def test_depth_of_one_channel_given_three_is_taken_and_normalised_as_a_picture(told: dict[str, Any]) -> None:
    found = told["depth as three"]
    assert set(found["takes"]) == set(WITH_DEPTH)
    assert math.isfinite(found["loss"])
    mean, deviation = found["normal"][DEPTH]
    assert abs(mean) < 3
    assert 0.05 < deviation < 5
