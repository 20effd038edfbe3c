"""What each option may be."""

from __future__ import annotations

from math import inf
from typing import Any

from quickdraw.data.config import BlockStackSource, Config, Cube, Video
from quickdraw.errors import COMMAND_LINE, Fault
from quickdraw.video.codecs import CODECS, H264

OBJECTS = ("auto", "cube", "none")

MOST_PEAK_SATURATION = 0.9  # above it nothing is left to stand out

type Check = tuple[bool, str, Any, str]  # whether it is right, option, value, what would be right


def range_faults(config: Config) -> list[Fault]:
    """Every option outside its range."""
    from quickdraw.data.block_stack import CUBE_CAMERAS
    from quickdraw.formats.campaign.layout import CAMERAS

    source = config.source
    most_hz = CODECS.get(source.video.codec, H264).most_hz
    even = len(source.hw) == 2 and all(16 <= size <= 4320 and size % 2 == 0 for size in source.hw)
    known = source.cameras and set(source.cameras) <= set(CAMERAS) and len(set(source.cameras)) == len(source.cameras)
    plain = source.name not in ("", ".", "..") and "/" not in source.name and source.name.isprintable()
    pictured = set(CUBE_CAMERAS) <= set(source.cameras)
    cameras = f"cameras with {' and '.join(CUBE_CAMERAS)}, or source.objects=none"
    checks: list[Check] = [
        (bool(source.dir), "source.dir", source.dir, "a raw campaign tree"),
        (config.output.dir != "", "output.dir", repr(config.output.dir), "a folder, or null"),
        (plain, "source.name", source.name, "a folder name"),
        (1 <= source.target_hz <= most_hz, "source.target_hz", source.target_hz, f"1 to {most_hz} Hz, whole"),
        (even, "source.hw", source.hw, "[height,width], both even, 16 to 4320 px"),
        (bool(known), "source.cameras", source.cameras, f"different ones of {', '.join(CAMERAS)}"),
        (source.workers is None or 1 <= source.workers <= 512, "source.workers", source.workers, "1 to 512, or null"),
        (0 < source.val_frac < 1, "source.val_frac", source.val_frac, "between 0 and 1"),
        (source.val_floor >= 1, "source.val_floor", source.val_floor, "at least 1"),
        (source.val_from != "", "source.val_from", repr(source.val_from), "a built dataset, or null"),
        (not (source.val_runs and source.val_from), "source.val_from", source.val_from, "not together with val_runs"),
        (source.max_runs_per_campaign >= 0, "source.max_runs_per_campaign", source.max_runs_per_campaign, "0 or more"),
        *_bad_run_checks(source),
        *_video_checks(source.video),
        (source.objects in OBJECTS, "source.objects", source.objects, f"one of {', '.join(OBJECTS)}"),
        (source.objects != "cube" or pictured, "source.objects", source.objects, cameras),
        *_cube_checks(source.cube),
        (source.lerobot_stats in ("train", "split"), "source.lerobot_stats", source.lerobot_stats, "train or split"),
    ]
    return _faults(checks)


def _bad_run_checks(source: BlockStackSource) -> list[Check]:
    from quickdraw.formats.campaign.health import HEALTHY

    kinds = f"any of {', '.join(HEALTHY)}"
    return [
        (source.on_bad_run in ("refuse", "skip"), "source.on_bad_run", source.on_bad_run, "refuse or skip"),
        (set(source.allow_faults) <= set(HEALTHY), "source.allow_faults", source.allow_faults, kinds),
        (0 <= source.min_coverage <= 1, "source.min_coverage", source.min_coverage, "0 to 1"),
        (0 < source.max_gap_s < inf, "source.max_gap_s", source.max_gap_s, "above 0 s"),
    ]


def _video_checks(video: Video) -> list[Check]:
    """Judged by the codec; where there is no such codec, by all of them."""
    codecs = [CODECS[video.codec]] if video.codec in CODECS else list(CODECS.values())
    crf = video.crf is None or any(codec.best_crf <= video.crf <= codec.worst_crf for codec in codecs)
    preset = video.preset is None or any(video.preset in codec.presets for codec in codecs)
    crfs = ", ".join(f"{codec.best_crf} to {codec.worst_crf} for {codec.name}" for codec in codecs)
    presets = "; ".join(f"one of {', '.join(codec.presets)} for {codec.name}" for codec in codecs)
    return [
        (video.codec in CODECS, "source.video.codec", video.codec, f"one of {', '.join(CODECS)}"),
        (crf, "source.video.crf", video.crf, crfs),
        (preset, "source.video.preset", video.preset, presets),
        (1 <= video.gop <= 250, "source.video.gop", video.gop, "1 to 250 pictures"),
    ]


def cube_faults(cube: Cube) -> list[Fault]:
    """Every threshold of `source.cube` outside its range."""
    return _faults(_cube_checks(cube))


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


def _faults(checks: list[Check]) -> list[Fault]:
    return [
        Fault(COMMAND_LINE, name, str(value), expected, option=f"+{name}=...")
        for right, name, value, expected in checks if not right
    ]  # fmt: skip
