"""Which file of its kind an episode goes to. Data, episodes and each camera's videos roll over independently."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quickdraw.formats.lerobot.schema import MB, Limits

TOLERANCE_S = 1e-4  # lerobot's default; a picture must be strictly nearer


@dataclass(frozen=True, slots=True)
class Place:
    """A file by its number (from 0, over all chunks), and where in it an episode begins [frames]."""

    number: int
    first_frame: int

    def indices(self, limits: Limits) -> dict[str, int]:
        """`chunk_index` and `file_index`."""
        chunk, file = divmod(self.number, limits.files_per_chunk)
        return {"chunk_index": chunk, "file_index": file}


def place_clips(frames: Sequence[int], sizes_bytes: Sequence[int], rate_hz: int, limits: Limits) -> list[Place]:
    """The video file of each clip of one camera, in order.

    A file takes clips while neither their bytes reach `video_mb` nor their length passes `video_s`; a clip that is
    larger or longer alone has a file of its own, for an episode is never split. (A joined file is smaller than its
    clips are together: it has one header.)
    """
    places: list[Place] = []
    number, held, held_bytes = 0, 0, 0
    for length, size in zip(frames, sizes_bytes, strict=True):
        full = held_bytes + size >= limits.video_mb * MB or held + length > limits.video_s * rate_hz
        if held and full:
            number, held, held_bytes = number + 1, 0, 0
        places.append(Place(number, held))
        held, held_bytes = held + length, held_bytes + size
    return places


def beyond_reader(frames: int, rate_hz: int) -> bool:
    """Whether an episode is so long that lerobot's reader could miss its pictures.

    A row's `timestamp` is float32. From 2048 s on its rounding error can exceed the reader's tolerance.
    """
    row = np.arange(frames)
    error_s = np.abs((row / rate_hz).astype(np.float32).astype(np.float64) - row / rate_hz)
    return bool((error_s >= TOLERANCE_S).any())
