"""Which cameras an episode shows: what files hold, slots that were renamed, and what keeps one from being copied."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import imageio_ffmpeg
import numpy as np
import pytest

from quickdraw.core.episode import DepthPlan, EpisodeKey, EpisodePlan, FramePlan, Rejected
from quickdraw.core.grid import Int64
from quickdraw.data.pooled_episodes.copied import copy_faults
from quickdraw.data.pooled_episodes.options import PooledOptions
from quickdraw.data.pooled_episodes.slots import Shown, slots_of
from quickdraw.data.pooled_episodes.source import PooledEpisodes
from quickdraw.formats.pooled.scan import EpisodeFiles
from quickdraw.video.copying import CopiedStream

type Make = Callable[..., PooledEpisodes]

OPTIONS = PooledOptions(target_hz=30)
WHERE = "t/episode_000001"
SLOTS = "videos/chunk-000"
RECORDER = ("-c:v", "libx264", "-bf", "0", "-g", "5", "-pix_fmt", "yuv420p")


def ffmpeg(*arguments: str) -> None:
    subprocess.run([imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y", *arguments], check=True)


def film(path: Path, *coding: str, rate: int = 30, seconds: float = 0.4) -> Path:
    ffmpeg("-f", "lavfi", "-i", f"testsrc=s=64x48:r={rate}:d={seconds}", *coding, str(path))
    return path


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


def test_depth_beside_its_heat_map_is_the_depth(spoiled: Callable[[str], Path], pooled: Make) -> None:
    """Of an mkv of two streams, the second."""
    task = spoiled("deep")
    depth, cam = task / SLOTS / "depth/episode-001.mkv", task / SLOTS / "cam/episode-001.mp4"
    kept = shutil.move(depth, task / "kept.mkv")
    ffmpeg("-i", str(cam), "-i", str(kept), "-map", "0:v", "-map", "1:v", "-c", "copy", str(depth))
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
    assert united.about() == {"left_out": {}, "slots": {"eye": ["cam", "front"]}}
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


def test_a_camera_of_another_rate_is_refused(tmp_path: Path, slot: Path) -> None:
    video = film(slot / "episode-000.mp4", *RECORDER, rate=15)
    expected = f"{WHERE}: {video}: front: found 15 pictures a second, expected 30, as the task has"
    assert faults(tmp_path, video) == [expected]


def test_a_rate_told_as_a_quotient_of_ticks_is_the_same(tmp_path: Path, slot: Path) -> None:
    assert faults(tmp_path, film(slot / "episode-000.mkv", *RECORDER)) == []
    video = film(slot / "episode-000.mp4", *RECORDER)
    assert faults(tmp_path, video, replace(OPTIONS, target_hz=30)) == []


def test_depth_codes_of_an_unknown_range_are_refused(tmp_path: Path, slot: Path) -> None:
    coding = (
        "-vf",
        "scale=out_range=tv,format=gray12le",
        "-c:v",
        "libx265",
        "-x265-params",
        "log-level=none:range=limited",
    )
    video = film(slot / "episode-000.mp4", *coding, "-color_range", "tv")
    found = "depth codes of colour range tv, which may have been scaled"
    told = faults(tmp_path, video, replace(OPTIONS, depth="lossless"))
    assert told == [f"{WHERE}: {video}: front: found {found}, expected full range (pc)"]


def test_a_picture_stored_on_its_side_is_refused(tmp_path: Path, slot: Path) -> None:
    upright = film(tmp_path / "upright.mp4", *RECORDER)
    video = slot / "episode-000.mp4"
    ffmpeg("-display_rotation", "90", "-i", str(upright), "-c", "copy", str(video))
    (fault,) = faults(tmp_path, video)
    assert fault.startswith(f"{WHERE}: {video}: display matrix: found rotation metadata of ")


def test_two_files_of_one_slot_are_refused(tmp_path: Path, slot: Path) -> None:
    videos = [film(slot / f"episode-000.{extension}", *RECORDER) for extension in ("mkv", "mp4")]
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


def copied(**facts: object) -> CopiedStream:
    sound = {
        "codec": "h264",
        "pix_fmt": "yuv420p",
        "height_px": 48,
        "width_px": 64,
        "pictures": 10,
        "gop": 5,
        "reordered": False,
        "configuration": "0" * 64,
        "full_range": True,
    }
    return CopiedStream(**(sound | facts))  # type: ignore[arg-type]


def reasons(stream: CopiedStream | None, options: PooledOptions, kind: str = "rgb", *, index: Int64 | None = None,
            starts: int = 0) -> list[tuple[str, str, str]]:  # fmt: skip
    shown = Shown(
        camera="a", slot="a_slot", kind="depth" if kind == "depth" else "rgb", path=Path("/t/a.mp4"), stream=0,
        height_px=48, width_px=64, rate_hz=30.0, pictures=10, copied=stream,
    )  # fmt: skip
    found = copy_faults(shown, np.arange(10) if index is None else index, starts, options, WHERE)
    told = [*found]
    assert all((fault.where, fault.field, fault.path) == (WHERE, "a_slot", "/t/a.mp4") for fault in told)
    return [(fault.found, fault.expected, fault.option) for fault in told]


COPY, ENCODE = replace(OPTIONS, video_mode="copy", depth="copy", gop=5), "+source.video.mode=encode"


def test_a_stream_that_can_be_cut_and_joined_is_copied() -> None:
    assert reasons(copied(), COPY) == []
    assert reasons(copied(codec="hevc"), replace(COPY, hw=(48, 64))) == []
    assert reasons(copied(gop=1), COPY, index=np.arange(3, 10)) == []
    assert reasons(copied(codec="hevc", pix_fmt="gray12le"), COPY, "depth") == []
    assert reasons(None, OPTIONS) == []


@pytest.mark.parametrize(
    ("stream", "told"),
    [
        (copied(codec="vp9"), ("vp9 yuv420p", "h264, hevc, av1 of yuv420p where it is copied", ENCODE)),
        (copied(pix_fmt="yuv444p"), ("h264 yuv444p", "h264, hevc, av1 of yuv420p where it is copied", ENCODE)),
        (
            copied(reordered=True),
            ("pictures shown in another order than decoded (B-frames)", "none where it is copied", ENCODE),
        ),
        (
            copied(gop=12),
            ("keyframes 12 pictures apart", "at most 5 where it is copied", "+source.video.gop=12"),
        ),
    ],
)
def test_a_stream_that_cannot_be_copied_is_refused(stream: CopiedStream, told: tuple[str, str, str]) -> None:
    assert reasons(stream, COPY) == [told]
    assert reasons(stream, OPTIONS) == []


def test_pictures_are_copied_at_their_own_size() -> None:
    told = ("48x64 (height x width)", "96x128 of +source.hw", ENCODE)
    assert reasons(copied(), replace(COPY, hw=(96, 128))) == [told]


def test_pictures_are_copied_all_or_none() -> None:
    first = ("rows that show pictures from 2 on", "the recording's first picture first where it is copied", ENCODE)
    hole = ("rows that pass over pictures", "a row for every picture where it is copied", ENCODE)
    assert reasons(copied(), COPY, index=np.arange(2, 10)) == [first]
    assert reasons(copied(), COPY, index=np.array([0, 1, 3])) == [hole]


def test_depth_is_copied_as_codes_of_full_range_from_the_first_frame() -> None:
    option = "+source.depth.mode=lossless"
    late = ("depth that begins at frame 3", "depth from the first frame on where it is copied", option)
    scaled = ("depth codes not flagged full range (pc)", "full range where they are copied", option)
    metres = ("millimetres in FFV1", "logarithmic codes where it is copied", option)
    assert reasons(copied(full_range=False), COPY, "depth", starts=3) == [scaled, late]
    assert reasons(None, COPY, "depth") == [metres]


def test_an_episode_is_planned_to_be_copied(spoiled: Callable[[str], Path], pooled: Make) -> None:
    task = spoiled("plain")
    video = task / SLOTS / "cam/episode-000.mp4"
    kept = shutil.move(video, task / "kept.mp4")
    ffmpeg("-i", str(kept), *RECORDER, str(video))
    source = pooled(task.parent, video={"mode": "copy", "gop": 5})
    plan = plan_of(source, "plain", 1)
    stream = plan.holds["cameras"]["cam"]["stream"]
    assert {name: stream[name] for name in ("codec", "pix_fmt", "gop", "reordered")} == {
        "codec": "h264",
        "pix_fmt": "yuv420p",
        "gop": 5,
        "reordered": False,
    }
    assert {trait.name for trait in plan.traits} >= {"stream of cam", "size of cam"}
    assert told(source, "plain", 2) == [
        f"{task / SLOTS}/cam/episode-001.mp4: cam: found pictures shown in another order than decoded (B-frames),"
        f" expected none where it is copied; override: {ENCODE}",
        f"{task / SLOTS}/cam/episode-001.mp4: cam: found keyframes 20 pictures apart,"
        " expected at most 5 where it is copied; override: +source.video.gop=20",
    ]
