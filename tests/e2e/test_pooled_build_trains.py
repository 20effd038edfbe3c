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


@pytest.fixture(scope="module")
def root(pooled_datasets: Path) -> Path:
    return pooled_datasets / "umi" / "d" / "train"


def line(features: dict[str, Any]) -> str:
    """The argument of lerobot-train that says what a policy takes."""
    return f"--policy.input_features={json.dumps(features)}"


def test_a_split_without_depth_needs_no_line(pooled_datasets: Path, lerobot: Lerobot) -> None:
    root = pooled_datasets / "flat" / "d" / "train"
    told = lerobot("act_forward", {"root": root, "arguments": [], "expand": []})
    assert told["takes"][COLOUR] == ["VISUAL", [3, 96, 128]]
    assert math.isfinite(told["loss"])


def test_with_depth_a_line_that_leaves_it_out_is_needed_and_enough(root: Path, lerobot: Lerobot) -> None:
    told = lerobot("act_forward", {"root": root, "arguments": [], "expand": []})
    assert "expected input[4, 1, 96, 128] to have 3 channels" in told["raised"]
    told = lerobot("act_forward", {"root": root, "arguments": [line(TAKEN)], "expand": []})
    assert set(told["takes"]) == set(TAKEN)
    assert math.isfinite(told["loss"])


def test_depth_of_one_channel_given_three_is_taken_and_normalised_as_a_picture(root: Path, lerobot: Lerobot) -> None:
    told = lerobot("act_forward", {"root": root, "arguments": [line(WITH_DEPTH)], "expand": [DEPTH]})
    assert set(told["takes"]) == set(WITH_DEPTH)
    assert math.isfinite(told["loss"])
    mean, deviation = told["normal"][DEPTH]
    assert abs(mean) < 3
    assert 0.05 < deviation < 5
