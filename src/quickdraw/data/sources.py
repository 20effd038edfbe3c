"""Which source a processor's name stands for, made of the options of a build, wherever its tree is now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from quickdraw.data.block_stack import BlockStack
from quickdraw.errors import Fault, Refused
from quickdraw.formats.campaign.acceptance import Acceptance
from quickdraw.formats.campaign.layout import CAMERAS

if TYPE_CHECKING:
    from quickdraw.data.pooled_episodes.source import PooledEpisodes

type Rate = Annotated[int, msgspec.Meta(ge=1, le=1000)]
type Count = Annotated[int, msgspec.Meta(ge=1)]


class _BlockStackOptions(msgspec.Struct, frozen=True):
    target_hz: Rate
    cameras: tuple[str, ...]


class _Depth(msgspec.Struct, frozen=True):
    mode: Literal["none", "lossless", "copy"]


class _Video(msgspec.Struct, frozen=True):
    mode: Literal["encode", "copy"]
    gop: Count


class _Imu(msgspec.Struct, frozen=True):
    mode: Literal["window", "mean", "last"]
    samples: Count


class _PooledOptions(msgspec.Struct, frozen=True):
    """The options of a build as provenance.json tells them; `settled` once all episodes were planned."""

    target_hz: Rate
    cameras: tuple[str, ...]
    slots: dict[str, tuple[str, ...]]
    hw: tuple[Count, Count] | None
    depth: _Depth
    video: _Video
    fold: Literal["refuse", "first"]
    on_gap: Literal["refuse", "split"]
    max_gap_s: Annotated[float, msgspec.Meta(gt=0)]
    imu: _Imu
    force_matrices: Annotated[str, msgspec.Meta(pattern="^(none|sums|[1-9][0-9]*x[1-9][0-9]*)$")]
    clocks: bool
    state: tuple[str, ...]
    action: Literal["next_state"] | tuple[str, ...] | None
    settled: dict[str, Any] | None = None


def _block_stack(options: dict[str, Any], tree: Path) -> BlockStack:
    """Raises msgspec.ValidationError."""
    told = msgspec.convert(options, _BlockStackOptions)
    if not told.cameras or not set(told.cameras) <= set(CAMERAS):
        raise msgspec.ValidationError(f"cameras {list(told.cameras)}, of {', '.join(CAMERAS)}")
    # Every field of an acceptance is the option of its name.
    return BlockStack(tree, told.target_hz, told.cameras, msgspec.convert(options, Acceptance))


def _pooled_episodes(options: dict[str, Any], tree: Path) -> PooledEpisodes:
    """Raises msgspec.ValidationError."""
    # Here, for they cost Arrow and PyAV, and whoever builds from campaigns has to do with neither format nor depth.
    from quickdraw.data.pooled_episodes.options import PooledOptions
    from quickdraw.data.pooled_episodes.settling import of_document
    from quickdraw.data.pooled_episodes.source import PooledEpisodes

    told = msgspec.convert(options, _PooledOptions)
    same = ("target_hz", "cameras", "slots", "hw", "fold", "on_gap", "max_gap_s", "force_matrices", "clocks", "state")
    chosen = PooledOptions(
        **{name: getattr(told, name) for name in same},
        action=told.action,
        depth=told.depth.mode,
        video_mode=told.video.mode,
        gop=told.video.gop,
        imu_mode=told.imu.mode,
        imu_samples=told.imu.samples,
    )
    return PooledEpisodes(tree, chosen, None if told.settled is None else of_document(told.settled))


SOURCES: dict[str, Callable[[dict[str, Any], Path], BlockStack | PooledEpisodes]] = {
    BlockStack.processor: _block_stack,
    "pooled_episodes": _pooled_episodes,
}


def source_of(processor: str, options: Mapping[str, Any], tree: Path) -> BlockStack | PooledEpisodes:
    """The source of a dataset. Raises Refused where there is no such processor, or its options are none of its own."""
    if processor not in SOURCES:
        raise Refused([Fault("source", "processor", repr(processor), f"one of {', '.join(SOURCES)}")])
    try:
        return SOURCES[processor](dict(options), tree)
    except msgspec.ValidationError as error:
        raise Refused([Fault("source", "options", f"malformed ({error})", f"those of {processor}")]) from error
