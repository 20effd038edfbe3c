"""Small films of cubes on a wooden table, encoded as a build encodes them; each cube's place is known in every row."""

from __future__ import annotations

import colorsys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType

import numpy as np
import numpy.typing as npt
import pytest

from quickdraw.core.hues import CubeThresholds
from quickdraw.video.encoding import Encoding

Rgb = npt.NDArray[np.uint8]

HEIGHT, WIDTH, SIDE = 144, 192, 12
WOOD = (158, 116, 78)
HSV = {"red": (0, 0.8, 0.78), "green": (130, 0.75, 0.6), "blue": (226, 0.8, 0.8), "purple": (280, 0.75, 0.65)}
THRESHOLDS = CubeThresholds(
    min_value=0.12, min_saturation=0.35, peak_saturation=0.5, min_area_px=12, evidence_area_px=30, evidence_share=0.02
)


def place(colour: str, row: int) -> tuple[int, int]:
    """Left and top of a cube in a row [px]: each colour walks to and fro in a lane of its own."""
    lane = list(HSV).index(colour)
    return 10 + (37 * lane + 3 * row) % 160, 10 + 32 * lane


def picture(row: int, colours: Iterable[str]) -> Rgb:
    """The table, and the cubes of those colours where `place` puts them."""
    grain = np.random.default_rng(row).normal(0, 3, (HEIGHT, WIDTH, 3))
    painted = np.empty((HEIGHT, WIDTH, 3))
    painted[:] = WOOD
    for colour in colours:
        x, y = place(colour, row)
        hue, saturation, value = HSV[colour]
        painted[y : y + SIDE, x : x + SIDE] = [255 * part for part in colorsys.hsv_to_rgb(hue / 360, saturation, value)]
    rgb: Rgb = (painted + grain).clip(0, 255).astype(np.uint8)
    return rgb


class Film:
    """The functions of this file, for test modules, which cannot import one another."""

    side, height, width = SIDE, HEIGHT, WIDTH
    thresholds = THRESHOLDS
    encoding = Encoding(HEIGHT, WIDTH, 30, crf=15, preset="veryfast", gop=5)
    place = staticmethod(place)

    def __init__(self, encode: Callable[[Iterator[Rgb], Path, Encoding], Path]) -> None:
        self.encode = encode

    def take(self, path: Path, shown: Mapping[str, Iterable[int]], rows: int) -> Path:
        """A clip of `rows` pictures; `shown` says in which of them each colour is to be seen."""
        held = {colour: set(there) for colour, there in shown.items()}
        painted = (picture(row, [c for c, there in held.items() if row in there]) for row in range(rows))
        return self.encode(painted, path, self.encoding)


@pytest.fixture(scope="session")
def film(synthetic: ModuleType) -> Film:
    return Film(synthetic.encode)
