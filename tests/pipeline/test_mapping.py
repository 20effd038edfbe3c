"""The map stage: what a task makes of one episode, and what it refuses."""

from __future__ import annotations

import json
import shutil
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from quickdraw.core.cubes import CubeRule
from quickdraw.core.episode import EpisodeKey, EpisodePlan, Rejected
from quickdraw.core.hues import COLOURS
from quickdraw.data.block_stack import BlockStack
from quickdraw.formats.campaign.layout import CAMERAS
from quickdraw.pipeline.digests import FileDigest, digest
from quickdraw.pipeline.fragments import Fragment
from quickdraw.pipeline.mapping import Made, PicturesTask, RowsTask, Workshop, map_tasks, run_task
from quickdraw.pipeline.parts import PartStore, clip_fingerprint, rows_fingerprint, track_fingerprint
from quickdraw.pipeline.published import Published
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
def plan(source: BlockStack) -> EpisodePlan:
    plan = source.plan(KEY)
    assert isinstance(plan, EpisodePlan)
    return plan


def workshop(source: BlockStack, store: Path, encoding: Encoding = ENCODING, rule: CubeRule | None = None) -> Workshop:
    encodings = dict.fromkeys(CAMERAS, encoding)
    return Workshop(source, encodings, rule, PartStore(store), Published(store / "nothing published"))


def fragment(shop: Workshop, plan: EpisodePlan) -> Fragment:
    """The episode whose parts a workshop makes, named from the files themselves."""
    files = {file: digest(shop.source.path(KEY, file)) for file in (*plan.row_files, *plan.videos.values())}
    clips = {
        camera: clip_fingerprint(files[video], plan.frame_digests[camera], shop.encodings[camera])
        for camera, video in plan.videos.items()
    }
    tracks = {c: track_fingerprint(clips[c], shop.cubes.thresholds) for c in shop.cubes.cameras} if shop.cubes else {}
    return Fragment(shop.store, plan, files, rows_fingerprint(shop.source, plan, files), clips, tracks)


def test_tasks_make_rows_a_clip_and_a_histogram_and_tell_the_digests_of_their_sources(
    source: BlockStack, plan: EpisodePlan, tmp_path: Path
) -> None:
    shop = workshop(source, tmp_path / "parts")
    rows, shown = run_task(RowsTask(shop, plan, {})), run_task(PicturesTask(shop, plan, "scene_left", {}))
    made = fragment(shop, plan)
    assert isinstance(rows, Made)
    assert isinstance(shown, Made)
    assert (rows.cost, shown.cost) == (0, plan.frames)
    assert {**rows.sources, **shown.sources} == {
        file: known for file, known in made.sources.items() if file in (*plan.row_files, plan.videos["scene_left"])
    }
    assert {name: array.shape for name, array in made.rows().items()} == {
        "action": (plan.frames, 5),
        "observation.state": (plan.frames, 17),
    }
    counts, pictures = made.picture_counts("scene_left")
    assert (counts.sum(axis=1) == pictures * 48 * 64).all()
    crcs = [zlib.crc32(packet) for packet in packets(made.clip("scene_left"))]
    assert made.picture_crcs("scene_left").tolist() == crcs
    assert len(crcs) == plan.frames
    assert len(shop.store) == 2


def packets(clip: Path) -> list[bytes]:
    """The coded pictures of a clip, as PyAV gives them."""
    with av.open(str(clip)) as container:
        return [bytes(packet) for packet in container.demux(video=0) if packet.size]


def looks(root: Path) -> dict[Path, tuple[int, int]]:
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in root.rglob("*")}


def test_a_finished_part_is_not_made_again(source: BlockStack, plan: EpisodePlan, tmp_path: Path) -> None:
    shop = workshop(source, tmp_path / "parts")
    tasks = [RowsTask(shop, plan, {}), PicturesTask(shop, plan, "scene_left", {})]
    first = [run_task(task) for task in tasks]
    assert [(made.parts, made.new) for made in first if isinstance(made, Made)] == [(1, 1), (1, 1)]
    before = looks(tmp_path / "parts")
    again = [run_task(task) for task in tasks]
    assert again == [replace(made, new=0) for made in first if isinstance(made, Made)]
    assert looks(tmp_path / "parts") == before


def test_a_part_depends_on_what_it_is_made_of_and_on_nothing_else(
    source: BlockStack, plan: EpisodePlan, tmp_path: Path, film: Film
) -> None:
    rule = CubeRule(("scene_right", "gripper_right_top"), film.thresholds)
    shop = workshop(source, tmp_path, rule=rule)
    there = fragment(shop, plan).parts()
    other = Encoding(48, 64, 30, crf=21, preset="ultrafast", gop=5)
    changed = fragment(workshop(source, tmp_path, other, rule), plan).parts()
    assert changed["rows"] == there["rows"]
    assert not set(changed["clips"].values()) & set(there["clips"].values())
    assert not set(changed["tracks"].values()) & set(there["tracks"].values())
    more = CubeRule(rule.cameras, replace(film.thresholds, min_area_px=99.0))
    changed = fragment(workshop(source, tmp_path, rule=more), plan).parts()
    assert (changed["rows"], changed["clips"]) == (there["rows"], there["clips"])
    assert not set(changed["tracks"].values()) & set(there["tracks"].values())
    newer = fragment(workshop(NewerProcessor(source.tree, 30), tmp_path, rule=rule), plan).parts()
    assert newer["rows"] != there["rows"]
    assert (newer["clips"], newer["tracks"]) == (there["clips"], there["tracks"])
    path = source.path(KEY, "raw/controller.jsonl")
    path.write_bytes(path.read_bytes() + b"\n")
    touched = fragment(shop, plan).parts()
    assert touched["rows"] != there["rows"]
    assert (touched["clips"], touched["tracks"]) == (there["clips"], there["tracks"])


class NewerProcessor(BlockStack):
    """The processor after a change in what its rows are."""

    version = 1_000


def test_known_digests_are_taken_at_their_word(source: BlockStack, plan: EpisodePlan, tmp_path: Path) -> None:
    """That is what saves reading an unchanged file; whoever says a digest is known has compared size and time."""
    known = {file: FileDigest(1, "known") for file in plan.row_files}
    result = run_task(RowsTask(workshop(source, tmp_path / "parts"), plan, known))
    assert isinstance(result, Made)
    assert result.sources == known


def test_cubes_are_followed_through_the_encoded_clip_of_their_cameras_alone(
    source: BlockStack, plan: EpisodePlan, film: Film, tmp_path: Path
) -> None:
    """What is kept is what anyone measures in the published pictures, which are the same without cubes."""
    encoding = Encoding(144, 192, 30, crf=15, preset="veryfast", gop=5)
    rule = CubeRule(("scene_right", "gripper_right_top"), film.thresholds)
    shop = workshop(source, tmp_path / "parts", encoding, rule)
    for camera in ("scene_right", "scene_left"):
        run_task(PicturesTask(shop, plan, camera, {}))
    made = fragment(shop, plan)
    assert [path.parent.name for path in shop.store.root.rglob("track.npz")] == [made.tracks["scene_right"]]
    kept, clip = made.track("scene_right"), made.clip("scene_right")
    (expected,) = track_file(clip, [plan.frames], film.thresholds)
    assert kept.peaks == expected.peaks
    np.testing.assert_array_equal(kept.sightings, expected.sightings)
    assert kept.sightings.shape == (plan.frames, len(COLOURS), 3)
    assert set(kept.peaks) == {"red", "green", "blue"}
    plain = workshop(source, tmp_path / "plain", encoding)
    run_task(PicturesTask(plain, plan, "scene_right", {}))
    assert fragment(plain, plan).clip("scene_right").read_bytes() == clip.read_bytes()
    counts = fragment(plain, plan).picture_counts("scene_right")[0]
    np.testing.assert_array_equal(counts, made.picture_counts("scene_right")[0])
    # A clip that was there before cubes were asked for gives the same track.
    run_task(PicturesTask(replace(plain, cubes=rule), plan, "scene_right", {}))
    later = fragment(replace(plain, cubes=rule), plan)
    assert later.track_file("scene_right").read_bytes() == made.track_file("scene_right").read_bytes()


@pytest.mark.parametrize(("file", "camera"), [("raw/controller.jsonl", None), ("video/scene_left.mp4", "scene_left")])
@pytest.mark.parametrize("how", ["longer", "gone"])
def test_a_source_that_changes_after_the_plan_is_refused(
    source: BlockStack, plan: EpisodePlan, tmp_path: Path, *, file: str, camera: str | None, how: str
) -> None:
    path, shop = source.path(KEY, file), workshop(source, tmp_path / "parts")
    if how == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes() + b"\n")
    task = RowsTask(shop, plan, {}) if camera is None else PicturesTask(shop, plan, camera, {})
    result = run_task(task)
    assert isinstance(result, Rejected)
    found = "found unreadable (No such file or directory)" if how == "gone" else "found changed since it was planned"
    assert str(path) in str(result.faults[0])
    assert found in str(result.faults[0])
    assert len(shop.store) == 0


def test_a_clip_of_stamps_that_were_not_planned_is_not_kept(
    source: BlockStack, plan: EpisodePlan, tmp_path: Path
) -> None:
    """The film is the same, but which picture a row shows is not: its name would promise the right one."""
    path, shop = source.path(KEY, "video/scene_left_frame_times.json"), workshop(source, tmp_path / "parts")
    document = json.loads(path.read_bytes())
    document["t"] = [t_s + 0.2 for t_s in document["t"]]
    path.write_text(json.dumps(document))
    result = run_task(PicturesTask(shop, plan, "scene_left", {}))
    assert isinstance(result, Rejected)
    assert f"{path}: video/scene_left_frame_times.json: found changed since it was planned" in str(result.faults[0])
    assert len(shop.store) == 0


def test_damage_in_a_video_is_its_episodes_fault(source: BlockStack, tmp_path: Path) -> None:
    path = source.path(KEY, "video/scene_right.mp4")
    data = bytearray(path.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 400] = np.random.default_rng(0).bytes(400)
    path.write_bytes(data)
    plan, shop = source.plan(KEY), workshop(source, tmp_path / "parts")
    assert isinstance(plan, EpisodePlan)
    result = run_task(PicturesTask(shop, plan, "scene_right", {}))
    assert isinstance(result, Rejected)
    assert (result.key, result.faults[0].path) == (KEY, str(path))
    assert "picture" in result.faults[0].found
    assert len(shop.store) == 0


def test_the_longest_videos_come_first_and_every_camera_is_a_task_of_its_own(sample_tree: Path, tmp_path: Path) -> None:
    source = BlockStack(sample_tree, 30)
    planned = [source.plan(key) for name in source.campaigns() for key in source.campaign(name).runs]
    plans = [plan for plan in planned if isinstance(plan, EpisodePlan)]
    tasks = list(
        map_tasks(
            workshop(source, tmp_path),
            {plan.key: plan for plan in plans},
            {plan.key: plan.frames for plan in plans},
            {plan.key: {} for plan in plans},
        )
    )
    costs = [task.cost for task in tasks]
    assert costs == sorted(costs, reverse=True)
    assert len(tasks) == len(plans) * 5
