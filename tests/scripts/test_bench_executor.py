"""`scripts/bench executor`: its stopwatch misses nothing, and its projection is the arithmetic it says it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from benchmarks.executor import ENGINES, Engines, ExecutorOptions, Measurements, as_document
from benchmarks.executor_driver import NAMING, SECTIONS, STARTING, WAITING, Cost, Tasks, Watch, Watched, Weight, places
from benchmarks.executor_handing import Handed
from benchmarks.executor_limits import Limits
from benchmarks.executor_projection import Point, Spread, Target, project, unit
from benchmarks.executor_tables import duration, executor_tables, memory_table, projection_table
from benchmarks.measuring import Measured
from quickdraw.pipeline.executors.inline import Inline

TARGET = Target(hours=100, seconds=120, workers=10)  # 3,000 runs of 3,600 rows
SIZES = ((10, 750), (40, 3000), (10, 36_000))


def point(runs: int, rows: int) -> Point:
    """A build whose costs are lines in runs and rows."""
    spent_s = {("publishing", ""): 1 + 0.01 * runs, ("results", "run_task"): 0.02 * runs, (STARTING, ""): 0.5}
    costs = [Cost(*key, calls=1, wall_s=s, cpu_s=s) for key, s in {**spent_s, (WAITING, "run_task"): 7.0}.items()]
    pictures_s, column_s = 0.001 * rows * 4 + 0.1 * 4 * runs, 0.5 + 1e-5 * rows
    tasks = [
        Tasks("run_task", "run_task PicturesTask", 4 * runs, pictures_s, pictures_s, 1.0, 1.0),
        Tasks("run_task", "run_task PicturesTask ready", 4 * runs, 99.0, 99.0, 1.0, 1.0),
        Tasks("measure", "measure VectorTask", 2, 2 * column_s, 2 * column_s, column_s, column_s),
    ]
    return Point(
        runs,
        rows,
        tuple(costs),
        tuple(tasks),
        {"measure VectorTask": Weight(1, 50 * runs, 50 * runs)},
        100 + 0.1 * runs,
    )


POINTS = [point(*size) for size in SIZES]


def test_a_cost_is_split_into_fixed_of_a_run_and_of_a_row() -> None:
    found = unit((runs, rows, 2.0 + 0.3 * runs + 1e-3 * rows) for runs, rows in SIZES)
    assert (found.fixed, found.of_run, found.of_row, found.misfit) == pytest.approx((2.0, 0.3, 1e-3, 0), abs=1e-9)
    assert found.at(100, 1000) == pytest.approx(33.0)
    assert unit([(10, 750, 5.0), (40, 3000, 4.0)]).misfit > 0.05, "nothing costs less than nothing"


def test_what_workers_share_is_divided_by_them_and_what_one_does_or_the_driver_is_not() -> None:
    lines = {line.name: line for line in project(POINTS, TARGET, "wall").lines}
    pictures_s = 0.001 * TARGET.rows * 4 + 0.1 * 4 * TARGET.runs
    assert lines["run_task PicturesTask"].work_s == pytest.approx(pictures_s)
    assert lines["run_task PicturesTask"].time_s == pytest.approx(pictures_s / TARGET.workers)
    assert lines["measure VectorTask"].spread is Spread.ALONE
    assert lines["measure VectorTask"].time_s == pytest.approx(0.5 + 1e-5 * TARGET.rows)
    assert lines["publishing"].time_s == pytest.approx(1 + 0.01 * TARGET.runs)
    assert not {WAITING, "run_task PicturesTask ready"} & lines.keys()


def test_a_stage_takes_what_the_slower_of_its_driver_and_its_workers_does() -> None:
    quick, slow = (project(POINTS, TARGET, "wall", handing_s=handing_s) for handing_s in (1e-6, 1.0))
    pictures_s = (0.001 * TARGET.rows * 4 + 0.1 * 4 * TARGET.runs) / TARGET.workers
    assert quick.stages_s["run_task"] == pytest.approx(pictures_s)
    assert slow.stages_s["run_task"] == pytest.approx(0.02 * TARGET.runs + 8 * TARGET.runs), "all that were handed on"
    assert quick.total_s == pytest.approx(sum(quick.stages_s.values()))
    assert quick.floor_s == pytest.approx(quick.total_s - pictures_s + (0.02 + 8e-6) * TARGET.runs, rel=1e-3)


def test_the_table_names_the_longest_first_and_its_share() -> None:
    projection = project(POINTS, TARGET, "wall")
    console = Console(width=160, file=(printed := StringIO()))
    console.print(projection_table(projection, "ray"))
    console.print(memory_table(Limits(tuple(POINTS), ()), TARGET))
    lines = printed.getvalue().splitlines()
    told = [line for line in lines if "│" in line]
    first = projection.lines[0]
    assert "a camera: transcoding, colours, cubes" in told[0]
    assert duration(first.time_s) in told[0]
    assert f"{first.time_s / projection.total_s:.1%}" in told[0]
    assert any("driver, peak" in line and f"{100 + 0.1 * TARGET.runs:,.0f}" in line for line in told)


def test_every_engine_and_every_assumption_is_told_and_every_number_written() -> None:
    engines = Engines(tasks=15)
    for number, engine in enumerate(ENGINES):
        engines.costs[engine] = [Measured(10.0 + number, 20.0 + number, 120.0, 200.0)]
        engines.handed[engine] = Handed(5000, 5300, 0.5, 0.2)
    options = ExecutorOptions(3, 2.5, 1, 2, [(10, 2.5)], 0.5, TARGET, "wall")
    limits = Limits(tuple(POINTS), tuple(POINTS))
    projections = {name: project(POINTS, TARGET, "wall") for name in (*ENGINES, "no change")}
    measured = Measurements(options, engines, limits, projections)
    console = Console(width=160, file=(printed := StringIO()))
    for table in executor_tables(measured):
        console.print(table)
    assert "ray / local, wall" in printed.getvalue()
    assert "goal: ray / local, wall, at most 1.10: met" in printed.getvalue()
    assert "is as fast to 10 workers at once as this disk is to one" in printed.getvalue()
    document = json.loads(json.dumps(as_document(measured)))
    assert document["ratios"]["ray / local, wall"] == pytest.approx(1.1)
    assert document["projections"]["ray"]["lines"][0]["time_s"] == projections["ray"].lines[0].time_s


def test_sections_are_of_functions_that_are_there() -> None:
    for section, paths in SECTIONS.items():
        assert len(list(places(section))) == len(paths)


def test_a_watched_executor_does_what_it_would_and_knows_whose_time_it_was() -> None:
    watch = Watch()
    executor = Watched(Inline(), watch)

    def then(number: int) -> Iterator[int]:
        yield from [number - 1] if number > 7 else []

    with watch.within("summing"):
        assert sorted(executor.run(abs, [-9, -3], then)) == [3, 7, 8, 9]
    assert sum(tasks.count for tasks in watch.tasks.values()) == 4
    assert {("summing", ""), (NAMING, "abs"), (WAITING, "abs")} <= watch.sections.keys()
    before = replace(watch.sections["summing", ""])
    watch.charge()
    assert watch.sections["summing", ""] == before, "what comes after a section is not its"
