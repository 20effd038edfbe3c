"""All that is measured of one camera's clip, decoding as little of it as will do.

Where cubes are followed every picture is decoded anyway, and the colours are counted on the way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from quickdraw.core.cubes import Track
from quickdraw.core.hues import CubeThresholds
from quickdraw.core.statistics import sampled_frames
from quickdraw.errors import VideoError
from quickdraw.formats.lerobot.depth_codes import codes_of
from quickdraw.pipeline.counting import LevelCounts, code_counts, colour_counts
from quickdraw.pipeline.tracking import learn_hues, surveyed
from quickdraw.video.decoding import Rgb, as_rgb, pictures, pictures_at


def count_codes(clip: Path, frames: int) -> LevelCounts:
    """Codes of the pictures of depth lerobot would sample, of a clip of `frames`.

    Raises VideoError where what is looked at is damaged, or not there.
    """
    sampled, found = _sampled(frames), LevelCounts.of_depth()
    for _, picture in pictures_at(clip, sampled):
        found.add(code_counts(codes_of(picture)))
    _refuse_fewer(clip, found.pictures, len(sampled), frames)
    return found


def look_at(clip: Path, frames: int, thresholds: CubeThresholds | None) -> tuple[LevelCounts, Track | None]:
    """Colours of the pictures lerobot would sample, and where there are thresholds, the cubes in every one of `frames`.

    Raises VideoError where what is looked at is damaged, or not there.
    """
    sampled, found = _sampled(frames), LevelCounts.of_colour()
    if thresholds is None:
        for _, picture in pictures_at(clip, sampled):
            found.add(colour_counts(as_rgb(picture)))
        _refuse_fewer(clip, found.pictures, len(sampled), frames)
        return found, None
    # Every fifth picture: with a keyframe as often, as clips have by default, no others are decoded for it.
    (hues,) = learn_hues(pictures_at(clip, surveyed([frames])), [frames], thresholds)
    return found, hues.follow(_counting(found, map(as_rgb, pictures(clip)), sampled), frames)


def _sampled(frames: int) -> frozenset[int]:
    return frozenset(sampled_frames(frames).tolist())


def _counting(found: LevelCounts, shown: Iterable[Rgb], numbers: Collection[int]) -> Iterator[Rgb]:
    """Hand pictures on; those of these numbers are counted."""
    for number, rgb in enumerate(shown):
        if number in numbers:
            found.add(colour_counts(rgb))
        yield rgb


def _refuse_fewer(clip: Path, found: int, sampled: int, frames: int) -> None:
    if found != sampled:
        raise VideoError(str(clip), f"{found} of its pictures", f"{sampled} of {frames}")
