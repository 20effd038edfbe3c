"""Whether cubes are measured: what is asked for, the cameras that are exported, and what is said of it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from quickdraw.core.hues import CubeThresholds
from quickdraw.data.command_line.composing import parse
from quickdraw.data.processors import block_stack
from quickdraw.errors import Refused
from quickdraw.pipeline.settings import Settings

type Processors = Callable[..., subprocess.CompletedProcess[str]]

CUBE = "observation.objects.cube"
SCENE, WRIST = "scene_right", "gripper_right_top"


def settings(*arguments: str) -> Settings:
    return block_stack(parse(["processor=block_stack", "source.dir=/d", *arguments]).config)


@pytest.mark.parametrize("cameras", ["scene_left", SCENE, WRIST, f"{WRIST},scene_left"])
def test_cubes_asked_for_without_both_their_cameras_are_refused(cameras: str) -> None:
    with pytest.raises(Refused) as refusal:
        settings("source.objects=cube", f"source.cameras=[{cameras}]")
    assert str(refusal.value) == (
        "command line: source.objects: found cube, expected cameras with scene_right and gripper_right_top, "
        "or source.objects=none; override: +source.objects=..."
    )


@pytest.mark.parametrize(
    ("objects", "cameras", "measured"),
    [("auto", f"{SCENE},{WRIST}", True), ("auto", f"scene_left,{WRIST}", False), ("auto", SCENE, False),
     ("cube", f"{WRIST},{SCENE}", True), ("none", f"{SCENE},{WRIST}", False), ("none", "scene_left", False)],
)  # fmt: skip
def test_cubes_are_measured_where_they_are_wanted_and_both_cameras_show_them(
    objects: str, cameras: str, measured: bool
) -> None:
    made = settings(f"source.objects={objects}", f"source.cameras=[{cameras}]")
    names = [feature.name for feature in made.dataset_spec().features]
    assert names == ["observation.state", "action", *([CUBE] if measured else [])]
    assert (made.cubes is not None) == measured
    if made.cubes:
        assert made.cubes.cameras == (SCENE, WRIST)  # the views, whatever the order they are exported in


def test_thresholds_are_those_of_the_options() -> None:
    values = {"min_value": 0.2, "min_saturation": 0.3, "peak_saturation": 0.6, "min_area_px": 7.5,
              "evidence_area_px": 40.0, "evidence_share": 0.05}  # fmt: skip
    made = settings(*(f"source.cube.{name}={value}" for name, value in values.items()))
    assert made.cubes is not None
    assert made.cubes.thresholds == CubeThresholds(**values)
    assert made.content["cube"] == values


def test_a_dry_run_says_that_cubes_are_left_out_where_nobody_asked_for_that(
    sample_tree: Path, tmp_path: Path, processors: Processors
) -> None:
    warning = (
        "warning: no observation.objects.cube: it is measured in scene_right and gripper_right_top, not both exported"
    )
    for objects, cameras, said in (("auto", "[scene_left]", True), ("none", "[scene_left]", False),
                                   ("auto", f"[{SCENE},{WRIST}]", False)):  # fmt: skip
        arguments = (f"source.dir={sample_tree}", f"source.objects={objects}", f"source.cameras={cameras}")
        done = processors("processor=block_stack", *arguments, "source.workers=1", "dry_run=true", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert [line for line in done.stdout.splitlines() if line.startswith("warning: ")] == [warning] * said


def test_cubes_without_their_cameras_are_refused_by_the_command(
    sample_tree: Path, tmp_path: Path, processors: Processors
) -> None:
    arguments = (f"+source.dir={sample_tree}", "+source.objects=cube", "+source.cameras=[scene_left]")
    done = processors("+processor=block_stack", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert "refused: command line: source.objects: found cube, expected cameras with scene_right and" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_librarys_default_thresholds_are_the_commands() -> None:
    assert vars(parse(["processor=block_stack"]).config.source.cube) == asdict(CubeThresholds())
