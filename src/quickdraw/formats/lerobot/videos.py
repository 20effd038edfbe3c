"""The video files of a split: which clips each of them holds, and where in them an episode's pictures lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from quickdraw.formats.lerobot.files import Place, place_clips
from quickdraw.formats.lerobot.schema import VIDEO_PATH, DatasetSpec
from quickdraw.video.join import VideoFile


@dataclass(frozen=True, slots=True)
class Reel:
    """All video files of one camera of a split, and the place of each episode in them."""

    files: tuple[VideoFile, ...]
    places: tuple[Place, ...]


def plan_reel(root: Path, spec: DatasetSpec, camera: str, clips: Sequence[tuple[Path, int]]) -> Reel:
    """The files of a camera of the split at `root`, from its finished clips, (file, picture count) each."""
    sizes = [clip.stat().st_size for clip, _ in clips]
    places = place_clips([frames for _, frames in clips], sizes, spec.rate_hz, spec.limits)
    held = dict[int, list[tuple[Path, int]]]()
    for clip, place in zip(clips, places, strict=True):
        held.setdefault(place.number, []).append(clip)
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
