"""Which cameras an episode shows: what files hold, slots that were renamed, and what keeps one from being copied."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from quickdraw.core.episode import DepthPlan, EpisodeKey, EpisodePlan, FramePlan, Rejected
from quickdraw.data.command_line.composing import default_config
from quickdraw.data.options import as_json
from quickdraw.data.pooled_episodes.options import Depth, PooledOptions
from quickdraw.data.pooled_episodes.slots import slots_of
from quickdraw.data.pooled_episodes.source import PooledEpisodes
from quickdraw.formats.pooled.scan import EpisodeFiles

OPTIONS = msgspec.convert(as_json(default_config("pooled_episodes").source) | {"target_hz": 30}, PooledOptions)

type Make = Callable[..., PooledEpisodes]
type Films = Any

WHERE = "t/episode_000001"
SLOTS = "videos/chunk-000"


def plan_of(source: PooledEpisodes, task: str, number: int) -> EpisodePlan:
    plan = source.plan(EpisodeKey(task, f"episode_{number:06d}"))
    assert isinstance(plan, EpisodePlan), plan
    return plan


def told(source: PooledEpisodes, task: str, number: int) -> list[str]:
    plan = source.plan(EpisodeKey(task, f"episode_{number:06d}"))
    assert isinstance(plan, Rejected)
    return [str(fault).removeprefix(f"{plan.key}: ") for fault in plan.faults]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_depth_is_told_by_the_file_in_every_coding(simulated: Path, pooled: Make, number: int) -> None:
    source = pooled(simulated, depth="lossless")
    plan = plan_of(source, "deep", number)
    assert {name: held["kind"] for name, held in plan.holds["cameras"].items()} == {"cam": "rgb", "depth": "depth"}
    start = 3 if number == 3 else 0
    depth = source.frame_plan(plan, "depth")
    assert isinstance(depth, DepthPlan)
    assert depth.frame_index.tolist() == [-1] * start + list(range(12 - start))
    assert depth.pictures == sum(1 for _ in depth.frames()) == 12 - start
    colour = source.frame_plan(plan, "cam")
    assert isinstance(colour, FramePlan)
    assert (colour.frame_index.tolist(), colour.pictures, colour.stream) == (list(range(12)), 12, None)
    assert plan.provenance["depth_starts_at_row"] == ({"depth": 3} if start else {})


def test_depth_is_left_out_unless_it_is_asked_for(simulated: Path, pooled: Make) -> None:
    plan = plan_of(pooled(simulated), "deep", 1)
    assert set(plan.videos) == {"cam"}
    assert [trait.value for trait in plan.traits if trait.name == "set of cameras"] == ["cam"]


def test_depth_beside_its_heat_map_is_the_depth(spoiled: Callable[[str], Path], pooled: Make, films: Films) -> None:
    """Of an mkv of two streams, the second."""
    task = spoiled("deep")
    depth, cam = task / SLOTS / "depth/episode-001.mkv", task / SLOTS / "cam/episode-001.mp4"
    kept = shutil.move(depth, task / "kept.mkv")
    films.ffmpeg("-i", str(cam), "-i", str(kept), "-map", "0:v", "-map", "1:v", "-c", "copy", str(depth))
    source = pooled(task.parent, depth="lossless")
    plan = plan_of(source, "deep", 2)
    assert plan.holds["cameras"]["depth"]["kind"] == "depth"
    found = source.frame_plan(plan, "depth")
    assert isinstance(found, DepthPlan)
    assert found.pictures == 12


def test_renamed_slots_are_one_camera_where_they_are_united(spoiled: Callable[[str], Path], pooled: Make) -> None:
    task = spoiled("plain")
    (task / SLOTS / "front").mkdir()
    (task / SLOTS / "cam/episode-001.mp4").rename(task / SLOTS / "front/episode-001.mp4")
    apart = pooled(task.parent)
    traits = [next(t for t in plan_of(apart, "plain", n).traits if t.name == "set of cameras") for n in (1, 2)]
    assert [(trait.value, trait.option) for trait in traits] == [
        ("cam", "+source.slots.<name>=[a,b]"),
        ("front", "+source.slots.<name>=[a,b]"),
    ]
    united = pooled(task.parent, slots={"eye": ["cam", "front"]})
    plans = [plan_of(united, "plain", number) for number in (1, 2)]
    assert [plan.videos for plan in plans] == [
        {"eye": f"{SLOTS}/cam/episode-000.mp4"},
        {"eye": f"{SLOTS}/front/episode-001.mp4"},
    ]
    assert [plan.provenance["slots"] for plan in plans] == [{"eye": "cam"}, {"eye": "front"}]
    assert {t.value for plan in plans for t in plan.traits if t.name == "set of cameras"} == {"eye"}


def test_two_slots_of_one_episode_are_no_one_camera(simulated: Path, pooled: Make) -> None:
    assert told(pooled(simulated, slots={"eye": ["left", "right"]}), "pair", 1) == [
        f"{simulated / 'pair' / SLOTS}/left/episode-000.mp4: eye: found left and right of one episode,"
        " expected one slot an episode; override: +source.slots.eye=[...]"
    ]


def test_only_cameras_that_are_asked_for_are_looked_at(spoiled: Callable[[str], Path], pooled: Make) -> None:
    task = spoiled("pair")
    (task / SLOTS / "right/episode-001.mp4").write_bytes(b"no video")
    plan = plan_of(pooled(task.parent, cameras=["left"]), "pair", 2)
    assert (set(plan.videos), plan.frames, plan.warnings) == ({"left"}, 20, ())


def test_a_camera_that_is_asked_for_must_be_there(simulated: Path, pooled: Make) -> None:
    assert told(pooled(simulated, cameras=["left", "top"]), "pair", 1) == [
        f"{simulated}/pair/videos: top: found no such camera, expected one of +source.cameras in every episode;"
        " its slots are left, right; override: +source.slots.<name>=[a,b]"
    ]


def test_depth_must_be_asked_for_as_such(simulated: Path, pooled: Make) -> None:
    assert told(pooled(simulated, cameras=["cam", "depth"]), "deep", 2) == [
        f"{simulated / 'deep' / SLOTS}/depth/episode-001.mkv: depth: found depth, expected a camera of colour in"
        " +source.cameras, where depth is not asked for; override: +source.depth=true"
    ]


def test_depth_alone_is_no_camera_of_colour(spoiled: Callable[[str], Path], pooled: Make) -> None:
    task = spoiled("deep")
    shutil.rmtree(task / SLOTS / "cam")
    assert told(pooled(task.parent), "deep", 1) == [
        f"{task}/videos: cameras: found depth alone (depth), expected a camera of colour; override: +source.depth=true"
    ]
    alone = pooled(task.parent, depth="lossless")
    assert set(plan_of(alone, "deep", 3).videos) == {"depth"}
    assert alone.frame_plan(plan_of(alone, "deep", 3), "depth").frame_index.tolist() == [-1, -1, -1, *range(9)]


def test_sizes_must_agree_where_colour_is_not_scaled(simulated: Path, pooled: Make) -> None:
    def sizes(**options: object) -> dict[str, tuple[str, str]]:
        traits = plan_of(pooled(simulated, **options), "deep", 1).traits
        return {trait.name: (trait.value, trait.option) for trait in traits if trait.name.startswith("size")}

    cam, depth = {"size of cam": ("160x120", "+source.hw=[h,w]")}, {"size of depth": ("160x120", "")}
    assert sizes() == cam
    assert sizes(depth="lossless") == cam | depth
    assert sizes(hw=[48, 64]) == {}
    assert sizes(hw=[48, 64], depth="lossless") == depth


def files(tmp_path: Path, *videos: Path) -> EpisodeFiles:
    return EpisodeFiles(1, tmp_path / "episode-000.parquet", {video.parent.name: [video] for video in videos})


def faults(tmp_path: Path, video: Path, options: PooledOptions = OPTIONS) -> list[str]:
    _, found = slots_of(files(tmp_path, video), options, WHERE, tmp_path)
    return [str(fault) for fault in found]


@pytest.fixture
def slot(tmp_path: Path) -> Path:
    (tmp_path / "front").mkdir()
    return tmp_path / "front"


def test_a_camera_of_another_rate_is_refused(tmp_path: Path, slot: Path, films: Films) -> None:
    video = films.film(slot / "episode-000.mp4", *films.recorder, rate=15)
    expected = f"{WHERE}: {video}: front: found 15 pictures a second, expected 30, as the task has"
    assert faults(tmp_path, video) == [expected]


def test_a_rate_told_as_a_quotient_of_ticks_is_the_same(tmp_path: Path, slot: Path, films: Films) -> None:
    assert faults(tmp_path, films.film(slot / "episode-000.mkv", *films.recorder)) == []
    video = films.film(slot / "episode-000.mp4", *films.recorder)
    assert faults(tmp_path, video, replace(OPTIONS, target_hz=30)) == []


def test_depth_codes_of_an_unknown_range_are_refused(tmp_path: Path, slot: Path, films: Films) -> None:
    coding = (
        "-vf",
        "scale=out_range=tv,format=gray12le",
        "-c:v",
        "libx265",
        "-x265-params",
        "log-level=none:range=limited",
    )
    video = films.film(slot / "episode-000.mp4", *coding, "-color_range", "tv")
    found = "depth codes of colour range tv, which may have been scaled"
    told = faults(tmp_path, video, replace(OPTIONS, depth=Depth("lossless")))
    assert told == [f"{WHERE}: {video}: front: found {found}, expected full range (pc)"]


def test_a_picture_stored_on_its_side_is_refused(tmp_path: Path, slot: Path, films: Films) -> None:
    upright = films.film(tmp_path / "upright.mp4", *films.recorder)
    video = slot / "episode-000.mp4"
    films.ffmpeg("-display_rotation", "90", "-i", str(upright), "-c", "copy", str(video))
    (fault,) = faults(tmp_path, video)
    assert fault.startswith(f"{WHERE}: {video}: display matrix: found rotation metadata of ")


def test_two_files_of_one_slot_are_refused(tmp_path: Path, slot: Path, films: Films) -> None:
    videos = [films.film(slot / f"episode-000.{extension}", *films.recorder) for extension in ("mkv", "mp4")]
    found = EpisodeFiles(1, None, {"front": videos})
    _, told = slots_of(found, OPTIONS, WHERE, tmp_path)
    expected = "episode-000.mkv and episode-000.mp4, expected one video of an episode and slot"
    assert [str(fault) for fault in told] == [f"{WHERE}: {slot}: front: found {expected}"]


def test_a_slot_whose_name_is_no_text_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "fr\udceeont"
    folder.mkdir()
    _, told = slots_of(EpisodeFiles(1, None, {folder.name: [folder / "episode-000.mp4"]}), OPTIONS, WHERE, tmp_path)
    (fault,) = told
    assert str(fault).encode().endswith(b"slot: found 'fr\\udceeont', expected a name in UTF-8 that can be shown")
