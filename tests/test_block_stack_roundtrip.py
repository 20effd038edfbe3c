"""A built dataset against its raw recordings: vectors exactly, and every picture the right one.

Runs on the sample campaigns, on a simulated tree with painted picture numbers, and on a real build where
`QD_BLOCKSTACK_ROOT` (the dataset) and `QD_BLOCKSTACK_SRC` (its raw tree) are set.

A shift sweep, not a number, is the evidence for pictures: a dataset misaligned by one row scores "small" too on a scene
that moves slowly. It must be lowest at shift 0 and rise clearly to both sides.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import pytest

from quickdraw.core.episode import EpisodeKey
from quickdraw.data.block_stack import BlockStack
from quickdraw.formats.lerobot.reader import SplitReader
from quickdraw.sim.barcode import read_frame_number
from quickdraw.sim.spec import DEFAULT_CAMERAS, PURPLE_COLOURS, RunSpec
from quickdraw.sim.tree import CampaignSpec, write_tree

CAMERAS = ("scene_left", "scene_right", "gripper_right_bottom", "gripper_right_top")
PROBES, REACH, MOVING_STD = 120, 3, 6.0
Pixels = np.ndarray[Any, np.dtype[np.uint8]]


@dataclass(frozen=True)
class Build:
    """A dataset and the raw tree it was made from."""

    dataset: Path
    tree: Path

    @property
    def provenance(self) -> dict[str, Any]:
        return dict(json.loads((self.dataset / "provenance.json").read_text()))

    def episodes(self, split: str) -> list[dict[str, Any]]:
        return [episode for episode in self.provenance["episodes"] if episode["split"] == split]

    def splits(self) -> list[str]:
        return sorted({episode["split"] for episode in self.provenance["episodes"]})

    def run(self, episode: dict[str, Any]) -> Path:
        return self.tree / episode["campaign"] / episode["run"]


@pytest.fixture(scope="session")
def sample(sample_dataset: Path, sample_tree: Path) -> Build:
    return Build(sample_dataset, sample_tree)


@pytest.fixture(scope="session")
def painted(
    once: Callable[[str, Callable[[Path], None]], Path], processors: Callable[..., subprocess.CompletedProcess[str]]
) -> Build:
    """A simulated tree whose pictures carry their own number; slow, fast, late and lossy cameras, 4 ms stamps."""

    def make(folder: Path) -> None:
        slow = replace(DEFAULT_CAMERAS[0], rate_hz=25.1, late=((40, 0.03), (71, 0.02)))
        lossy = replace(DEFAULT_CAMERAS[1], dropped=(35, 36, 60, 90, 91, 92, 93))
        base = RunSpec(paint_numbers=True, cameras=(slow, lossy, *DEFAULT_CAMERAS[2:]), loop_hiccups=2)
        campaigns = (
            CampaignSpec("campaign3-play", runs=2, seconds=4.0),
            CampaignSpec("campaign8-purple-play", runs=1, seconds=4.0, cube_colours=PURPLE_COLOURS),
        )
        write_tree(folder / "raw", seed=5, campaigns=campaigns, base=base)
        result = processors(
            "+processor=block_stack",
            "+report=false",
            f"+source.dir={folder / 'raw'}",
            f"+output.dir={folder / 'built'}",
            cwd=folder,
        )
        assert result.returncode == 0, result.stderr

    folder = once("painted", make)
    return Build(folder / "built", folder / "raw")


@pytest.fixture(scope="session")
def builds(sample: Build) -> list[Build]:
    """The sample build, and the user's real one where the environment names it."""
    named = os.environ.get("QD_BLOCKSTACK_ROOT"), os.environ.get("QD_BLOCKSTACK_SRC")
    return [sample, *([Build(Path(named[0]), Path(named[1]))] if named[0] and named[1] else [])]


# --- an independent read of a raw run: plain json, integers and fractions -----------------------------------------


def json_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def stamps(run: Path, camera: str) -> list[int]:
    return [round(Fraction(t) * 10**9) for t in json.loads((run / f"video/{camera}_frame_times.json").read_text())["t"]]


def nearest_index(t_ns: list[int], tick: Fraction) -> int:
    later = min(bisect_left(t_ns, tick), len(t_ns) - 1)
    earlier = bisect_left(t_ns, t_ns[max(later - 1, 0)])
    return later if abs(t_ns[later] - tick) < abs(t_ns[earlier] - tick) else earlier


@cache
def ticks(run: Path, rate_hz: int = 30) -> list[Fraction]:
    """The grid of a run in exact nanoseconds."""
    streams = [[round(Fraction(row["t"]) * 10**9) for row in json_lines(run / f"raw/{name}.jsonl")]
               for name in ("controller", "arm_state")]  # fmt: skip
    streams += [stamps(run, camera) for camera in CAMERAS]
    low, high = max(t[0] for t in streams), min(t[-1] for t in streams)
    count = math.ceil(Fraction(high - low, 10**9) * rate_hz)
    return [low + Fraction(k * 10**9, rate_hz) for k in range(count)]


def independent_action(run: Path) -> np.ndarray[Any, Any]:
    rows = json_lines(run / "raw/controller.jsonl")
    t_ns = [round(Fraction(row["t"]) * 10**9) for row in rows]
    chosen = [rows[nearest_index(t_ns, tick)] for tick in ticks(run)]
    return np.array([[r["move_x"], r["move_y"], r["height"], r["yaw"], r["gripper"]] for r in chosen], np.float32)


def independent_state(run: Path) -> np.ndarray[Any, Any]:
    rows = json_lines(run / "raw/arm_state.jsonl")
    t_ns = [round(Fraction(row["t"]) * 10**9) for row in rows]
    return np.array([state_of(rows[nearest_index(t_ns, tick)]) for tick in ticks(run)])


def state_of(row: dict[str, Any]) -> list[float]:
    roll, pitch, yaw = (math.radians(angle) for angle in row["pose_base_mm_deg"][3:])
    rx = np.array([[1, 0, 0], [0, math.cos(roll), -math.sin(roll)], [0, math.sin(roll), math.cos(roll)]])
    ry = np.array([[math.cos(pitch), 0, math.sin(pitch)], [0, 1, 0], [-math.sin(pitch), 0, math.cos(pitch)]])
    rz = np.array([[math.cos(yaw), -math.sin(yaw), 0], [math.sin(yaw), math.cos(yaw), 0], [0, 0, 1]])
    half = math.sqrt(0.5)
    world = np.array([[1, 0, 0], [0, half, -half], [0, half, half]]) @ rz @ ry @ rx
    opening = min(max(row["gripper_pos"] / 850, 0), 1)
    joints = [math.radians(angle) for angle in row["joints_real_deg"]]
    return [*row["pose_world_xyz_mm"], *world[:, 0], *world[:, 1], opening, *joints]


# --- vectors -------------------------------------------------------------------------------------------------------


def test_every_row_equals_a_fresh_read_bit_for_bit(builds: list[Build]) -> None:
    for build in builds:
        source = BlockStack(build.tree, 30)
        for split in build.splits():
            reader = SplitReader(build.dataset / split)
            for episode in build.episodes(split):
                fresh = source.read(EpisodeKey(episode["campaign"], episode["run"]))
                for name, array in fresh.arrays.items():
                    built = reader.array(name, episode["episode_index"])
                    assert built.dtype == np.float32
                    assert built.shape == array.shape
                    assert float(np.abs(built - array).max()) == 0.0, (split, episode["run"], name)


def test_every_row_equals_an_independent_read(builds: list[Build]) -> None:
    for build in builds:
        for split in build.splits():
            reader = SplitReader(build.dataset / split)
            for episode in build.episodes(split):
                number, run = episode["episode_index"], build.run(episode)
                action, state = reader.array("action", number), reader.array("observation.state", number)
                assert len(action) == len(ticks(run)) == episode["frames"]
                assert np.abs(action - independent_action(run)).max() == 0.0
                expected = independent_state(run).astype(np.float32)
                assert np.abs(state - expected).max() <= 1e-6


def test_rotations_are_orthonormal_and_continuous(builds: list[Build]) -> None:
    for build in builds:
        for split in build.splits():
            reader = SplitReader(build.dataset / split)
            for episode in reader.episodes:
                rot6 = reader.array("observation.state", episode["episode_index"])[:, 3:9].astype(np.float64)
                c0, c1 = rot6[:, :3], rot6[:, 3:]
                assert np.abs(np.linalg.norm(c0, axis=1) - 1).max() < 1e-6
                assert np.abs(np.linalg.norm(c1, axis=1) - 1).max() < 1e-6
                assert np.abs((c0 * c1).sum(axis=1)).max() < 1e-6
                frame = np.stack([c0, c1, np.cross(c0, c1)], axis=2)
                cosine = (np.einsum("tij,tij->t", frame[:-1], frame[1:]) - 1) / 2
                half_angle = np.arccos(np.clip(cosine, -1, 1)) / 2
                step = np.linalg.norm(np.diff(rot6, axis=0), axis=1)
                assert (step <= 2 * math.sqrt(2) * np.sin(half_angle) + 1e-3).all()


def test_the_longest_train_episode_is_no_longer_than_the_shortest_of_val(builds: list[Build]) -> None:
    for build in builds:
        train = max(episode["frames"] for episode in build.episodes("train"))
        assert train <= min(episode["frames"] for episode in build.episodes("val"))


# --- pictures ------------------------------------------------------------------------------------------------------


def decoded(path: Path) -> Iterator[Pixels]:
    with av.open(str(path)) as container:
        for frame in container.decode(video=0):
            yield frame.to_ndarray(format="rgb24")


def published(build: Build, split: str, camera: str, number: int) -> Iterator[Pixels]:
    """The episode's pictures in the published video file, by frame number, one at a time."""
    reader = SplitReader(build.dataset / split)
    row, key = reader.episodes[number], f"observation.images.{camera}"
    path = f"videos/{key}/chunk-{row[f'videos/{key}/chunk_index']:03d}/file-{row[f'videos/{key}/file_index']:03d}.mp4"
    first = round(row[f"videos/{key}/from_timestamp"] * 30)
    return islice(decoded(build.dataset / split / path), first, first + row["length"])


def source_pictures(run: Path, camera: str, wanted: set[int], hw: tuple[int, int]) -> dict[int, Pixels]:
    """The numbered pictures of a camera file, decoded to RGB and scaled by OpenCV's area method."""
    return {
        k: cv2.resize(rgb, (hw[1], hw[0]), interpolation=cv2.INTER_AREA)
        for k, rgb in enumerate(decoded(run / f"video/{camera}.mp4"))
        if k in wanted
    }


def liveliest_rows(pictures: Iterator[Pixels]) -> list[int]:
    """The rows with most motion around them, far enough from both ends to be shifted."""
    motion, around = [], deque[Pixels](maxlen=3)
    for picture in pictures:
        around.append(picture)
        if len(around) == 3:
            motion.append(float(np.abs(around[2].astype(np.int16) - around[0]).mean()))  # of row 1, then row 2, ...
    inner = np.array(motion[REACH - 1 : len(motion) - REACH + 1])
    return sorted((np.argsort(inner)[-PROBES:] + REACH).tolist())


@dataclass(frozen=True)
class Sweep:
    """Mean |pixel difference| of built rows against source rows, by shift -3..+3."""

    whole: list[float]
    moving: list[float]


def sweep(build: Build, split: str, camera: str) -> Sweep:
    episode = max(build.episodes(split), key=lambda e: e["frames"])
    run, number = build.run(episode), episode["episode_index"]
    t_ns = stamps(run, camera)
    shown = [nearest_index(t_ns, tick) for tick in ticks(run)]
    rows = liveliest_rows(published(build, split, camera, number))
    chosen = set(rows)
    pictures = {row: rgb for row, rgb in enumerate(published(build, split, camera, number)) if row in chosen}
    wanted = {shown[row + shift] for row in rows for shift in range(-REACH, REACH + 1)}
    source = source_pictures(run, camera, wanted, pictures[rows[0]].shape[:2])
    moving = np.stack([source[shown[row]] for row in rows]).astype(np.float32).std(axis=0).max(axis=-1) > MOVING_STD
    assert moving.any(), "nothing moves: the sweep would prove nothing"
    whole, moved = [], []
    for shift in range(-REACH, REACH + 1):
        difference = [np.abs(pictures[row].astype(np.int16) - source[shown[row + shift]]) for row in rows]
        whole.append(float(np.mean([d.mean() for d in difference])))
        moved.append(float(np.mean([d[moving].mean() for d in difference])))
    return Sweep(whole, moved)


@pytest.mark.parametrize("camera", CAMERAS)
def test_pictures_align_with_rows(
    builds: list[Build], camera: str, record_property: Callable[[str, object], None]
) -> None:
    for build in builds:
        for split in build.splits():
            curve = sweep(build, split, camera)
            shown = f"{split} {camera}: whole {np.round(curve.whole, 2)} moving {np.round(curve.moving, 2)}"
            record_property(f"{split}/{camera}", shown)
            print(shown)
            for values in (curve.whole, curve.moving):
                rest = values[:REACH] + values[REACH + 1 :]
                assert values[REACH] < min(rest), shown
            assert min(curve.moving[0], curve.moving[-1]) > 1.25 * curve.moving[REACH], shown
            assert curve.whole[REACH] <= 1.5, shown


def test_every_picture_carries_the_number_it_should(painted: Build) -> None:
    rows = 0
    for split in painted.splits():
        for episode in painted.episodes(split):
            for camera in CAMERAS:
                t_ns = stamps(painted.run(episode), camera)
                expected = [nearest_index(t_ns, tick) for tick in ticks(painted.run(episode))]
                shown = [read_frame_number(rgb) for rgb in published(painted, split, camera, episode["episode_index"])]
                assert shown == expected, (split, episode["run"], camera)
                rows += len(shown)
    assert rows > 1000


def test_the_simulated_build_passes_the_same_checks(painted: Build) -> None:
    test_every_row_equals_a_fresh_read_bit_for_bit([painted])
    test_every_row_equals_an_independent_read([painted])
    test_rotations_are_orthonormal_and_continuous([painted])


def test_the_plan_of_the_users_corpus_has_the_specified_counts(
    processors: Callable[..., subprocess.CompletedProcess[str]], sample_tree: Path, tmp_path: Path
) -> None:
    """Where `QD_BLOCKSTACK_SRC` names it; elsewhere the same lines of the sample's plan."""
    corpus = os.environ.get("QD_BLOCKSTACK_SRC")
    result = processors("+processor=block_stack", f"+source.dir={corpus or sample_tree}", "dry_run=true", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    real = {"train": (43, 172_835), "val": (2, 34_799), "eval_purple_play": (5, 9_048), "eval_purple_stack": (6, 5_323)}
    sample = {"train": (3, 468), "val": (2, 641), "eval_purple_play": (1, 170), "eval_purple_stack": (1, 142)}
    for split, (episodes, frames) in (real if corpus else sample).items():
        assert re.search(rf"^{split} +{episodes} episodes? +{frames:,} frames?", result.stdout, re.MULTILINE), split


def test_a_dataset_shifted_by_one_row_is_caught(sample: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = published
    monkeypatch.setitem(globals(), "published", lambda *where: islice(exact(*where), 1, None))
    curve = sweep(sample, "val", "scene_left")
    assert int(np.argmin(curve.whole)) != REACH
    assert int(np.argmin(curve.moving)) != REACH
