"""The options of each processor, typed. Defaults, units and reasons stand in configs/, one file a processor."""

from __future__ import annotations

from dataclasses import dataclass

from quickdraw.video.codecs import CODECS


@dataclass
class Video:
    """How pictures are encoded."""

    codec: str
    crf: int | None
    preset: str | None
    gop: int

    def resolve(self) -> None:
        """Put the codec's own where no crf or preset is given; left as it is where there is no such codec."""
        codec = CODECS.get(self.codec)
        if codec is not None:
            self.crf = codec.crf if self.crf is None else self.crf
            self.preset = codec.preset if self.preset is None else self.preset


@dataclass
class PooledVideo(Video):
    """The same, or that pictures are copied."""

    mode: str


@dataclass
class Depth:
    """How depth is shown."""

    mode: str


@dataclass
class Imu:
    """How a row's samples are taken."""

    mode: str
    samples: int


@dataclass
class Cube:
    """What counts as a cube."""

    min_value: float
    min_saturation: float
    peak_saturation: float
    min_area_px: float
    evidence_area_px: float
    evidence_share: float


@dataclass
class BlockStackSource:
    """Options of `+processor=block_stack`."""

    dir: str | None
    name: str
    target_hz: int
    hw: list[int]
    cameras: list[str]
    workers: int | None
    val_frac: float
    val_floor: int
    val_runs: list[str]
    val_from: str | None
    eval_globs: list[str]
    exclude_globs: list[str]
    max_runs_per_campaign: int
    on_bad_run: str
    require_green: bool
    allow_mixed_cameras: bool
    allow_mixed_control: bool
    allow_post_read: bool
    allow_simulated: bool
    allow_faults: list[str]
    min_coverage: float
    max_gap_s: float
    rehash: bool
    video: Video
    lerobot_stats: str
    objects: str
    cube: Cube


@dataclass
class PooledSource:
    """Options of `+processor=pooled_episodes`. What it shares with the other is of the same name and type there."""

    dir: str | None
    name: str
    hw: list[int] | None
    cameras: list[str]
    slots: dict[str, list[str]]
    depth: Depth
    video: PooledVideo
    fold: str
    on_gap: str
    max_gap_s: float
    imu: Imu
    force_matrices: str
    clocks: bool
    state: list[str]
    action: str | list[str] | None
    workers: int | None
    val_frac: float
    val_floor: int
    val_rule: str
    seed: int
    val_runs: list[str]
    val_from: str | None
    eval_globs: list[str]
    exclude_globs: list[str]
    max_runs_per_campaign: int
    on_bad_run: str
    rehash: bool
    lerobot_stats: str


type Source = BlockStackSource | PooledSource
SOURCES: dict[str, type[BlockStackSource] | type[PooledSource]] = {
    "block_stack": BlockStackSource,
    "pooled_episodes": PooledSource,
}


@dataclass
class Output:
    """Where the dataset goes."""

    dir: str | None


@dataclass
class Config[S: Source]:
    """One command, whole. A key that configs/ does not give is an error, not a zero."""

    source: S
    output: Output
    dry_run: bool
