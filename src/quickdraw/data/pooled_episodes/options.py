"""The options of pooled_episodes, typed, for all that asks for them: command, provenance and source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import msgspec

from quickdraw.data.options import Options, ValByRule, Video, as_json

NEXT_STATE = "next_state"


@dataclass(frozen=True, kw_only=True)
class PooledVideo(Video):
    """How pictures are encoded, or that they are copied; `gop` is the most pictures between keyframes either way."""

    mode: Literal["encode", "copy"]


@dataclass(frozen=True)
class Depth:
    """How depth is shown."""

    mode: Literal["none", "lossless", "copy"]


@dataclass(frozen=True)
class Imu:
    """How a row's samples are taken."""

    mode: Literal["window", "mean", "last"]
    samples: int


@dataclass(frozen=True, kw_only=True)
class RecordedOptions:
    """What is made of each episode: the options that its plan, its rows and its pictures depend on.

    `cameras` are the slots or names shown; empty is all of an episode. `slots` is camera -> the names its slot bore in
    one episode or another. `hw` is the size (height, width) [px] colour is encoded at, None as recorded. A gap longer
    than `max_gap_s` [s] refuses an episode or splits it. `force_matrices` is none, sums, or HxW. `state` and `action`
    name features, in the order they are put together.
    """

    cameras: tuple[str, ...]
    slots: dict[str, tuple[str, ...]] = field(hash=False)
    hw: tuple[int, ...] | None
    depth: Depth
    video: PooledVideo
    fold: Literal["refuse", "first"]
    on_gap: Literal["refuse", "split"]
    max_gap_s: float
    imu: Imu
    force_matrices: str
    clocks: bool
    state: tuple[str, ...]
    action: str | tuple[str, ...] | None


@dataclass(frozen=True, kw_only=True)
class PooledSource(RecordedOptions, Options, ValByRule):
    """Options of `+processor=pooled_episodes`."""

    video: PooledVideo


@dataclass(frozen=True, kw_only=True)
class PooledOptions(RecordedOptions):
    """What the source is asked for: the options, and `target_hz`, the frames a second of every task."""

    target_hz: Annotated[int, msgspec.Meta(ge=1, le=1000)]

    def flat(self) -> Mapping[str, Any]:
        """Every option that a plan or a row depends on, JSON-ready, by the names that fingerprints know them by."""
        told = as_json(self)
        depth, imu, video = told.pop("depth"), told.pop("imu"), told.pop("video")
        modes = {"depth": depth["mode"], "video_mode": video["mode"], "gop": video["gop"]}
        return {**told, **modes, "imu_mode": imu["mode"], "imu_samples": imu["samples"]}
