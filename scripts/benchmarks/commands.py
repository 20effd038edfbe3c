"""The commands' options. What is measured stands in a module of each command's name."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console, RenderableType

from benchmarks.footage import NOISE_LEVELS
from benchmarks.machine import cores, machine
from benchmarks.work import work_folder

FILE_COLUMNS = 130  # where tables go to a file

_Folder = Annotated[
    Path | None, typer.Option(help="Folder to work in, kept, and used again with the same options. Default: temporary.")
]
_Json = Annotated[Path | None, typer.Option("--json", help="File to write every number to.")]
_Plot = Annotated[Path | None, typer.Option(help="PNG to draw cost against length and number of episodes to.")]
_Workers = Annotated[int, typer.Option(min=1, default_factory=cores, help="Processes at a time; one per core.")]
_Noise = Annotated[float, typer.Option(min=0.0, help="Sensor noise of the footage, in levels of 255.")]
_Repeats = Annotated[int, typer.Option(min=1, help="How often each is measured; medians are shown.")]
_Seconds = Annotated[float, typer.Option(min=2.5, help="Length of a run, in seconds.")]


def speed(
    *,
    runs: Annotated[int, typer.Option(min=2, help="Runs of --seconds.")] = 5,
    seconds: _Seconds = 120.0,
    long_runs: Annotated[int, typer.Option(min=0, help="Runs of --long-seconds.")] = 1,
    long_seconds: _Seconds = 600.0,
    repeats: _Repeats = 3,
    workers: _Workers,
    usual: Annotated[bool, typer.Option(help="Measure what people do today, too.")] = True,
    usual_cameras: Annotated[int, typer.Option(min=1, max=4, help="Camera files of one run it is given.")] = 2,
    noise_levels: _Noise = NOISE_LEVELS,
    folder: _Folder = None,
    json_file: _Json = None,
    plot: _Plot = None,
) -> None:
    """Our build and its core beside bare ffmpeg, interleaved, and beside the usual path; rebuilds, memory, ratios."""
    from benchmarks.ratios import ratios
    from benchmarks.speed import SpeedOptions, as_document, measure_speed
    from benchmarks.speed_tables import speed_tables

    options = SpeedOptions(
        runs=runs, seconds=seconds, long_runs=long_runs, long_seconds=long_seconds, repeats=repeats, workers=workers,
        usual=usual, usual_cameras=usual_cameras, noise_levels=noise_levels,
    )  # fmt: skip
    found_on = machine()
    with work_folder(folder, {"command": "speed", **options.tree}) as work:
        measured = measure_speed(options, work, _say)
    _show(speed_tables(measured), json_file, {**as_document(measured), "ratios": ratios(measured), "machine": found_on})
    if plot is not None:
        growth(workers=workers, noise_levels=noise_levels, plot=plot)


def growth(
    *,
    lengths: Annotated[str, typer.Option(help="Lengths of runs, in seconds, with commas.")] = "30,60,120,240",
    runs: Annotated[int, typer.Option(min=2, help="Runs of each length.")] = 2,
    numbers: Annotated[str, typer.Option(help="Numbers of runs, with commas.")] = "4,8,16,32",
    seconds: Annotated[float, typer.Option(min=2.5, help="Length of those runs, in seconds.")] = 15.0,
    repeats: _Repeats = 1,
    workers: _Workers,
    noise_levels: _Noise = NOISE_LEVELS,
    folder: _Folder = None,
    json_file: _Json = None,
    plot: _Plot = None,
) -> None:
    """What a build costs against the length of episodes and against their number."""
    from benchmarks.growth import GrowthOptions, measure_growth, slopes_ms
    from benchmarks.growth_figures import draw_growth, growth_tables

    options = GrowthOptions(
        lengths_s=[float(each) for each in lengths.split(",")], runs=runs,
        numbers=[int(each) for each in numbers.split(",")], seconds=seconds,
        repeats=repeats, workers=workers, noise_levels=noise_levels,
    )  # fmt: skip
    found_on = machine()
    with work_folder(folder, {"command": "growth", "noise_levels": noise_levels}) as work:
        measured = measure_growth(options, work, _say)
    slopes = {series: slopes_ms(points) for series, points in measured.items()}
    series = {name: [asdict(point) for point in points] for name, points in measured.items()}
    document = {"options": asdict(options), "series": series, "slopes_ms": slopes, "machine": found_on}
    _show(growth_tables(measured), json_file, document)
    if plot is not None:
        draw_growth(measured, plot)


def jsonl(
    *,
    megabytes: Annotated[float, typer.Option(min=0.1, help="Size of each stream's file.")] = 20.0,
    repeats: _Repeats = 9,
    folder: _Folder = None,
    json_file: _Json = None,
) -> None:
    """Our reading of JSONL streams beside json.loads, on the rows of the sample campaigns."""
    from benchmarks.jsonl import jsonl_tables, measure_jsonl

    found_on = machine()
    with work_folder(folder, {"command": "jsonl"}) as work:
        parsed = measure_jsonl(megabytes, repeats, work)
        tables = list(jsonl_tables(parsed, work))
    streams = [asdict(each) | {"ratio": each.ratio} for each in parsed]
    _show(tables, json_file, {"streams": streams, "machine": found_on})


def plan(
    *,
    runs: Annotated[int, typer.Option(min=2, help="Runs to plan.")] = 1000,
    seconds: _Seconds = 120.0,
    workers: _Workers,
    folder: _Folder = None,
    json_file: _Json = None,
) -> None:
    """The plan alone, over many runs. 1,000 runs of two minutes take 14 GB of disk."""
    from benchmarks.plan import measure_plan, plan_table

    found_on = machine()
    with work_folder(folder, {"command": "plan", "runs": runs, "seconds": seconds}) as work:
        planned = measure_plan(runs, seconds, workers, work, _say)
    _show([plan_table(planned)], json_file, {**asdict(planned), "machine": found_on})


def unchanged(
    *,
    episodes: Annotated[int, typer.Option(min=4, help="Runs to build.")] = 1000,
    seconds: _Seconds = 3.0,
    workers: _Workers,
    folder: _Folder = None,
    json_file: _Json = None,
) -> None:
    """Many short episodes: a build, then the same again with nothing changed, and with another split."""
    from benchmarks.unchanged import measure_unchanged, unchanged_table

    found_on = machine()
    with work_folder(folder, {"command": "unchanged", "episodes": episodes, "seconds": seconds}) as work:
        measured = measure_unchanged(episodes, seconds, workers, work, _say)
    _show([unchanged_table(measured)], json_file, {**asdict(measured), "machine": found_on})


def extras(
    *,
    seconds: _Seconds = 120.0,
    noise_levels: _Noise = NOISE_LEVELS,
    folder: _Folder = None,
    json_file: _Json = None,
) -> None:
    """What a build does besides decoding, scaling and encoding, in ms a picture."""
    from benchmarks.extras import extras_table, measure_extras

    found_on = machine()
    with work_folder(folder, {"command": "extras", "seconds": seconds, "noise_levels": noise_levels}) as work:
        measured = measure_extras(seconds, noise_levels, work, _say)
    _show([extras_table(measured)], json_file, {**asdict(measured), "machine": found_on})


def pooled(
    *,
    episodes: Annotated[int, typer.Option(min=1, help="Episodes of the task that is opened and checked.")] = 2000,
    rows: Annotated[int, typer.Option(min=2, help="Rows of each of them.")] = 300,
    pictures: Annotated[int, typer.Option(min=1, help="Depth pictures that are recorded.")] = 90,
    repeats: _Repeats = 3,
    folder: _Folder = None,
    json_file: _Json = None,
) -> None:
    """Pooled tasks: matrices read, a task opened and checked, depth recorded, beside plain pyarrow, NumPy, ffmpeg."""
    from benchmarks.pooled import measure_pooled, pooled_table, sizes_table
    from benchmarks.pooled_depth import measure_depth

    found_on = machine()
    with work_folder(folder, {"command": "pooled", "episodes": episodes, "rows": rows}) as work:
        rates = measure_pooled(episodes, rows, repeats, work)
        of_depth, sizes = measure_depth(pictures, repeats, work)
    rates = [*rates, *of_depth]
    document = {"rates": [{**asdict(each), "ratio": each.ratio} for each in rates], "bytes": sizes, "machine": found_on}
    _show([pooled_table(rates), sizes_table(sizes)], json_file, document)


def executor(
    *,
    runs: Annotated[int, typer.Option(min=2, help="Runs each engine builds, five tasks of the map stage each.")] = 40,
    seconds: Annotated[float, typer.Option(min=2.5, help="Length of those runs, in seconds.")] = 10.0,
    repeats: Annotated[int, typer.Option(min=1, help="Rounds of all engines; medians of each round's ratios.")] = 2,
    sizes: Annotated[
        str, typer.Option(help="Builds to project from: runs x seconds each, with commas.")
    ] = "150x2.5,600x2.5,30x60",
    workers: _Workers,
    clock: Annotated[Literal["wall", "cpu"], typer.Option(help="To project by; cpu beside other work.")] = "wall",
    hours: Annotated[float, typer.Option(min=1, help="Recorded hours, of two-minute runs, to project to.")] = 10_000,
    cluster_workers: Annotated[int, typer.Option(min=1, help="Workers to project to.")] = 500,
    noise_levels: _Noise = NOISE_LEVELS,
    folder: _Folder = None,
    json_file: _Json = None,
) -> None:
    """Ray and Slurm's jobs beside local processes, in turn; and what limits a build of thousands of hours."""
    from benchmarks.executor import ExecutorOptions, as_document, measure_executor
    from benchmarks.executor_projection import Target
    from benchmarks.executor_tables import executor_tables

    options = ExecutorOptions(
        runs=runs, seconds=seconds, repeats=repeats, workers=workers, sizes=_sizes(sizes), noise_levels=noise_levels,
        target=Target(hours=hours, workers=cluster_workers), clock=clock,
    )  # fmt: skip
    found_on = machine()
    with work_folder(folder, {"command": "executor", **options.tree}) as work:
        measured = measure_executor(options, work, _say)
    _show(executor_tables(measured), json_file, {**as_document(measured), "machine": found_on})


def _sizes(told: str) -> list[tuple[int, float]]:
    pairs = (each.split("x") for each in told.split(","))
    return [(int(runs), float(seconds)) for runs, seconds in pairs]


def _say(text: str) -> None:
    """What is being done now, for whoever waits."""
    Console(stderr=True).print(f"bench: {text}", style="dim", highlight=False)


def _show(tables: Iterable[RenderableType], json_file: Path | None, document: dict[str, Any]) -> None:
    console = Console(width=None if sys.stdout.isatty() else FILE_COLUMNS)
    for each in tables:
        console.print(each)
    if json_file is not None:
        json_file.parent.mkdir(parents=True, exist_ok=True)
        json_file.write_text(json.dumps(document, indent=1), encoding="utf-8")
