"""The source of pooled episodes a dataset was built from, by the options its provenance tells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from quickdraw.core.episode import EpisodeKey, EpisodePlan
from quickdraw.data.command_line.composing import default_config
from quickdraw.data.options import as_json
from quickdraw.data.pooled_episodes.options import Depth, Imu, PooledOptions, PooledVideo
from quickdraw.data.pooled_episodes.settling import as_document, settle
from quickdraw.data.pooled_episodes.source import PooledEpisodes
from quickdraw.errors import Refused

OPTIONS = msgspec.convert(as_json(default_config("pooled_episodes").source) | {"target_hz": 30}, PooledOptions)

type Make = Callable[..., PooledEpisodes]


def test_options_are_those_of_the_command(pooled: Make) -> None:
    told = {
        "cameras": ["a"],
        "slots": {"a": ["b", "c"]},
        "hw": [48, 64],
        "video": {"mode": "copy", "gop": 9, "codec": "h264", "crf": None, "preset": None},
        "fold": "first",
        "on_gap": "split",
        "max_gap_s": 1,
        "imu": {"mode": "mean", "samples": 4},
        "force_matrices": "25x50",
        "clocks": True,
        "state": ["slam_pose"],
        "action": ["gripper_state"],
        "name": "not ours",
    }
    assert pooled(Path("/t"), depth="copy", **told) == PooledEpisodes(
        Path("/t"),
        replace(
            OPTIONS,
            target_hz=30,
            cameras=("a",),
            slots={"a": ("b", "c")},
            hw=(48, 64),
            depth=Depth("copy"),
            video=PooledVideo(mode="copy", gop=9, codec="h264", crf=None, preset=None),
            fold="first",
            on_gap="split",
            max_gap_s=1.0,
            imu=Imu("mean", 4),
            force_matrices="25x50",
            clocks=True,
            state=("slam_pose",),
            action=("gripper_state",),
        ),
    )
    assert pooled(Path("/t"), state=["slam_pose"], action="next_state").options.action == "next_state"


def test_what_was_settled_comes_back_from_json(simulated: Path, pooled: Make) -> None:
    source = pooled(simulated, depth="lossless", clocks=True)
    plan = source.plan(EpisodeKey("deep", "episode_000002"))
    assert isinstance(plan, EpisodePlan)
    settled = replace(source, settled=settle([plan], source.options))
    assert settled.settled is not None
    document = msgspec.json.decode(msgspec.json.encode(as_document(settled.settled)))
    again = pooled(simulated, depth="lossless", clocks=True, settled=document)
    assert again == settled
    assert again.reading() == settled.reading()
    assert again.rows(plan).keys() == {"hardware_ns", "wall_time_ns"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"target_hz": 29.97},
        {"target_hz": 0},
        {"cameras": None},
        {"hw": [0, 4]},
        {"slots": ["a"]},
        {"depth": "lossy"},
        {"video": {"mode": "encode"}},
        {"imu": {"mode": "all", "samples": 8}},
        {"force_matrices": "25 x 25"},
        {"max_gap_s": 0},
        {"action": "state"},
        {"settled": {"features": 3}},
    ],
)
def test_options_of_other_kinds_are_refused(pooled: Make, wrong: dict[str, Any]) -> None:
    with pytest.raises(Refused, match=r"source: options: found malformed \(.+\), expected those of pooled_episodes"):
        pooled(Path("/t"), **wrong)
