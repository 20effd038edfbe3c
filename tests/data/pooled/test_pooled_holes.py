"""Files that lost pictures: refused where those are missing in the middle, so that no row shows a later one."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quickdraw.core.episode import EpisodeKey, EpisodePlan, Rejected
from quickdraw.data.pooled_episodes.source import PooledEpisodes

type Make = Callable[..., PooledEpisodes]
type Films = Any

SLOTS = "videos/chunk-000"
CLUSTER = bytes.fromhex("1f43b675")  # begins each part of an mkv
DROPPED = ("-vf", "select='not(eq(n,{}))'", "-fps_mode", "passthrough", "-enc_time_base", "1/15360")


def faults_of(source: PooledEpisodes, task: str, number: int) -> list[tuple[str, str, str]]:
    plan = source.plan(EpisodeKey(task, f"episode_{number:06d}"))
    assert isinstance(plan, Rejected), plan.warnings
    return [(fault.field, fault.found, fault.expected) for fault in plan.faults]


def plan_of(source: PooledEpisodes, task: str, number: int) -> EpisodePlan:
    plan = source.plan(EpisodeKey(task, f"episode_{number:06d}"))
    assert isinstance(plan, EpisodePlan), plan
    return plan


def lose(mkv: Path, part: int, *, zeroed: bool) -> None:
    """One of its clusters: all zeros, or under another name, as a reader passes over."""
    data = bytearray(mkv.read_bytes())
    starts = [at for at in range(len(data)) if data[at : at + 4] == CLUSTER]
    assert len(starts) >= 3
    if zeroed:
        end = starts[part + 1]
        data[starts[part] : end] = bytes(end - starts[part])
    else:
        data[starts[part] : starts[part] + 4] = b"\xaa" * 4
    mkv.write_bytes(data)


@pytest.fixture
def deep(spoiled: Callable[[str], Path], films: Films) -> Path:
    """A task of 12 frames whose second episode's depth is stored in parts of 4 pictures."""
    task = spoiled("deep")
    depth = task / SLOTS / "depth/episode-001.mkv"
    kept = shutil.move(depth, task / "kept.mkv")
    films.ffmpeg("-i", str(kept), "-c", "copy", "-cluster_time_limit", "100", str(depth))
    return task


@pytest.mark.parametrize("zeroed", [False, True])
def test_a_part_of_depth_that_was_lost_is_not_taken_for_its_head(deep: Path, pooled: Make, zeroed: bool) -> None:
    source = pooled(deep.parent, depth="lossless")
    assert plan_of(source, "deep", 2).warnings == ()
    lose(deep / SLOTS / "depth/episode-001.mkv", 1, zeroed=zeroed)
    found = "8 pictures for 12 frames, and picture 4 at 0.267 s, after 0.100 s"
    expected = "it at 0.133 s, so that no picture is missing or doubled in the middle"
    assert faults_of(source, "deep", 2) == [("depth", found, expected)]


def test_depth_that_lost_its_last_part_is_not_taken_for_late(deep: Path, pooled: Make) -> None:
    lose(deep / SLOTS / "depth/episode-001.mkv", 2, zeroed=False)
    found = "8 pictures for 12 frames, the last at 0.233 s in a stream of 0.400 s"
    expected = "pictures up to its end, so that those at its head are missing"
    assert faults_of(pooled(deep.parent, depth="lossless"), "deep", 2) == [("depth", found, expected)]


@pytest.mark.parametrize("restamped", [False, True])
def test_depth_that_begins_late_may_say_so_by_its_times(
    deep: Path, pooled: Make, films: Films, restamped: bool
) -> None:
    depth = deep / SLOTS / "depth/episode-001.mkv"
    kept = shutil.move(depth, deep / "kept.mkv")
    head = "select='gte(n,4)'" + (",setpts=N/30/TB" if restamped else "")
    films.ffmpeg("-i", str(kept), "-vf", head, "-fps_mode", "passthrough", "-c:v", "ffv1", str(depth))
    source = pooled(deep.parent, depth="lossless")
    plan = plan_of(source, "deep", 2)
    assert plan.warnings == ("depth begins at frame 4: all depth before is 0, not known",)
    assert source.frame_plan(plan, "depth").frame_index.tolist() == [-1] * 4 + list(range(8))


@pytest.mark.parametrize("extension", ["mp4", "mkv"])
@pytest.mark.parametrize("reordered", [False, True])
def test_a_picture_of_colour_that_was_dropped_on_the_way_is_no_missing_tail(
    spoiled: Callable[[str], Path],
    pooled: Make,
    films: Films,
    key_file: Callable[..., Path],
    extension: str,
    reordered: bool,
) -> None:
    """As an encoder leaves it out that keeps the others' times."""
    task = spoiled("plain")
    shutil.copy(key_file(list(range(300))), task / "data/chunk-000/episode-000.parquet")
    cam = task / SLOTS / "cam/episode-000.mp4"
    cam.unlink()
    coding = ("-c:v", "libx264", "-preset", "ultrafast", "-bf", "3" if reordered else "0", "-pix_fmt", "yuv420p")
    source, film = pooled(task.parent), cam.with_suffix(f".{extension}")
    for lost in (9, 299):
        films.film(film, *coding, *(each.format(lost) for each in DROPPED), seconds=10)
        if lost == 299:
            told = ("the last row is left out: cam has 299 pictures for 300 frames",)
            assert plan_of(source, "plain", 1).warnings == told
        else:
            ((field, found, expected),) = faults_of(source, "plain", 1)
            assert found.startswith("299 pictures for 300 frames, and picture 9 at 0.333 s, after 0.2")
            assert field == "cam"
            assert expected.endswith("s, so that no picture is missing or doubled in the middle")


CODING = ("-c:v", "libx264", "-preset", "ultrafast", "-bf", "0", "-pix_fmt", "yuv420p")


@pytest.mark.parametrize("tail", [-1, 0, 1])
@pytest.mark.parametrize("clock", ["hardware_ns", "wall_time"])
@pytest.mark.parametrize("stands_still", [False, True])
def test_a_picture_lost_in_the_middle_is_told_whatever_their_number(
    spoiled: Callable[[str], Path],
    pooled: Make,
    films: Films,
    key_file: Callable[..., Path],
    stands_still: bool,
    clock: str,
    tail: int,
) -> None:
    """From the hole on each row would show the next one, unless rows did so too; by hardware_ns, if there is one.

    The wall tells the contrary then.
    """
    task = spoiled("plain")
    still = [k / 30 + (k >= 100) / 30 for k in range(300)]
    even = [k / 30 for k in range(300)]
    by_clock, by_other = (still, even) if stands_still else (even, still)
    if clock == "wall_time":
        columns = {"wall_time": [1.79e9 + each for each in by_clock]}
    else:
        hardware_ns = [5 * 10**12 + int(each * 1e9) for each in by_clock]
        columns = {"wall_time": [1.79e9 + each for each in by_other], "hardware_ns": hardware_ns}
    shutil.copy(key_file(list(range(300)), **columns), task / "data/chunk-000/episode-000.parquet")
    cam = task / SLOTS / "cam/episode-000.mp4"
    films.film(cam, *CODING, *(each.format(100) for each in DROPPED), seconds=(301 + tail) / 30)
    if stands_still:
        said = {-1: "the last row is left out: cam has 299 pictures for 300 frames",
                1: "no row shows the end of cam: 301 pictures for 300 frames"}  # fmt: skip
        assert plan_of(pooled(task.parent), "plain", 1).warnings == ((said[tail],) if tail else ())
    else:
        found = f"{300 + tail} pictures for 300 frames, and picture 100 at 3.367 s, after 3.300 s"
        expected = "it at 3.333 s, so that no picture is missing or doubled in the middle"
        assert faults_of(pooled(task.parent), "plain", 1) == [("cam", found, expected)]


@pytest.mark.parametrize(("slot", "coding"), [("cam", CODING), ("depth", ("-c:v", "ffv1", "-pix_fmt", "gray16le"))])
def test_a_picture_lost_in_an_mkv_is_told_where_another_one_makes_up_for_it(
    deep: Path, pooled: Make, films: Films, slot: str, coding: tuple[str, ...]
) -> None:
    for film in (deep / SLOTS / slot).glob("episode-001.*"):
        film.unlink()
    film = deep / SLOTS / slot / "episode-001.mkv"
    films.film(film, *coding, *(each.format(5) for each in DROPPED[:4]), seconds=13 / 30)
    ((field, found, _),) = faults_of(pooled(deep.parent, depth="lossless"), "deep", 2)
    assert (field, found) == (slot, "12 pictures for 12 frames, and picture 5 at 0.200 s, after 0.133 s")


def test_a_film_with_a_pause_has_the_rate_of_its_steps_and_is_parted_where_its_rows_are(
    spoiled: Callable[[str], Path], pooled: Make, films: Films, key_file: Callable[..., Path]
) -> None:
    """120 pictures in 5 s, for it stood still for one of these: 24 a second on the average."""
    task = spoiled("plain")
    wall_s = [1.79e9 + k / 30 + (k >= 50) for k in range(120)]
    shutil.copy(key_file(list(range(120)), wall_time=wall_s), task / "data/chunk-000/episode-000.parquet")
    cam = task / SLOTS / "cam/episode-000.mp4"
    pause = "settb=1/15360,setpts='512*N+if(gte(N,50),15360,0)'"
    films.film(cam, "-vf", pause, *DROPPED[2:], *CODING, "-video_track_timescale", "15360", seconds=4)
    assert [field for field, *_ in faults_of(pooled(task.parent), "plain", 1)] == ["wall_time"]
    source = pooled(task.parent, on_gap="split")
    index = list[int]()
    for piece, count in ((1, 50), (2, 70)):
        plan = source.plan(EpisodeKey("plain", f"episode_000001.{piece:02d}"))
        assert isinstance(plan, EpisodePlan), plan
        assert (plan.grid.n, plan.warnings) == (count, ())
        index += source.frame_plan(plan, "cam").frame_index.tolist()
    assert index == list(range(120))


def test_colour_that_begins_late_lacks_no_tail(spoiled: Callable[[str], Path], pooled: Make, films: Films) -> None:
    task = spoiled("plain")
    cam = task / SLOTS / "cam/episode-000.mp4"
    kept = shutil.move(cam, task / "kept.mp4")
    films.ffmpeg("-i", str(kept), "-vf", "select='gte(n,1)'", "-fps_mode", "passthrough", "-bf", "0", str(cam))
    told = faults_of(pooled(task.parent), "plain", 1)
    assert told == [("cam", "19 pictures for 20 frames, the first at 0.033 s", "the first at 0 s")]


def test_a_film_of_uneven_times_has_a_picture_for_every_frame(
    spoiled: Callable[[str], Path], pooled: Make, films: Films
) -> None:
    """All there, two of them late by more than half a frame: accepted, and said."""
    task = spoiled("plain")
    cam = task / SLOTS / "cam/episode-000.mp4"
    kept = shutil.move(cam, task / "kept.mp4")
    times = "settb=1/15360,setpts='512*N+if(between(N,10,11),512*0.6,0)'"
    films.ffmpeg("-i", str(kept), "-vf", times, *DROPPED[2:], "-bf", "0", "-video_track_timescale", "15360", str(cam))
    told = "the times of cam are uneven (picture 10 at 0.353 s, after 0.300 s), but it has a picture for every frame"
    assert plan_of(pooled(task.parent), "plain", 1).warnings == (told,)


@pytest.mark.parametrize(("size", "is_refused"), [("15x48", True), ("64x15", True), ("16x16", False)])
def test_depth_too_small_to_be_encoded_is_refused_before_it_is(
    spoiled: Callable[[str], Path], pooled: Make, films: Films, size: str, is_refused: bool
) -> None:
    task = spoiled("deep")
    depth = task / SLOTS / "depth/episode-001.mkv"
    kept = shutil.move(depth, task / "kept.mkv")
    films.ffmpeg("-i", str(kept), "-vf", f"crop={size.replace('x', ':')}", "-c:v", "ffv1", str(depth))
    plan = pooled(task.parent, depth="lossless").plan(EpisodeKey("deep", "episode_000002"))
    assert isinstance(plan, Rejected) == is_refused
    if isinstance(plan, Rejected):
        (fault,) = plan.faults
        width, height = size.split("x")
        assert (fault.found, fault.option) == (f"depth of {height}x{width} (height x width)", "+source.depth=false")
        assert fault.expected == "at least 16x16, for x265 takes no smaller ones"
    assert isinstance(pooled(task.parent).plan(EpisodeKey("deep", "episode_000002")), EpisodePlan)
