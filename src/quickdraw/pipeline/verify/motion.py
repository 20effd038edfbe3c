"""How much of what a camera shows is changing, from small grey copies of its pictures."""

from __future__ import annotations

from dataclasses import dataclass, field

import cv2
import numpy as np
import numpy.typing as npt

from quickdraw.core.episode import Float32
from quickdraw.video.decoding import Picture

type Grey = npt.NDArray[np.uint8]

# A picture in 32 x 24 fields, whole pixels at most picture sizes: an encoder's noise averages out in one, what an arm
# does in front of it doesn't.
FIELDS_WIDE, FIELDS_HIGH = 32, 24
BLOCK = 512  # pictures looked at together: enough to be fast, and memory does not grow with an episode


def grey_of(picture: Picture) -> Grey:
    """A decoded picture as `(H, W)` uint8 levels of grey."""
    return np.asarray(picture.to_ndarray(format="gray"), np.uint8)


def fields_of(grey: Grey) -> Grey:
    """Mean level of each field of a picture `(H, W)` uint8, `(24, 32)` uint8; alike at whatever size it is stored."""
    return np.asarray(cv2.resize(grey, (FIELDS_WIDE, FIELDS_HIGH), interpolation=cv2.INTER_AREA), np.uint8)


def unlike(shown: Grey, source: Grey) -> float:
    """Mean squared difference of fields `(N, 24, 32)` uint8 to others, N >= 1 [levels squared]."""
    return float(np.mean((shown.astype(np.float64) - source) ** 2))


def step_between(before: Grey | None, now: Grey) -> tuple[float, float]:
    """Difference of two pictures in a row [levels]: mean, and of the middle one of its fields; 0 for the first one.

    The second is what noise alone makes, where less than half of the picture moves.
    """
    if before is None:
        return 0.0, 0.0
    off = cv2.absdiff(before, now).astype(np.float32)
    fields = np.asarray(cv2.resize(off, (FIELDS_WIDE, FIELDS_HIGH), interpolation=cv2.INTER_AREA), np.float64)
    return float(off.mean()), float(np.median(fields))


@dataclass(slots=True)
class Changes:
    """How much the field that changes most changes in the second that ends with each of an episode's pictures."""

    rate_hz: int
    held: list[Grey] = field(default_factory=list)  # the last second, and what came since it was looked at
    levels: list[Float32] = field(default_factory=list)

    def add(self, fields: Grey) -> None:
        """The next picture's fields."""
        self.held.append(fields)
        if len(self.held) >= BLOCK + self.rate_hz - 1:
            self._look()

    def _look(self) -> None:
        begun = self.rate_hz - 1
        if len(self.held) <= begun:
            return
        from scipy.ndimage import maximum_filter1d, minimum_filter1d  # here, for builds come by too

        shown, to_its_end = np.stack(self.held), (self.rate_hz - 1) // 2  # the filters' windows lie around a picture
        highest = maximum_filter1d(shown, self.rate_hz, axis=0, origin=to_its_end)[begun:]
        lowest = minimum_filter1d(shown, self.rate_hz, axis=0, origin=to_its_end)[begun:]
        self.levels.append((highest - lowest).max(axis=(1, 2)).astype(np.float32))
        del self.held[: len(self.held) - begun]

    def result(self) -> Float32:
        """`(T,)` float32 [levels] of the T pictures; NaN in the first second."""
        self._look()
        return np.concatenate([np.full(len(self.held), np.nan, np.float32), *self.levels])
