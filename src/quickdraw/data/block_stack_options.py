"""The options of block_stack, typed, and what each may be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf
from typing import Literal

from quickdraw.data.options import Check, Options, faults_of, is_size
from quickdraw.errors import Fault
from quickdraw.formats.campaign.health import HEALTHY
from quickdraw.formats.campaign.layout import CAMERAS
from quickdraw.video.codecs import CODECS, H264

CUBE_CAMERAS = ("scene_right", "gripper_right_top")  # of the views cubes are measured in, scene and wrist
MOST_PEAK_SATURATION = 0.9  # above it nothing is left to stand out


@dataclass(frozen=True, kw_only=True)
class Cube:
    """What counts as a cube."""

    min_value: float
    min_saturation: float
    peak_saturation: float
    min_area_px: float
    evidence_area_px: float
    evidence_share: float


@dataclass(frozen=True, kw_only=True)
class BlockStackOptions(Options):
    """Options of `+processor=block_stack`."""

    target_hz: int
    hw: tuple[int, ...]
    cameras: tuple[str, ...]
    require_green: bool
    allow_mixed_cameras: bool
    allow_mixed_control: bool
    allow_post_read: bool
    allow_simulated: bool
    allow_faults: tuple[str, ...]
    min_coverage: float
    max_gap_s: float
    objects: Literal["auto", "cube", "none"]
    cube: Cube

    @property
    def shows_cubes(self) -> bool:
        """Whether the views cubes are measured in are exported."""
        return set(CUBE_CAMERAS) <= set(self.cameras)

    @property
    def measures_cubes(self) -> bool:
        """Whether cubes are wanted, and can be measured."""
        return self.objects != "none" and self.shows_cubes


def block_stack_checks(source: BlockStackOptions) -> Iterator[Check]:
    """Of the options that only block_stack has."""
    most_hz = CODECS.get(source.video.codec, H264).most_hz
    yield 1 <= source.target_hz <= most_hz, "source.target_hz", source.target_hz, f"1 to {most_hz} Hz, whole"
    yield is_size(source.hw), "source.hw", source.hw, "[height,width], both even, 16 to 4320 px"
    yield from _acceptance_checks(source)
    yield from _camera_checks(source)
    yield from _cube_checks(source.cube)


def cube_faults(cube: Cube) -> list[Fault]:
    """Every threshold of `source.cube` outside its range."""
    return faults_of(_cube_checks(cube))


def cube_warnings(source: BlockStackOptions) -> Iterable[str]:
    """One where cubes are left out because a camera is."""
    if source.objects == "auto" and not source.shows_cubes:
        yield f"no observation.objects.cube: it is measured in {' and '.join(CUBE_CAMERAS)}, not both exported"


def _acceptance_checks(source: BlockStackOptions) -> Iterator[Check]:
    kinds = f"any of {', '.join(HEALTHY)}"
    yield set(source.allow_faults) <= set(HEALTHY), "source.allow_faults", source.allow_faults, kinds
    yield 0 <= source.min_coverage <= 1, "source.min_coverage", source.min_coverage, "0 to 1"
    yield 0 < source.max_gap_s < inf, "source.max_gap_s", source.max_gap_s, "above 0 s"


def _camera_checks(source: BlockStackOptions) -> Iterator[Check]:
    known = source.cameras and set(source.cameras) <= set(CAMERAS) and len(set(source.cameras)) == len(source.cameras)
    cameras = f"cameras with {' and '.join(CUBE_CAMERAS)}, or source.objects=none"
    yield bool(known), "source.cameras", source.cameras, f"different ones of {', '.join(CAMERAS)}"
    yield source.objects != "cube" or source.shows_cubes, "source.objects", source.objects, cameras


def _cube_checks(cube: Cube) -> Iterator[Check]:
    shares = ("min_value", "min_saturation", "peak_saturation", "evidence_share")
    for name, value in vars(cube).items():
        right, expected = (
            (0 < value <= 1, "above 0, at most 1") if name in shares else (1 <= value <= 1e6, "1 to 1e6 px")
        )
        if name == "peak_saturation":
            right, expected = 0 < value <= MOST_PEAK_SATURATION, f"above 0, at most {MOST_PEAK_SATURATION}"
        yield right, f"source.cube.{name}", value, expected
