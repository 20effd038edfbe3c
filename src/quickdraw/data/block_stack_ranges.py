"""What each option of block_stack may be."""

from __future__ import annotations

from math import inf

from quickdraw.data.options import BlockStackSource, Config, Cube
from quickdraw.data.ranges import Check, faults_of, is_size, place_checks, split_checks, video_checks
from quickdraw.errors import Fault
from quickdraw.video.codecs import CODECS, H264

OBJECTS = ("auto", "cube", "none")

MOST_PEAK_SATURATION = 0.9  # above it nothing is left to stand out


def block_stack_faults(config: Config[BlockStackSource]) -> list[Fault]:
    """Every option outside its range."""
    source = config.source
    most_hz = CODECS.get(source.video.codec, H264).most_hz
    return faults_of(
        [
            *place_checks(config, "a raw campaign tree"),
            (1 <= source.target_hz <= most_hz, "source.target_hz", source.target_hz, f"1 to {most_hz} Hz, whole"),
            (is_size(source.hw), "source.hw", source.hw, "[height,width], both even, 16 to 4320 px"),
            *split_checks(source, 1),
            *_acceptance_checks(source),
            *video_checks(source.video),
            *_camera_checks(source),
            *_cube_checks(source.cube),
        ]
    )


def cube_faults(cube: Cube) -> list[Fault]:
    """Every threshold of `source.cube` outside its range."""
    return faults_of(_cube_checks(cube))


def _acceptance_checks(source: BlockStackSource) -> list[Check]:
    from quickdraw.formats.campaign.health import HEALTHY

    kinds = f"any of {', '.join(HEALTHY)}"
    return [
        (set(source.allow_faults) <= set(HEALTHY), "source.allow_faults", source.allow_faults, kinds),
        (0 <= source.min_coverage <= 1, "source.min_coverage", source.min_coverage, "0 to 1"),
        (0 < source.max_gap_s < inf, "source.max_gap_s", source.max_gap_s, "above 0 s"),
    ]


def _camera_checks(source: BlockStackSource) -> list[Check]:
    from quickdraw.data.block_stack import CUBE_CAMERAS
    from quickdraw.formats.campaign.layout import CAMERAS

    known = source.cameras and set(source.cameras) <= set(CAMERAS) and len(set(source.cameras)) == len(source.cameras)
    pictured = set(CUBE_CAMERAS) <= set(source.cameras)
    cameras = f"cameras with {' and '.join(CUBE_CAMERAS)}, or source.objects=none"
    return [
        (bool(known), "source.cameras", source.cameras, f"different ones of {', '.join(CAMERAS)}"),
        (source.objects in OBJECTS, "source.objects", source.objects, f"one of {', '.join(OBJECTS)}"),
        (source.objects != "cube" or pictured, "source.objects", source.objects, cameras),
    ]


def _cube_checks(cube: Cube) -> list[Check]:
    shares = ("min_value", "min_saturation", "peak_saturation", "evidence_share")
    checks: list[Check] = []
    for name, value in vars(cube).items():
        right, expected = (
            (0 < value <= 1, "above 0, at most 1") if name in shares else (1 <= value <= 1e6, "1 to 1e6 px")
        )
        if name == "peak_saturation":
            right, expected = 0 < value <= MOST_PEAK_SATURATION, f"above 0, at most {MOST_PEAK_SATURATION}"
        checks.append((right, f"source.cube.{name}", value, expected))
    return checks
