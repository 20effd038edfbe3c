"""From what small builds cost to what a large one would: costs split into fixed, per episode and per row.

Only figures of builds go in. What is assumed of the large one stands in `Target`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

import numpy as np
from scipy.optimize import nnls

from benchmarks.executor_driver import STARTING, WAITING, WEIGHING, Cost, Tasks, Weight

CAMERAS = 4

type Clock = Literal["wall", "cpu"]  # by the second nothing waits for a disk, nor for a core that others use


@dataclass(frozen=True, slots=True)
class Target:
    """The dataset that is projected to: recorded `hours` in runs of `seconds`, and how many workers there are."""

    hours: float = 10_000
    seconds: float = 120
    rate_hz: int = 30
    workers: int = 500

    @property
    def runs(self) -> int:
        """How many."""
        return round(self.hours * 3600 / self.seconds)

    @property
    def rows(self) -> int:
        """Of all of them."""
        return round(self.hours * 3600 * self.rate_hz)


@dataclass(frozen=True, slots=True)
class Point:
    """A build that was watched."""

    runs: int
    rows: int
    sections: tuple[Cost, ...]
    tasks: tuple[Tasks, ...]
    weights: dict[str, Weight]
    peak_mb: float


@dataclass(frozen=True, slots=True)
class Unit:
    """A cost: fixed, of a run, of a row; `misfit` is the largest relative error where it was measured."""

    fixed: float
    of_run: float
    of_row: float
    misfit: float

    def at(self, runs: float, rows: float) -> float:
        """Of a dataset."""
        return self.fixed + self.of_run * runs + self.of_row * rows


def unit(seen: Iterable[tuple[float, float, float]], *, fixed: bool = True) -> Unit:
    """The cost that fits best what was seen, as (runs, rows, cost), relatively; nothing costs less than nothing."""
    found = np.array([each for each in seen if each[2] > 0], dtype=np.float64)
    if not len(found):
        return Unit(0.0, 0.0, 0.0, 0.0)
    ones = np.full(len(found), float(fixed))
    scaled = np.column_stack([ones, found[:, 0], found[:, 1]]) / found[:, 2:]
    largest = np.where(scaled.max(axis=0) > 0, scaled.max(axis=0), 1.0)
    solved, _ = nnls(scaled / largest, np.ones(len(found)))
    coefficients = solved / largest
    misfit = float(np.abs(scaled @ coefficients - 1).max())
    of_all, of_run, of_row = map(float, coefficients)
    return Unit(of_all, of_run, of_row, misfit)


class Spread(Enum):
    """How a kind of task grows: with runs, one task each or a few; with files of a bounded size; or not in number.

    `LENGTH`: it is of one run, however many there are.
    """

    RUNS, FILES, ALONE, LENGTH = range(4)


SHARED, ALONE = (Spread.RUNS, Spread.FILES), (Spread.ALONE, Spread.LENGTH)
# Kind -> how it grows, and how many tasks a run is. Of what is not named here there are so many whatever the size.
SPREADS = {
    "plan EpisodeKey": (Spread.RUNS, 1),
    "run_task PicturesTask": (Spread.RUNS, CAMERAS),
    "run_task RowsTask": (Spread.RUNS, 1),
    "run_task JoinTask": (Spread.FILES, 0),
    "_look ShownTask": (Spread.FILES, 0),
    "_run JoinTask": (Spread.FILES, 0),
    "_run PackTask": (Spread.FILES, 0),
    "_run FileTask": (Spread.FILES, 0),
    "_digest _Files": (Spread.FILES, 0),
    "look SampleTask": (Spread.LENGTH, 0),
    "look_at Share DATA": (Spread.FILES, 0),
    "look_at Share VIDEO": (Spread.FILES, 0),
}
# The driver sees no row. What it waits for a disk for grows with bytes, which are as rows.
BY_ROWS = ("publishing, down to the disk",)
READY = " ready"  # parts that were there: in a build of recordings of their own there are none


@dataclass(frozen=True, slots=True)
class Projected:
    """A line of the table: a section of the driver (`spread` None) or a kind of task, at the target [s].

    `work_s` is all of it; `time_s` what passes meanwhile. `beside` is the stage it belongs to, if any.
    """

    name: str
    beside: str
    spread: Spread | None
    unit: Unit
    work_s: float
    time_s: float


@dataclass(frozen=True, slots=True)
class Projection:
    """All lines, the longest first, and what the build would take in all: stages one after another [s].

    While tasks of a stage are under way, its driver works too: the stage takes as long as the slower of the two.
    `floor_s` is what the build would take with workers without end.
    """

    target: Target
    lines: tuple[Projected, ...]
    total_s: float
    floor_s: float
    stages_s: dict[str, float] = field(default_factory=dict)


def project(points: Sequence[Point], target: Target, clock: Clock, handing_s: float = 0.0) -> Projection:
    """The target's costs, of what a clock told.

    `handing_s` is the driver's time for handing on a task to an engine, if it is known.
    """
    lines = [*_driver_lines(points, target, clock), *_task_lines(points, target, clock)]
    if handing_s:
        lines += _handing_lines(points, target, handing_s)
    lines.sort(key=lambda line: -line.time_s)
    stages_s = _stages_s(lines)
    floor_s = sum(_stages_s([line for line in lines if line.spread not in SHARED]).values())
    return Projection(target, tuple(lines), sum(stages_s.values()), floor_s, stages_s)


def _stages_s(lines: Sequence[Projected]) -> dict[str, float]:
    stages = sorted({line.beside for line in lines})
    return {stage: _stage_s([line for line in lines if line.beside == stage]) for stage in stages}


def _stage_s(lines: Sequence[Projected]) -> float:
    """Of one stage: its driver or its workers, whichever is slower."""
    driver_s = sum(line.time_s for line in lines if line.spread is None)
    spread_s = sum(line.time_s for line in lines if line.spread in SHARED)
    alone_s = max((line.time_s for line in lines if line.spread in ALONE), default=0.0)
    return max(driver_s, spread_s, alone_s)


def _driver_lines(points: Sequence[Point], target: Target, clock: Clock) -> Iterable[Projected]:
    """The sections of the driver, but for waiting, which is what workers take."""
    keys = dict.fromkeys((cost.section, cost.beside) for point in points for cost in point.sections)
    for section, beside in keys:
        if section in (WAITING, WEIGHING, STARTING) and (beside or section != STARTING):
            continue
        own = unit(
            (point.runs, point.rows * (section in BY_ROWS), cost.wall_s if clock == "wall" else cost.cpu_s)
            for point in points
            for cost in point.sections
            if (cost.section, cost.beside) == (section, beside)
        )
        took_s = own.at(target.runs, target.rows)
        yield Projected(section, beside, None, own, took_s, took_s)


def _task_lines(points: Sequence[Point], target: Target, clock: Clock) -> Iterable[Projected]:
    kinds = dict.fromkeys(tasks.kind for point in points for tasks in point.tasks if not tasks.kind.endswith(READY))
    for kind in kinds:
        spread, each = SPREADS.get(kind, (Spread.ALONE, 0))
        seen = [(point, tasks) for point in points for tasks in point.tasks if tasks.kind == kind]
        took_s = [tasks.wall_s if clock == "wall" else tasks.cpu_s for _, tasks in seen]
        if spread is Spread.RUNS:
            counts = [(tasks.count, tasks.count * point.rows / point.runs) for point, tasks in seen]
            own = _unit(counts, took_s, fixed=False)
            work_s = own.at(target.runs * each, target.rows * each)
        else:
            own = _unit([(point.runs, point.rows) for point, _ in seen], took_s)
            work_s = own.at(target.runs, target.rows)
        time_s = work_s / target.workers
        longest_s = [tasks.longest_wall_s if clock == "wall" else tasks.longest_cpu_s for _, tasks in seen]
        if spread is Spread.ALONE:
            longest = _unit([(point.runs, point.rows) for point, _ in seen], longest_s)
            time_s = max(time_s, longest.at(target.runs, target.rows))
        elif spread is Spread.LENGTH:
            own = _unit([(0, point.rows / point.runs) for point, _ in seen], longest_s)
            work_s = time_s = own.at(0, target.rows / target.runs)
        yield Projected(kind, seen[0][1].stage, spread, own, work_s, time_s)


def _unit(sizes: Iterable[tuple[float, float]], took_s: Iterable[float], *, fixed: bool = True) -> Unit:
    return unit(((*size, cost_s) for size, cost_s in zip(sizes, took_s, strict=True)), fixed=fixed)


def _handing_lines(points: Sequence[Point], target: Target, handing_s: float) -> Iterable[Projected]:
    """What handing on tasks costs the driver, a stage each."""
    for stage in dict.fromkeys(tasks.stage for point in points for tasks in point.tasks):
        counts = [(point.runs, point.rows, float(_count(point, stage))) for point in points]
        number = unit(counts).at(target.runs, target.rows)
        took_s = number * handing_s
        yield Projected(f"{WAITING}, {number:,.0f}", stage, None, Unit(handing_s, 0, 0, 0), took_s, took_s)


def _count(point: Point, stage: str) -> int:
    return sum(tasks.count for tasks in point.tasks if tasks.stage == stage)
