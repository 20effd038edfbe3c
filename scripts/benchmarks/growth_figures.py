"""What `scripts/bench growth` prints and draws."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.table import Table

from benchmarks.growth import Growth, slopes_ms
from benchmarks.tables import table

mpl.use("Agg")


def growth_tables(growth: Growth) -> Iterator[Table]:
    """A table a series."""
    columns = ["runs", "seconds each", "camera frames", "wall s", "CPU s", "CPU ms a further camera frame"]
    columns += ["parent peak MB", "worker peak MB"]
    for series, points in growth.items():
        slopes = ["", *(f"{slope:.2f}" for slope in slopes_ms(points))]
        rows = [
            [str(point.runs), f"{point.seconds:g}", str(point.pictures), f"{point.cost.wall_s:.1f}",
             f"{point.cost.cpu_s:.1f}", slope, f"{point.cost.parent_peak_mb:.0f}", f"{point.cost.worker_peak_mb:.0f}"]
            for point, slope in zip(points, slopes, strict=True)
        ]  # fmt: skip
        yield table(f"cost against {series}", columns, rows)


def draw_growth(growth: Growth, path: Path) -> None:
    """CPU and peak memory against camera frames, both series in each, as a PNG."""
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    cpu, memory = figure.subplots(1, 2)
    for (series, points), colour in zip(growth.items(), ("C0", "C1"), strict=False):
        frames = [point.pictures / 1000 for point in points]
        told = f"{series} ({_told(growth, series)})"
        cpu.plot(frames, [point.cost.cpu_s for point in points], "o-", color=colour, label=told)
        for name, style in (("parent", "s--"), ("worker", "o-")):
            peaks_mb = [getattr(point.cost, f"{name}_peak_mb") for point in points]
            memory.plot(frames, peaks_mb, style, color=colour, label=f"{name}, by {series}")
    _finish(cpu, "CPU of the whole command [s]")
    _finish(memory, "peak resident memory of a process [MB]")
    figure.suptitle("quickdraw block_stack: what a build costs")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def _told(growth: Growth, series: str) -> str:
    """What stays and what changes along a series."""
    first, last = growth[series][0], growth[series][-1]
    if first.runs == last.runs:
        return f"{first.runs} runs of {first.seconds:g} to {last.seconds:g} s"
    return f"{first.runs} to {last.runs} runs of {first.seconds:g} s"


def _finish(axes: Axes, what: str) -> None:
    axes.set_xlabel("camera frames [thousands]")
    axes.set_ylabel(what)
    axes.set_xlim(0, axes.dataLim.x1 * 1.05)
    axes.set_ylim(0, axes.dataLim.y1 * 1.1)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
