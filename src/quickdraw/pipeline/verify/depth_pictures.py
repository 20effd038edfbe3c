"""Pictures of depth as they are decoded: how often each code occurs, and a checksum of each picture's codes."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from quickdraw.core.depth import Codes
from quickdraw.core.grid import Int64
from quickdraw.core.statistics import sampled_frames
from quickdraw.formats.lerobot.depth_codes import codes_of
from quickdraw.formats.lerobot.fingerprints import Crcs
from quickdraw.pipeline.counting import LevelCounts, code_counts
from quickdraw.video.decoding import Picture


@dataclass(frozen=True, slots=True)
class ShownDepth:
    """One whole episode as a depth camera's file shows it.

    `counts` `(1, 4096)` int64 and `sampled` are of the pictures lerobot samples; `crcs` `(T,)` uint32 are checksums of
    each picture's codes, and `blank` `(T,)` says whether all of them are 0.
    """

    counts: Int64
    sampled: int
    crcs: Crcs
    blank: npt.NDArray[np.bool_]


def crc_of(codes: Codes) -> int:
    """CRC-32 of a picture's codes `(H, W)`, as they stand in memory, little-endian."""
    return zlib.crc32(np.ascontiguousarray(codes, "<u2"))


@dataclass(slots=True)
class WatchDepth:
    """Looks at the pictures of one episode as they pass."""

    length: int
    counted: LevelCounts = field(default_factory=LevelCounts.of_depth)
    crcs: list[int] = field(default_factory=list)
    blank: list[bool] = field(default_factory=list)

    @property
    def seen(self) -> int:
        """How many pictures have passed."""
        return len(self.crcs)

    def follow(self, shown: Iterator[Picture]) -> Iterator[Picture]:
        """Look at the episode's pictures and hand each on."""
        sampled = set(sampled_frames(self.length).tolist())
        for row, picture in zip(range(self.length), shown, strict=False):
            yield picture
            codes = codes_of(picture)
            if row in sampled:
                self.counted.add(code_counts(codes))
            self.crcs.append(crc_of(codes))
            self.blank.append(not codes.any())

    def result(self) -> ShownDepth:
        """What was seen, once all have passed."""
        crcs, blank = np.array(self.crcs, np.uint32), np.array(self.blank, np.bool_)
        return ShownDepth(self.counted.counts, self.counted.pictures, crcs, blank)
