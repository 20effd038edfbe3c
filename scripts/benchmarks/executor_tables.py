"""What `scripts/bench executor` prints."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table

from benchmarks.executor import ENGINES, GOAL, LOCAL, RAY, Engines, Measurements
from benchmarks.executor_driver import WAITING
from benchmarks.executor_limits import WORKERS, Limits
from benchmarks.executor_projection import BY_ROWS, SPREADS, Point, Projected, Projection, Spread, Target, unit
from benchmarks.measuring import middle
from benchmarks.tables import table

LEAST_SHARE = 0.01  # of a build; what takes less is told in one line
NAMES = {
    "plan EpisodeKey": "planning a run: headers, streams",
    "run_task PicturesTask": "a camera: transcoding, colours, cubes",
    "run_task RowsTask": "reading the rows of a run",
    "run_task JoinTask": "joining a video file",
    "_look ShownTask": "what the pictures of some episodes show",
    "_run JoinTask": "joining a video file, late",
    "_run PackTask": "packing the rows of a block of episodes",
    "_run FileTask": "filing what belongs to a block of episodes",
    "_run FingerprintsTask": "fingerprints of a split",
    "_run DocumentsTask": "documents of a split",
    "_digest _Files": "inventory: digests of files",
    "look_at Share SPLIT": "checks: a split's metadata",
    "look_at Share DATA": "checks: a data file",
    "look_at Share VIDEO": "checks: a video file",
    "look_at Share COLUMN": "checks: statistics of a column",
    "look_at Share STATISTICS": "checks: statistics of a split",
    "look_at Share DOCUMENTS": "checks: documents",
    "measure CubesTask": "statistics of the cubes",
    "measure VectorTask": "statistics of a feature",
    "measure PicturesTask": "statistics of a camera",
    "look SampleTask": "shift curves: a camera",
    "make_section SectionTask": "a section of the page",
}
STAGES = {
    "run_task": "map",
    "_look": "what pictures show",
    "_run": "pack",
    "look": "shift curves",
    "_digest": "inventory",
    "look_at": "checks",
    "make_section": "page",
}


def executor_tables(measured: Measurements) -> Iterator[Table]:
    """All of them."""
    yield _engines_table(measured.engines)
    yield _ratios_table(measured.engines)
    yield _handing_table(measured.engines)
    for name in (RAY, "no change"):
        yield projection_table(measured.projections[name], name)
    yield memory_table(measured.limits, measured.options.target)
    yield _assumptions(measured)


def _engines_table(engines: Engines) -> Table:
    rows = [
        [engine, f"{cost.wall_s:.1f}", " ".join(f"{each.wall_s:.1f}" for each in engines.costs[engine]),
         f"{cost.cpu_s:.1f}", f"{cost.parent_peak_mb:.0f}"]
        for engine in ENGINES if (cost := middle(engines.costs[engine]))
    ]  # fmt: skip
    columns = ["", "wall s", "each", "CPU s, of all", "peak MB of the driver"]
    return table(f"whole commands, {engines.tasks} tasks of the map stage, engines in turn", columns, rows)


def _ratios_table(engines: Engines) -> Table:
    ratios = engines.ratios()
    rows = [[name, f"{ratio:.3f}"] for name, ratio in ratios.items()]
    made = table("ratios, medians of rounds", ["", "ratio"], rows)
    met = "met" if ratios[f"{RAY} / {LOCAL}, wall"] <= GOAL else "not met"
    made.caption = f"goal: {RAY} / {LOCAL}, wall, at most {GOAL:.2f}: {met}"
    return made


def _handing_table(engines: Engines) -> Table:
    rows = [
        [engine, str(handed.bytes), f"{handed.tasks_a_second:,.0f}", f"{handed.wall_ms:.2f}",
         f"{handed.driver_cpu_ms:.2f}"]
        for engine, handed in engines.handed.items()
    ]  # fmt: skip
    most = max(handed.tasks for handed in engines.handed.values())
    columns = ["", "bytes each", "tasks a second", "wall ms a task", "CPU ms a task, of the driver"]
    return table(f"a stage of {most:,} tasks that do nothing", columns, rows)


def projection_table(projection: Projection, name: str) -> Table:
    """A line a section of the driver and a kind of task that takes its share, the longest first."""
    target, told, rest_s = projection.target, list[list[str]](), 0.0
    for line in projection.lines:
        if line.time_s >= LEAST_SHARE * projection.total_s:
            told.append(_row(line, projection))
        else:
            rest_s += line.time_s
    told.append(["all others", "", "", "", *_time(rest_s, projection)])
    columns = ["stage", "where", "ms a run (task)", "us a row (picture)", "projected", "of the build"]
    title = f"{target.hours:,.0f} h in {target.runs:,} runs of {target.seconds:g} s, {target.workers} workers: {name}"
    made = table(title, columns, told)
    made.caption = (
        f"in all {duration(projection.total_s)}, what passes beside something longer not counted twice; "
        f"{duration(projection.floor_s)} with workers without end"
    )
    return made


def _row(line: Projected, projection: Projection) -> list[str]:
    where = {
        None: "driver, beside workers" if line.beside else "driver, alone",
        Spread.RUNS: f"over {projection.target.workers} workers",
        Spread.FILES: f"over {projection.target.workers} workers",
        Spread.ALONE: "one worker",
        Spread.LENGTH: "one worker",
    }[line.spread]
    name = NAMES.get(line.name, line.name) + (
        f" ({_stage(line.beside)})" if line.spread is None and line.beside else ""
    )
    return [name, where, f"{line.unit.of_run * 1e3:.3f}", f"{line.unit.of_row * 1e6:.3f}",
            *_time(line.time_s, projection)]  # fmt: skip


def _stage(name: str) -> str:
    return STAGES.get(name, name)


def _time(time_s: float, projection: Projection) -> list[str]:
    return [duration(time_s), f"{time_s / projection.total_s:.1%}"]


def duration(seconds: float) -> str:
    """Of any size, to be compared at a glance."""
    if seconds >= 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 60:.1f} min" if seconds >= 60 else f"{seconds:.1f} s"


def memory_table(limits: Limits, target: Target) -> Table:
    """What grows in the driver's memory, and in what is sent to a worker; tasks of bounded size do not."""
    points = limits.built
    columns = ["", *(f"{point.runs} runs, {point.rows:,} rows" for point in points), "projected"]
    driver = unit((point.runs, 0, point.peak_mb) for point in points).at(target.runs, 0)
    rows = [["driver, peak", *(f"{point.peak_mb:.0f}" for point in points), f"{driver:,.0f}"]]
    for kind in dict.fromkeys(kind for point in points for kind in point.weights):
        largest_mb = [point.weights[kind].largest_bytes / 1e6 if kind in point.weights else 0.0 for point in points]
        seen = zip(points, largest_mb, strict=True)
        grown = unit((point.runs, 0, megabytes) for point, megabytes in seen).at(target.runs, 0)
        bounded = SPREADS.get(kind, (Spread.ALONE, 0))[0] is not Spread.ALONE or kind.startswith("look_at")
        told = f"{max(largest_mb):,.3f}, bounded" if bounded else f"{grown:,.3f}"
        rows.append([f"largest task: {NAMES.get(kind, kind)}", *(f"{each:.3f}" for each in largest_mb), told])
    return table("memory and messages, MB", columns, rows)


def _assumptions(measured: Measurements) -> Table:
    target, limits = measured.options.target, measured.limits
    rows = [
        ["costs are fixed + so much a run + so much a row (in the driver but for publishing: a run), from",
         ", ".join(f"{p.runs} runs ({p.rows:,} rows)" for p in limits.built)],
        ["measured by", f"{measured.options.clock} time of one driver and {WORKERS} worker, local processes"],
        ["the shared file system", f"is as fast to {target.workers} workers at once as this disk is to one"],
        ["workers", "are as fast as this machine's; stages follow each other; none waits for another's last task"],
        ["every picture", "is made anew; a camera file is read once from memory"],
        *([f"the driver's time in the build of {point.runs} runs, {point.rows:,} rows", _fitted(point, measured)]
          for point in limits.built),
    ]  # fmt: skip
    made = table("assumptions", ["what", "how"], rows)
    made.columns[1].justify = "left"
    return made


def _fitted(point: Point, measured: Measurements) -> str:
    """What its sections took in a build, and what the units make of it."""
    lines = [line for line in measured.projections[LOCAL].lines if line.spread is None and WAITING not in line.name]
    fitted_s = sum(line.unit.at(point.runs, point.rows * (line.name in BY_ROWS)) for line in lines)
    keys = {(line.name, line.beside) for line in lines}
    costs = [cost for cost in point.sections if (cost.section, cost.beside) in keys]
    took_s = sum(cost.wall_s if measured.options.clock == "wall" else cost.cpu_s for cost in costs)
    return f"{took_s:.2f} s; by the units {fitted_s:.2f} s"
