"""The shift sweep: a dataset's pictures against those of its source, some rows earlier and later, and other cameras'.

Where rows and pictures belong together the difference is least at shift 0, and far less than to any other camera.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from quickdraw.core.episode import DepthPlan, EpisodePlan, Float32, FramePlan
from quickdraw.core.grid import Int64
from quickdraw.pipeline.source import Source
from quickdraw.pipeline.verify.motion import Changes, Grey, fields_of, grey_of, unlike
from quickdraw.pipeline.verify.pictures import Picks
from quickdraw.pipeline.verify.reading_sources import Damage, read_or_damage
from quickdraw.video.decoding import pictures

SHIFTS = range(-5, 6)


@dataclass(frozen=True, slots=True)
class SweepTask:
    """Decode a run's file of `camera` once, and hold against it what each of the dataset's cameras shows."""

    split: str
    episode: int
    camera: str
    source: Source
    plan: EpisodePlan
    picks: Mapping[str, Picks]


@dataclass(frozen=True, slots=True)
class Swept:
    """`mean_square` for each shift of the camera's own pictures, `rows` of them; of every camera's at shift 0.

    `change` `(T,)` is how much the source changes over the second that ends with each row.
    """

    mean_square: tuple[float, ...]
    rows: int
    by_camera: Mapping[str, float]
    change: Float32


def sweep(task: SweepTask) -> tuple[SweepTask, Swept | Damage]:
    """Decode the source forward; only fields of the pictures that are needed are kept."""
    return task, read_or_damage(lambda: _sweep(task))


def _sweep(task: SweepTask) -> Swept | Damage:
    plan = task.source.frame_plan(task.plan, task.camera)
    if isinstance(plan, DepthPlan):
        return Damage(f"{plan.path}: depth", "colour, as info.json says")
    index, own = plan.frame_index, task.picks.get(task.camera)
    rows = _inner(own.rows, len(index)) if own else np.zeros(0, np.int64)
    needed = {int(index[row + shift]) for row in rows for shift in SHIFTS}
    needed |= {int(index[row]) for picks in task.picks.values() for row in picks.rows if row < len(index)}
    fields, change = _fields(plan, needed, task.plan.grid.rate_hz)
    curve = tuple(_unlike(own, rows, rows + shift, index, fields) for shift in SHIFTS) if own and rows.size else ()
    by_camera = {}
    for name, picks in task.picks.items():
        there = picks.rows[picks.rows < len(index)]
        by_camera[name] = _unlike(picks, there, there, index, fields)
    return Swept(curve, len(rows), by_camera, change)


def _inner(rows: Int64, length: int) -> Int64:
    """Rows that have a neighbour at every shift."""
    return rows[(rows + SHIFTS[0] >= 0) & (rows + SHIFTS[-1] < length)]


def _fields(plan: FramePlan, needed: set[int], rate_hz: int) -> tuple[dict[int, Grey], Float32]:
    """Fields of the `needed` pictures of a file, and how much what its rows show changes."""
    times = np.bincount(plan.frame_index, minlength=plan.pictures)
    changes, held = Changes(rate_hz), dict[int, Grey]()
    for number, picture in enumerate(pictures(plan.path, plan.stream)):
        if number < len(times) and times[number]:
            fields = fields_of(grey_of(picture))
            for _ in range(times[number]):
                changes.add(fields)
            if number in needed:
                held[number] = fields
    return held, changes.result()


def _unlike(picks: Picks, rows: Int64, sources: Int64, index: Int64, fields: Mapping[int, Grey]) -> float:
    """Mean squared difference of picked `rows` to the source's pictures of the rows `sources` [levels squared]."""
    at = {int(row): number for number, row in enumerate(picks.rows)}
    pairs = [
        (picks.fields[at[int(row)]], fields[int(index[source])])
        for row, source in zip(rows, sources, strict=True)
        if int(index[source]) in fields
    ]
    return unlike(np.stack([shown for shown, _ in pairs]), np.stack([of for _, of in pairs])) if pairs else float("inf")
