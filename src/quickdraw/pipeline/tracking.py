"""Cubes in encoded pictures, episode by episode: one pass to learn the episode's hues, one to measure every picture.

Nothing is carried from one episode into the next. One picture is in memory at a time; what is kept is 48 bytes a row.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from quickdraw.core.blobs import measure
from quickdraw.core.cubes import Track
from quickdraw.core.grid import Int64
from quickdraw.core.hues import BINS, COLOURS, LEVELS, CubeThresholds, Peak, counts_of, find_peaks, table_bin, votes
from quickdraw.errors import VideoError
from quickdraw.video.decoding import Picture, Rgb, as_rgb, pictures

# Hues are learnt from every so many-th picture of an episode: they move slowly.
STRIDE = 5


@dataclass(slots=True)
class HueSurvey:
    """The hues of one episode as one camera shows it, gathered picture by picture."""

    thresholds: CubeThresholds
    counts: Int64 = field(default_factory=lambda: np.zeros((BINS, LEVELS), np.int64))
    pictures: int = 0
    picture_px: int = 0

    def add(self, rgb: Rgb) -> None:
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

    def follow(self, shown: Iterable[Rgb], rows: int) -> Track:
        """Measure every picture `(H, W, 3)` uint8 of the episode; there must be `rows` of them."""
        sightings = np.zeros((rows, len(COLOURS), 3), np.float32)
        for row, rgb in zip(range(rows), shown, strict=True):
            sightings[row] = measure(rgb, self.ballot, self.thresholds)
        sightings.setflags(write=False)
        return Track(sightings, self.peaks)


def surveyed(lengths: Sequence[int]) -> list[int]:
    """Which pictures hues are learnt from, in a file of episodes of `lengths` pictures each."""
    ends = np.cumsum(lengths).tolist()
    return [number for end, rows in zip(ends, lengths, strict=True) for number in range(end - rows, end, STRIDE)]


def learn_hues(shown: Iterable[tuple[int, Picture]], lengths: Sequence[int], thresholds: CubeThresholds) -> list[Hues]:
    """The hues of each episode, from the `surveyed` pictures of a file with their numbers, in order."""
    hues = [HueSurvey(thresholds).learnt() for _ in lengths]  # of an episode that nothing is shown of
    ends = np.cumsum(lengths).tolist()
    for episode, some in groupby(shown, lambda each: bisect_right(ends, each[0])):
        survey = HueSurvey(thresholds)
        for _, picture in some:
            survey.add(as_rgb(picture))
        hues[episode] = survey.learnt()
    return hues


def track_file(path: Path, lengths: Sequence[int], thresholds: CubeThresholds) -> list[Track]:
    """A track per episode of a video file that shows them one after another, `lengths` pictures each.

    Raises VideoError where a picture is damaged, or where there are more or fewer of them.
    """
    wanted = frozenset(surveyed(lengths))
    survey = ((number, picture) for number, picture in enumerate(pictures(path)) if number in wanted)
    hues, shown = learn_hues(survey, lengths, thresholds), _exactly(path, sum(lengths))
    tracks = [learnt.follow(islice(shown, length), length) for learnt, length in zip(hues, lengths, strict=True)]
    for _ in shown:  # there should be none, and then nothing is wrong
        pass
    return tracks


def _exactly(path: Path, expected: int) -> Iterator[Rgb]:
    """Every picture of the file; at its end, VideoError where there were not as many as `expected`."""
    held = 0
    for picture in pictures(path):
        yield as_rgb(picture)
        held += 1
    if held != expected:
        raise VideoError(str(path), f"{held} pictures", f"{expected}, one per row")
