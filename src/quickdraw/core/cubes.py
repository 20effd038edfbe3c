"""`observation.objects.cube`: what is seen of each cube in each view, carried through occlusion, on an episode's rows.

The specification is the last section of the user's PROCESSING.md: 4 cubes x 2 views x
[cx / W, cy / H, sqrt(area / TYP), clip(area / TYP, 0, 1)], cube by cube.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from quickdraw.core.episode import Float32
from quickdraw.core.features import FeatureSpec
from quickdraw.core.hues import COLOURS, REFERENCE_PX, CubeThresholds, Peak

VIEWS = ("scene", "wrist")
MEASURES = ("cx", "cy", "size", "vis")
CUBE = FeatureSpec(
    name="observation.objects.cube",
    names=tuple(f"{colour}_{view}_{measure}" for colour in COLOURS for view in VIEWS for measure in MEASURES),
    unit=("",) * (len(COLOURS) * len(VIEWS) * len(MEASURES)),
)
EVERY_COLUMN = slice(0, CUBE.width)
TYPICAL_AREA_PX = 120.0  # of a cube, at 144 x 192
EVIDENCE_ROWS = 10  # however short the episode: a flash in a picture or two is no cube


@dataclass(frozen=True, slots=True)
class CubeRule:
    """How cubes are measured, and which camera is which view: `cameras` are those of `VIEWS`, in that order."""

    cameras: tuple[str, ...]
    thresholds: CubeThresholds


@dataclass(frozen=True, slots=True)
class Track:
    """What one view saw in one episode, whatever the palette.

    `sightings` `(T, 4, 3)` float32 per row and colour of `COLOURS`: centre x / W, centre y / H, area [px]; zeros where
    it is not seen. `peaks` are the hues it went by.
    """

    sightings: Float32
    peaks: Mapping[str, Peak]

    def visible_share(self) -> dict[str, float]:
        """Colour -> share of the rows it is seen in."""
        shares = (self.sightings[..., 2] > 0).mean(axis=0)
        return {colour: float(share) for colour, share in zip(COLOURS, shares, strict=True)}


def colours_in(tracks: Iterable[Track], picture_px: int, thresholds: CubeThresholds) -> set[str]:
    """The colours an episode is evidence for: in one of its views the hue stands out, large enough for long enough."""
    found = set()
    for track in tracks:
        enough = max(EVIDENCE_ROWS, thresholds.evidence_share * len(track.sightings))
        large = track.sightings[..., 2] >= thresholds.evidence_area_px * picture_px / REFERENCE_PX
        rows = dict(zip(COLOURS, large.sum(axis=0), strict=True))
        found |= {colour for colour in track.peaks if rows[colour] >= enough}
    return found


def cube_rows(
    tracks: Sequence[Track], palette: Collection[str], picture_px: int, columns: slice = EVERY_COLUMN
) -> Float32:
    """`(T, 32)` float32 as `CUBE` names them, or those `columns` of it, from the tracks of `VIEWS`.

    A colour outside `palette` is zero in every row. A cube not seen keeps its last position with size and visibility 0;
    before it is first seen, all four are 0.
    """
    typical_px = TYPICAL_AREA_PX * picture_px / REFERENCE_PX
    width = CUBE.width // len(COLOURS)
    begun = columns.start // width
    some = slice(begun, -(-columns.stop // width))  # of the colours: no more of them than are asked for
    held = [_held(track.sightings[:, some], typical_px) for track in tracks]
    views = np.stack(held, axis=2)  # (T, colour, view, measure)
    views[:, [colour not in palette for colour in COLOURS[some]]] = 0.0
    rows: Float32 = views.reshape(len(views), -1)[:, columns.start - begun * width : columns.stop - begun * width]
    rows.setflags(write=False)
    return rows


def _held(sightings: Float32, typical_px: float) -> Float32:
    """`(T, 4, 3)` sightings to `(T, 4, 4)` measures, the position carried from the last row it was seen in."""
    seen = sightings[..., 2] > 0
    row = np.arange(len(sightings))[:, None]
    last = np.maximum.accumulate(np.where(seen, row, -1), axis=0)
    position = np.take_along_axis(sightings[..., :2], np.maximum(last, 0)[..., None], axis=0)
    area = sightings[..., 2:].astype(np.float64) / typical_px
    known = np.where(last[..., None] >= 0, position, 0.0)
    measures: Float32 = np.concatenate([known, np.sqrt(area), np.clip(area, 0, 1)], axis=2).astype(np.float32)
    return measures
