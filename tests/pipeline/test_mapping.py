"""The map stage: what a task makes of one episode, and what it refuses."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quickdraw.core.cubes import CubeRule
from quickdraw.core.episode import EpisodeKey, EpisodePlan, Rejected
from quickdraw.core.hues import COLOURS
from quickdraw.data.block_stack import BlockStack
from quickdraw.pipeline.fragments import Fragment
from quickdraw.pipeline.mapping import PicturesTask, RowsTask, map_tasks, run_task
from quickdraw.pipeline.tracking import track_file
from quickdraw.video.encoding import Encoding

type Film = Any
KEY = EpisodeKey("campaign6-combos", "recording_2026_09_10_05_33_59")
ENCODING = Encoding(48, 64, 30, crf=20, preset="ultrafast", gop=5)


@pytest.fixture
def source(sample_tree: Path, tmp_path: Path) -> BlockStack:
    shutil.copytree(sample_tree / str(KEY), tmp_path / "raw" / str(KEY))
    return BlockStack(tmp_path / "raw", 30)


@pytest.fixture
def fragment(source: BlockStack, tmp_path: Path) -> Fragment:
    plan = source.plan(KEY)
    assert isinstance(plan, EpisodePlan)
    return Fragment(tmp_path / "fragments", plan)


def test_a_fragment_holds_rows_clip_histogram_and_digests(source: BlockStack, fragment: Fragment) -> None:
    assert run_task(RowsTask(source, fragment)) == 0
    assert run_task(PicturesTask(source, fragment, "scene_left", ENCODING, None)) == fragment.frames
    assert {name: rows.shape for name, rows in fragment.rows().items()} == {
        "action": (fragment.frames, 5),
        "observation.state": (fragment.frames, 17),
    }
    counts, pictures = fragment.picture_counts("scene_left")
    assert (counts.sum(axis=1) == pictures * 48 * 64).all()
    assert fragment.clip("scene_left").stat().st_size > 0
    assert not list(fragment.folder.glob("*track*"))


def test_cubes_are_followed_through_the_encoded_clip_of_their_cameras_alone(
    source: BlockStack, fragment: Fragment, film: Film
) -> None:
    """What is kept is what anyone measures in the published pictures, which are the same without cubes."""
    encoding = Encoding(144, 192, 30, crf=10, preset="veryfast", gop=5)
    rule = CubeRule(("scene_right", "gripper_right_top"), film.thresholds)
    for camera in ("scene_right", "scene_left"):
        run_task(PicturesTask(source, fragment, camera, encoding, rule))
    assert [path.name for path in fragment.folder.glob("*track*")] == ["scene_right.track.npz"]
    kept, clip = fragment.track("scene_right"), fragment.clip("scene_right")
    (expected,) = track_file(clip, [fragment.frames], film.thresholds)
    assert kept.peaks == expected.peaks
    np.testing.assert_array_equal(kept.sightings, expected.sightings)
    assert kept.sightings.shape == (fragment.frames, len(COLOURS), 3)
    assert set(kept.peaks) == {"red", "green", "blue"}
    with_cubes, counts = clip.read_bytes(), fragment.picture_counts("scene_right")
    run_task(PicturesTask(source, fragment, "scene_right", encoding, None))
    assert clip.read_bytes() == with_cubes
    np.testing.assert_array_equal(fragment.picture_counts("scene_right")[0], counts[0])


@pytest.mark.parametrize(("file", "camera"), [("raw/controller.jsonl", None), ("video/scene_left.mp4", "scene_left")])
def test_a_source_that_changes_after_the_plan_is_refused(
    source: BlockStack, fragment: Fragment, file: str, camera: str | None
) -> None:
    path = source.path(KEY, file)
    path.write_bytes(path.read_bytes() + b"\n")
    task = RowsTask(source, fragment) if camera is None else PicturesTask(source, fragment, camera, ENCODING, None)
    result = run_task(task)
    assert isinstance(result, Rejected)
    assert f"{KEY}: {path}: {file}: found changed since it was planned" in str(result.faults[0])


def test_damage_in_a_video_is_its_episodes_fault(source: BlockStack, fragment: Fragment) -> None:
    path = source.path(KEY, "video/scene_right.mp4")
    data = bytearray(path.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 400] = np.random.default_rng(0).bytes(400)
    path.write_bytes(data)
    result = run_task(PicturesTask(source, fragment, "scene_right", ENCODING, None))
    assert isinstance(result, Rejected)
    assert (result.key, result.faults[0].path) == (KEY, str(path))
    assert "picture" in result.faults[0].found


def test_the_longest_videos_come_first_and_every_camera_is_a_task_of_its_own(sample_tree: Path, tmp_path: Path) -> None:
    source = BlockStack(sample_tree, 30)
    plans = [source.plan(key) for name in source.campaigns() for key in source.campaign(name).runs]
    fragments = [Fragment(tmp_path, plan) for plan in plans if isinstance(plan, EpisodePlan)]
    tasks = list(map_tasks(source, fragments, ENCODING, None))
    costs = [task.cost for task in tasks]
    assert costs == sorted(costs, reverse=True)
    assert len(tasks) == len(fragments) * 5
