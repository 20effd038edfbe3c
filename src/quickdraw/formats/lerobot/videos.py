"""The video files of a split: which clips each of them holds, and where in them an episode's pictures lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from quickdraw.formats.lerobot.files import Place, place_clips
from quickdraw.formats.lerobot.schema import VIDEO_PATH, DatasetSpec
from quickdraw.video.join import VideoFile


class Clip(NamedTuple):
    """A finished clip of an episode, of so many pictures and bytes."""

    file: Path
    pictures: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Reel:
    """All video files of one camera of a split, and the place of each episode in them."""

    files: tuple[VideoFile, ...]
    places: tuple[Place, ...]


def plan_reel(root: Path, spec: DatasetSpec, camera: str, clips: Sequence[Clip]) -> Reel:
    """The files of a camera of the split at `root`, from its finished clips."""
    sizes = [clip.size_bytes for clip in clips]
    places = place_clips([clip.pictures for clip in clips], sizes, spec.rate_hz, spec.limits)
    held = dict[int, list[tuple[Path, int]]]()
    for clip, place in zip(clips, places, strict=True):
        held.setdefault(place.number, []).append((clip.file, clip.pictures))
    key = spec.video_key(camera)
    return Reel(
        files=tuple(
            VideoFile(
                root / VIDEO_PATH.format(video_key=key, **Place(number, 0).indices(spec.limits)),
                tuple(of_file),
                spec.rate_hz,
            )
            for number, of_file in held.items()
        ),
        places=tuple(places),
    )
