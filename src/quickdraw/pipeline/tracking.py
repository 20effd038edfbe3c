"""Cubes in encoded pictures, episode by episode: one pass to learn the episode's hues, one to measure every picture.

Nothing is carried from one episode into the next, and memory does not grow with their length.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from quickdraw.core.blobs import measure
from quickdraw.core.cubes import Track
from quickdraw.core.grid import Int64
from quickdraw.core.hues import BINS, COLOURS, LEVELS, CubeThresholds, counts_of, find_peaks, table_bin, votes
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

    def wants(self, number: int) -> bool:
        """Whether the episode's `number`-th picture is to be added."""
        return number % STRIDE == 0

    def add(self, rgb: npt.NDArray[np.uint8]) -> None:
        """Count one picture `(H, W, 3)` uint8."""
        self.counts += counts_of(rgb, self.thresholds)
        self.pictures += 1
        self.picture_px = rgb.shape[0] * rgb.shape[1]

    def follow(self, shown: Iterable[Picture], rows: int) -> Track:
        """Measure every picture of the episode, `rows` of them, by the hues it turned out to have."""
        peaks = find_peaks(self.counts, self.pictures, self.picture_px, self.thresholds)
        ballot = votes(peaks, table_bin(self.counts, self.pictures * self.picture_px), self.thresholds)
        sightings = np.zeros((rows, len(COLOURS), 3), np.float32)
        for row, picture in enumerate(shown):
            sightings[row] = measure(as_rgb(picture), ballot, self.thresholds)
        return Track(sightings, peaks)


def track_file(path: Path, lengths: Sequence[int], thresholds: CubeThresholds) -> list[Track]:
    """A track per episode of a video file that shows them one after another, `lengths` pictures each.

    Raises VideoError where a picture is damaged, or where there are more or fewer of them.
    """
    surveys, shown, held = [], pictures(path), 0
    for length in lengths:
        survey = HueSurvey(thresholds)
        for number, picture in enumerate(islice(shown, length)):
            if survey.wants(number):
                survey.add(as_rgb(picture))
            held += 1
        surveys.append(survey)
    held += sum(1 for _ in shown)
    if held != sum(lengths):
        raise VideoError(str(path), f"{held} pictures", f"{sum(lengths)}, one per row")
    shown = pictures(path)
    return [survey.follow(islice(shown, length), length) for survey, length in zip(surveys, lengths, strict=True)]
