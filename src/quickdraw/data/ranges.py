"""What an option may be, whatever the processor."""

from __future__ import annotations

from typing import Any

from quickdraw.data.options import Config, Source, Video
from quickdraw.errors import COMMAND_LINE, Fault
from quickdraw.video.codecs import CODECS

type Check = tuple[bool, str, Any, str]  # whether it is right, option, value, what would be right


def faults_of(checks: list[Check]) -> list[Fault]:
    """A fault for each option that is not right."""
    return [
        Fault(COMMAND_LINE, name, str(value), expected, option=f"+{name}=...")
        for right, name, value, expected in checks if not right
    ]  # fmt: skip


def place_checks(config: Config[Any], tree: str) -> list[Check]:
    """Where things come from and go to; `tree` is what the source's folder must be."""
    source = config.source
    plain = source.name not in ("", ".", "..") and "/" not in source.name and source.name.isprintable()
    return [
        (bool(source.dir), "source.dir", source.dir, tree),
        (config.output.dir != "", "output.dir", repr(config.output.dir), "a folder, or null"),
        (plain, "source.name", source.name, "a folder name"),
        (source.workers is None or 1 <= source.workers <= 512, "source.workers", source.workers, "1 to 512, or null"),
        (source.on_bad_run in ("refuse", "skip"), "source.on_bad_run", source.on_bad_run, "refuse or skip"),
    ]


def split_checks(source: Source, least_floor: int) -> list[Check]:
    """Which episodes go where; `least_floor` is the least that val_floor may be."""
    floor, runs = f"at least {least_floor}", source.max_runs_per_campaign
    return [
        (0 < source.val_frac < 1, "source.val_frac", source.val_frac, "between 0 and 1"),
        (source.val_floor >= least_floor, "source.val_floor", source.val_floor, floor),
        (source.val_from != "", "source.val_from", repr(source.val_from), "a built dataset, or null"),
        (not (source.val_runs and source.val_from), "source.val_from", source.val_from, "not together with val_runs"),
        (runs >= 0, "source.max_runs_per_campaign", runs, "0 or more"),
        (source.lerobot_stats in ("train", "split"), "source.lerobot_stats", source.lerobot_stats, "train or split"),
    ]


def is_size(hw: list[int]) -> bool:
    """Whether a picture may be so high and wide."""
    return len(hw) == 2 and all(16 <= size <= 4320 and size % 2 == 0 for size in hw)


def video_checks(video: Video) -> list[Check]:
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
