"""The shift sweep: a dataset's pictures against those of its source, some rows earlier and later, and other cameras'.

Where rows and pictures belong together the difference is least at shift 0, and far less than to any other camera.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from quickdraw.core.episode import FramePlan
from quickdraw.core.grid import Float64, Int64
from quickdraw.errors import VideoError
from quickdraw.pipeline.verify.motion import Grey, changes, fields_of, grey_of, thumb_of
from quickdraw.pipeline.verify.pictures import Picks
from quickdraw.video.decoding import pictures

SHIFTS = range(-5, 6)


@dataclass(frozen=True, slots=True)
class SweepTask:
    """Decode a run's file of `camera` once, and hold against it what each of the dataset's cameras shows."""

    split: str
    episode: int
    camera: str
    plan: FramePlan
    picks: Mapping[str, Picks]
    rate_hz: int


@dataclass(frozen=True, slots=True)
class Swept:
    """`mean_square` for each shift of the camera's own pictures, `rows` of them; of every camera's at shift 0.

    `change` `(T,)` is how much the source changes over the second that ends with each row.
    """

    mean_square: tuple[float, ...]
    rows: int
    by_camera: Mapping[str, float]
    change: Float64
    damage: tuple[str, str, str] | None


def sweep(task: SweepTask) -> tuple[SweepTask, Swept]:
    """Decode the source forward; only small grey copies of the pictures that are needed are kept."""
    index, own = task.plan.frame_index, task.picks.get(task.camera)
    rows = _inner(own.rows, len(index)) if own else np.zeros(0, np.int64)
    needed = {int(index[row + shift]) for row in rows for shift in SHIFTS}
    needed |= {int(index[row]) for picks in task.picks.values() for row in picks.rows if row < len(index)}
    try:
        thumbs, change = _thumbs(task, needed)
    except VideoError as error:
        return task, Swept((), 0, {}, np.zeros(0), (error.path, error.found, error.expected))
    curve = tuple(_unlike(own, rows, rows + shift, index, thumbs) for shift in SHIFTS) if own and rows.size else ()
    by_camera = {
        name: _unlike(picks, picks.rows[picks.rows < len(index)], picks.rows[picks.rows < len(index)], index, thumbs)
        for name, picks in task.picks.items()
    }
    return task, Swept(curve, len(rows), by_camera, change, None)


def _inner(rows: Int64, length: int) -> Int64:
    """Rows that have a neighbour at every shift."""
    return rows[(rows + SHIFTS[0] >= 0) & (rows + SHIFTS[-1] < length)]


def _thumbs(task: SweepTask, needed: set[int]) -> tuple[dict[int, Grey], Float64]:
    times = np.bincount(task.plan.frame_index, minlength=task.plan.pictures)
    fields, thumbs = list[Grey](), dict[int, Grey]()
    shape = next((picks.thumbs.shape for picks in task.picks.values()), (0, 3, 4))
    for number, picture in enumerate(pictures(task.plan.path)):
        if number < len(times) and times[number]:
            grey = grey_of(picture)
            fields += [fields_of(grey)] * int(times[number])
            if number in needed:
                thumbs[number] = thumb_of(grey, shape[2] / shape[1])
    return thumbs, changes(fields, task.rate_hz)


def _unlike(picks: Picks, rows: Int64, sources: Int64, index: Int64, thumbs: Mapping[int, Grey]) -> float:
    """Mean squared difference of picked `rows` to the source's pictures of the rows `sources` [levels squared]."""
    at = {int(row): number for number, row in enumerate(picks.rows)}
    squares = [
        np.mean((picks.thumbs[at[int(row)]].astype(np.float64) - thumbs[int(index[source])]) ** 2)
        for row, source in zip(rows, sources, strict=True)
        if int(index[source]) in thumbs
    ]
    return float(np.mean(squares)) if squares else float("inf")
