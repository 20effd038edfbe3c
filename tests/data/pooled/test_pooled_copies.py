"""What keeps a camera of an episode from being copied, and where a copy may begin."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import pytest

from quickdraw.core.episode import EpisodeKey, EpisodePlan, Rejected
from quickdraw.core.grid import Int64
from quickdraw.data.command_line.composing import default_config
from quickdraw.data.options import as_json
from quickdraw.data.pooled_episodes.copies import copy_faults
from quickdraw.data.pooled_episodes.options import Depth, PooledOptions
from quickdraw.data.pooled_episodes.slots import Shown
from quickdraw.data.pooled_episodes.source import PooledEpisodes
from quickdraw.video.copying import CopiedStream
from quickdraw.video.times import Times

OPTIONS = msgspec.convert(as_json(default_config("pooled_episodes").source) | {"target_hz": 30}, PooledOptions)

type Make = Callable[..., PooledEpisodes]
type Films = Any

WHERE = "t/episode_000001"
SLOTS = "videos/chunk-000"


SOUND = CopiedStream(
    codec="h264",
    pix_fmt="yuv420p",
    height_px=48,
    width_px=64,
    pictures=10,
    gop=5,
    reordered=False,
    configuration="0" * 64,
    full_range=True,
    restarts=(0, 5),
    times=Times(np.arange(10) / 30),
)


def copied(**facts: Any) -> CopiedStream:
    return replace(SOUND, **facts)


def reasons(
    stream: CopiedStream | None,
    options: PooledOptions,
    kind: Literal["rgb", "depth"] = "rgb",
    *,
    index: Int64 | None = None,
    starts: int = 0,
) -> list[tuple[str, str, str]]:
    shown = Shown(
        camera="a", slot="a_slot", kind=kind, path=Path("/t/a.mp4"), stream=0,
        height_px=48, width_px=64, rate_hz=30.0, times=SOUND.times, copied=stream,
    )  # fmt: skip
    told = [*copy_faults(shown, np.arange(10) if index is None else index, starts, options, WHERE)]
    assert all((fault.where, fault.field, fault.path) == (WHERE, "a_slot", "/t/a.mp4") for fault in told)
    return [(fault.found, fault.expected, fault.option) for fault in told]


COPY = replace(OPTIONS, video=replace(OPTIONS.video, mode="copy"), depth=Depth("copy"))
ENCODE = "+source.video.mode=encode"
COPIED = as_json(COPY.video)


def test_a_stream_that_can_be_cut_and_joined_is_copied() -> None:
    assert reasons(copied(), COPY) == []
    assert reasons(copied(codec="hevc"), replace(COPY, hw=(48, 64))) == []
    assert reasons(copied(), COPY, index=np.arange(5, 10)) == []
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
    hole = ("rows that pass over pictures", "a row for every picture where it is copied", ENCODE)
    assert reasons(copied(), COPY, index=np.array([0, 1, 3])) == [hole]


@pytest.mark.parametrize(("restarts", "named"), [((0, 5), "0, 5"), ((0, 3, 6, 9), "0, 3, 6, ..."), ((), "none")])
def test_a_copy_begins_where_decoding_can(restarts: tuple[int, ...], named: str) -> None:
    told = f"from a keyframe on that a clip can begin at ({named}) where it is copied"
    assert reasons(copied(restarts=restarts), COPY, index=np.arange(2, 10)) == [
        ("rows that show pictures from 2 on", told, ENCODE)
    ]


def test_depth_is_copied_as_codes_of_full_range_from_the_first_frame() -> None:
    option = "+source.depth.mode=lossless"
    late = ("depth that begins at frame 3", "depth from the first frame on where it is copied", option)
    scaled = ("depth codes not flagged full range (pc)", "full range where they are copied", option)
    metres = ("millimetres in FFV1", "logarithmic codes where it is copied", option)
    assert reasons(copied(full_range=False), COPY, "depth", starts=3) == [scaled, late]
    assert reasons(None, COPY, "depth") == [metres]


@pytest.fixture
def recorded(spoiled: Callable[[str], Path], films: Films) -> Path:
    """A task whose first episode has a keyframe every 5 pictures, and no B-frames."""
    task = spoiled("plain")
    video = task / SLOTS / "cam/episode-000.mp4"
    films.ffmpeg("-i", str(shutil.move(video, task / "kept.mp4")), *films.recorder, str(video))
    return task


def test_an_episode_is_planned_to_be_copied(recorded: Path, pooled: Make) -> None:
    source = pooled(recorded.parent, video=COPIED | {"gop": 9})
    plan = source.plan(EpisodeKey("plain", "episode_000001"))
    assert isinstance(plan, EpisodePlan)
    stream = plan.holds["cameras"]["cam"]["stream"]
    told = {name: stream[name] for name in ("codec", "pix_fmt", "gop", "reordered")}
    assert told == {"codec": "h264", "pix_fmt": "yuv420p", "gop": 5, "reordered": False}
    assert {trait.name for trait in plan.traits} >= {"stream of cam", "size of cam"}
    other = source.plan(EpisodeKey("plain", "episode_000002"))
    assert isinstance(other, Rejected)
    video = recorded / SLOTS / "cam/episode-001.mp4"
    assert [str(fault) for fault in other.faults] == [
        f"{other.key}: {video}: cam: found pictures shown in another order than decoded (B-frames),"
        f" expected none where it is copied; override: {ENCODE}",
        f"{other.key}: {video}: cam: found keyframes 20 pictures apart,"
        " expected at most 9 where it is copied; override: +source.video.gop=20",
    ]


@pytest.mark.parametrize(("hole_after", "is_copied"), [(9, True), (7, False)])
def test_a_later_piece_is_copied_where_it_begins_at_a_keyframe(
    recorded: Path, pooled: Make, put: Callable[..., None], hole_after: int, is_copied: bool
) -> None:
    rows = np.arange(20)
    stamps = 5 * 10**12 + rows * 33_333_333 + (rows > hole_after) * 10**9
    put(recorded / "data/chunk-000/episode-000.parquet", hardware_ns=stamps)
    source = pooled(recorded.parent, video=COPIED, on_gap="split")
    plan = source.plan(EpisodeKey("plain", "episode_000001.02"))
    if is_copied:
        assert isinstance(plan, EpisodePlan)
        assert source.frame_plan(plan, "cam").frame_index.tolist() == list(range(10, 20))
    else:
        assert isinstance(plan, Rejected)
        (fault,) = plan.faults
        assert fault.found == "rows that show pictures from 8 on"
        assert fault.expected == "from a keyframe on that a clip can begin at (0, 5, 10, ...) where it is copied"
