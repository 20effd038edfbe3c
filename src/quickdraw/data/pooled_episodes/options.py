"""What one is asked for of pooled episodes: all that plans and rows depend on besides the files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

NEXT_STATE = "next_state"


@dataclass(frozen=True, slots=True)
class PooledOptions:
    """Options of the source, each as `source.<name>` of the command.

    `target_hz` is the frames a second of every task. `cameras` are the slots or names shown; empty is all of an
    episode. `slots` is camera -> the names its slot bore in one episode or another. `hw` is the size (height, width)
    [px] colour is encoded at, None as recorded; `gop` the most pictures between keyframes. A gap longer than
    `max_gap_s` [s] refuses an episode or splits it. `force_matrices` is none, sums, or HxW. `state` and `action` name
    features, in the order they are put together.
    """

    target_hz: int
    cameras: tuple[str, ...] = ()
    slots: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    hw: tuple[int, int] | None = None
    depth: Literal["none", "lossless", "copy"] = "none"
    video_mode: Literal["encode", "copy"] = "encode"
    gop: int = 30
    fold: Literal["refuse", "first"] = "refuse"
    on_gap: Literal["refuse", "split"] = "refuse"
    max_gap_s: float = 0.5
    imu_mode: Literal["window", "mean", "last"] = "window"
    imu_samples: int = 8
    force_matrices: str = "sums"
    clocks: bool = False
    state: tuple[str, ...] = ()
    action: tuple[str, ...] | Literal["next_state"] | None = None
