"""Everything that keeps an episode from being planned: the whole message, and never a traceback."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from quickdraw.core.episode import EpisodeKey, EpisodePlan, Rejected
from quickdraw.data.pooled_episodes import features, source
from quickdraw.data.pooled_episodes.source import PooledEpisodes

type Make = Callable[..., PooledEpisodes]
type Take = Any  # of conftest.py
type Spoil = Callable[[Take], Any]

KEY = EpisodeKey("plain", "episode_000001")
LEFT_ALONE = "expected a source left alone while it is built"


def rejected(found: EpisodePlan | Rejected) -> list[str]:
    assert isinstance(found, Rejected)
    assert all(fault.where == str(found.key) for fault in found.faults)
    return [str(fault).removeprefix(f"{found.key}: ") for fault in found.faults]


def stalled() -> np.ndarray[Any, Any]:
    return 5_000_000_000_000 + np.arange(20) * 33_333_333 + (np.arange(20) > 6) * 700_000_000


def lead_away(path: Path) -> None:
    path.unlink()
    path.symlink_to("/nowhere/at/all")


REFUSED: dict[str, tuple[Spoil, str]] = {
    "no data": (lambda t: t.data.unlink(), "{data}: data: found no data file, expected one beside its videos"),
    "no video": (lambda t: t.cam.unlink(), "{data}: videos: found no video, expected one beside its data file"),
    "a video nobody plays": (
        lambda t: t.cam.rename(t.cam.with_suffix(".avi")),
        "{data}: videos: found no video, expected one beside its data file",
    ),
    "another rate": (
        lambda t: t.info(fps=25),
        "{root}/meta/info.json: fps: found 25, expected 30, as the other tasks;"
        " override: +source.exclude_globs=[...,plain]",
    ),
    "rows without data": (lambda t: t.keep(0), "{data}: rows: found none, expected a row for each frame"),
    "no key": (
        lambda t: t.put(frame_index=None),
        "{data}: frame_index: found no such column, expected int64",
    ),
    "a float stamp": (
        lambda t: t.put(hardware_ns=pa.array(np.zeros(20))),
        "{data}: hardware_ns: found type double, expected int64",
    ),
    "a null stamp": (
        lambda t: t.put(hardware_ns=pa.array([None, *range(1, 20)], pa.int64())),
        "{data}: hardware_ns: found 1 nulls, expected a sound column without nulls",
    ),
    "no time": (
        lambda t: t.put(wall_time=pa.array([1.0, np.inf] * 10)),
        "{data}: wall_time: found inf in row 1, expected seconds in every row",
    ),
    "numbers that fall": (
        lambda t: t.put(frame_index=pa.array([1, 0, *range(2, 20)])),
        "{data}: frame_index: found 0 in row 1, after 1 in row 0, expected numbers that rise from frame to frame",
    ),
    "rows apart": (
        lambda t: t.put(frame_index=pa.array([0, 0, *range(2, 20)])),
        "{data}: frame_index: found rows 0 and 1 of frame 0 with stamps of 5100000000000 and 5100033333333 ns,"
        " expected rows of one frame with one timestamp and one hardware_ns; override: +source.fold=first",
    ),
    "a gap": (
        lambda t: t.put(hardware_ns=pa.array(stalled())),
        "{data}: hardware_ns: found 0.733 s between rows 6 and 7, expected at most 0.5 s between frames;"
        " override: +source.on_gap=split",
    ),
    "a video too short": (
        lambda t: t.film("-frames:v", "18"),
        "{cam}: cam: found 18 pictures, expected 20, one a frame, or one more or less",
    ),
    "rows too few": (
        lambda t: t.keep(5),
        "{cam}: cam: found 20 pictures, expected 5, one a frame, or one more or less",
    ),
    "another film rate": (
        lambda t: t.film("-vf", "setpts=N/(25*TB)", "-r", "25"),
        "{cam}: cam: found 25 pictures a second, expected 30, as the task has",
    ),
    "two videos": (
        lambda t: shutil.copy(t.cam, t.cam.with_suffix(".mkv")),
        "{slot}: cam: found episode-000.mkv and episode-000.mp4, expected one video of an episode and slot",
    ),
    "no parquet": (
        lambda t: t.data.write_bytes(b"PAR1 not really PAR1"),
        "{data}: file: found unreadable (",
    ),
    "an empty file": (lambda t: t.data.write_bytes(b""), "{data}: file: found unreadable ("),
    "cut data": (lambda t: t.data.write_bytes(t.data.read_bytes()[:-500]), "{data}: file: found unreadable ("),
    "an empty video": (lambda t: t.cam.write_bytes(b""), "{cam}: cam: found unreadable ("),
    "no film": (lambda t: t.cam.write_bytes(b"text" * 99), "{cam}: cam: found unreadable ("),
    "a cut video": (
        lambda t: t.cam.write_bytes(t.cam.read_bytes()[:-100]),
        "{cam}: cam: found ",
    ),
    "a link to nothing": (
        lambda t: lead_away(t.cam),
        "{cam}: cam: found unreadable (No such file or directory), expected a whole video",
    ),
    "data on a disk that is away": (
        lambda t: lead_away(t.data),
        "{data}: file: found unreadable (",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_episode_is_refused_with_the_place_and_what_would_be_right(take: Take, pooled: Make, name: str) -> None:
    spoil, told = REFUSED[name]
    spoil(take)
    (found,) = rejected(pooled(take.root.parent).plan(KEY))
    expected = told.format(data=take.data, cam=take.cam, slot=take.cam.parent, root=take.root)
    if expected.endswith(("(", "found ")):  # the rest are words of Arrow's or ffmpeg's
        assert found.startswith(expected)
        assert ", expected a" in found
    else:
        assert found == expected


def test_the_other_episode_is_planned_all_the_same(take: Take, pooled: Make) -> None:
    take.data.unlink()
    assert isinstance(pooled(take.root.parent).plan(EpisodeKey("plain", "episode_000002")), EpisodePlan)


def test_all_that_is_wrong_is_told_at_once(take: Take, pooled: Make) -> None:
    take.film("-frames:v", "15", "-vf", "setpts=N/(25*TB)", "-r", "25")
    stamps = pa.array([[], *([0] for _ in range(19))], pa.list_(pa.int64()))
    take.put(hardware_ns=pa.array(stalled()), imu_ts_ns=stamps)
    found = rejected(pooled(take.root.parent).plan(KEY))
    assert [each.split(": ")[1] for each in found] == ["hardware_ns", "cam", "observation.imu"]
    take.film("-frames:v", "15")
    found = rejected(pooled(take.root.parent).plan(KEY))
    fields = ["hardware_ns", "cam", "observation.imu"]
    assert [each.split(": ")[1] for each in found] == fields


def test_the_only_row_of_a_piece_without_a_picture_leaves_nothing(take: Take, pooled: Make) -> None:
    take.put(hardware_ns=pa.array(stalled() + (np.arange(20) > 18) * 2_000_000_000))
    take.film("-frames:v", "19")
    split = pooled(take.root.parent, on_gap="split")
    runs = [key.run for key in split.campaign("plain").runs]
    assert runs[:3] == ["episode_000001.01", "episode_000001.02", "episode_000001.03"]
    assert rejected(split.plan(EpisodeKey("plain", runs[2]))) == [
        f"{take.data}: rows: found none that has a picture, expected one or more"
    ]
    kept = split.plan(EpisodeKey("plain", runs[1]))
    assert isinstance(kept, EpisodePlan)
    assert (kept.frames, kept.provenance["trimmed_rows"]) == (12, 0)


@pytest.mark.parametrize("run", ["episode_000007", "run_0001", "episode_7"])
def test_an_episode_that_is_not_there_is_rejected(take: Take, pooled: Make, run: str) -> None:
    found = rejected(pooled(take.root.parent).plan(EpisodeKey("plain", run)))
    named = f"{run!r}, expected a name as episode_000012"
    gone = f"none of its files, {LEFT_ALONE}"
    assert found == [f"{take.root}: episode: found {gone if run == 'episode_000007' else named}"]
    assert rejected(pooled(take.root.parent).plan(EpisodeKey("other", "episode_000001")))[0].startswith(
        f"{take.root.parent / 'other'}: task: found no such folder, expected "
    )


def test_files_that_go_while_an_episode_is_planned_are_told(
    take: Take, pooled: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the folder was listed, and before a file is opened."""
    real = source._row_file

    def meanwhile(*arguments: Any) -> str:
        take.data.unlink(missing_ok=True)
        take.cam.unlink(missing_ok=True)
        return real(*arguments)

    monkeypatch.setattr(source, "_row_file", meanwhile)
    found = rejected(pooled(take.root.parent).plan(KEY))
    expected = "found unreadable (No such file or directory), expected a"
    assert [each.split(", expected a")[0] + ", expected a" for each in found] == [
        f"{take.data}: file: found unreadable ([Errno 2] No such file or directory: '{take.data}'), expected a",
        f"{take.cam}: cam: {expected}",
    ]


def test_a_data_file_that_is_replaced_while_it_is_read_is_told(
    take: Take, pooled: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its key columns and its samples, by one of fewer rows."""
    real = features.hold

    def meanwhile(*arguments: Any) -> Any:
        take.keep(4)
        return real(*arguments)

    monkeypatch.setattr(features, "hold", meanwhile)
    assert rejected(pooled(take.root.parent).plan(KEY)) == [
        f"{take.data}: file: found replaced while it was read, {LEFT_ALONE}"
    ]


def test_a_fault_of_ours_is_no_fault_of_the_episode(take: Take, pooled: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def ours(*_: Any) -> Any:
        raise IndexError("ours")

    monkeypatch.setattr(features, "hold", ours)
    with pytest.raises(IndexError, match="ours"):
        pooled(take.root.parent).plan(KEY)


def test_a_video_that_came_while_an_episode_was_planned_is_told(
    take: Take, pooled: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = source._stamps

    def before(*arguments: Any) -> Any:
        return {name: stamp for name, stamp in real(*arguments).items() if not name.endswith(".mp4")}

    monkeypatch.setattr(source, "_stamps", before)
    assert rejected(pooled(take.root.parent).plan(KEY)) == [
        f"{take.cam}: episode-000.mp4: found there only now, {LEFT_ALONE}"
    ]


@pytest.mark.parametrize("kind", ["data", "cam"])
def test_a_file_that_may_not_be_read_is_told(
    take: Take, pooled: Make, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Also to root, to whom nothing is forbidden: opening it fails as it would for others."""
    forbidden, real = {"data": take.data, "cam": take.cam}[kind], Path.open

    def refusing(path: Path, *arguments: Any, **more: Any) -> Any:
        if path == forbidden:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path, *arguments, **more)

    monkeypatch.setattr(Path, "open", refusing)
    (found,) = rejected(pooled(take.root.parent).plan(KEY))
    assert found.startswith(f"{forbidden}: ")
    assert "Permission denied" in found


@pytest.mark.parametrize("seed", range(6))
def test_whatever_bytes_are_lost_an_episode_is_planned_or_rejected(take: Take, pooled: Make, seed: int) -> None:
    """Eight damaged copies of both files: no traceback, and nothing that takes the process down."""
    tree, random = pooled(take.root.parent), np.random.default_rng(seed)
    for path in (take.data, take.cam):
        whole = path.read_bytes()
        for _ in range(8):
            damaged = bytearray(whole)
            at = int(random.integers(0, len(whole)))
            damaged[at : at + int(random.integers(1, 64))] = random.bytes(int(random.integers(0, 64)))
            path.write_bytes(damaged)
            assert isinstance(tree.plan(KEY), EpisodePlan | Rejected)
        path.write_bytes(whole)
