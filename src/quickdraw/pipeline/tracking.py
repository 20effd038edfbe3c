"""Cubes in encoded pictures, episode by episode: one pass to learn the episode's hues, one to measure every picture.

Nothing is carried from one episode into the next. One picture is in memory at a time; what is kept is 48 bytes a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from quickdraw.core.blobs import measure
from quickdraw.core.cubes import Track
from quickdraw.core.grid import Int64
from quickdraw.core.hues import BINS, COLOURS, LEVELS, CubeThresholds, Peak, counts_of, find_peaks, table_bin, votes
from quickdraw.errors import VideoError
from quickdraw.video.decoding import Picture, as_rgb, pictures

# Hues are learnt from every so many-th picture of an episode: they move slowly.
STRIDE = 5


@dataclass(slots=True)
class HueSurvey:
    """The hues of one episode as one camera shows it, gathered picture by picture."""

    thresholds: CubeThresholds
    counts: Int64 = field(default_factory=lambda: np.zeros((BINS, LEVELS), np.int64))
    pictures: int = 0
    picture_px: int = 0

    def add(self, rgb: npt.NDArray[np.uint8]) -> None:
        """Count one picture `(H, W, 3)` uint8."""
        self.counts += counts_of(rgb, self.thresholds)
        self.pictures += 1
        self.picture_px = rgb.shape[0] * rgb.shape[1]

    def learnt(self) -> Hues:
        """The hues the episode turned out to have."""
        peaks = find_peaks(self.counts, self.pictures, self.picture_px, self.thresholds)
        ballot = votes(peaks, table_bin(self.counts, self.pictures * self.picture_px), self.thresholds)
        return Hues(peaks, ballot, self.thresholds)


@dataclass(frozen=True, slots=True)
class Hues:
    """What cubes are told by in one episode: its peaks, and `hues.votes` of them."""

    peaks: Mapping[str, Peak]
    ballot: npt.NDArray[np.uint8]
    thresholds: CubeThresholds

    def follow(self, shown: Iterable[Picture], rows: int) -> Track:
        """Measure every picture of the episode; there must be `rows` of them."""
        sightings = np.zeros((rows, len(COLOURS), 3), np.float32)
        for row, picture in zip(range(rows), shown, strict=True):
            sightings[row] = measure(as_rgb(picture), self.ballot, self.thresholds)
        sightings.setflags(write=False)
        return Track(sightings, self.peaks)


def track_file(path: Path, lengths: Sequence[int], thresholds: CubeThresholds) -> list[Track]:
    """A track per episode of a video file that shows them one after another, `lengths` pictures each.

    Raises VideoError where a picture is damaged, or where there are more or fewer of them.
    """
    hues, shown, held = [], pictures(path), 0
    for length in lengths:
        survey = HueSurvey(thresholds)
        for number, picture in enumerate(islice(shown, length)):
            if number % STRIDE == 0:
                survey.add(as_rgb(picture))
            held += 1
        hues.append(survey.learnt())
    held += sum(1 for _ in shown)
    if held != sum(lengths):
        raise VideoError(str(path), f"{held} pictures", f"{sum(lengths)}, one per row")
    shown = pictures(path)
    return [learnt.follow(islice(shown, length), length) for learnt, length in zip(hues, lengths, strict=True)]
