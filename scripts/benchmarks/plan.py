"""`scripts/bench plan`: the plan alone, over very many real-size runs of which only headers and streams are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from benchmarks import ours
from benchmarks.filling import fill
from benchmarks.footage import Footage
from benchmarks.measuring import Measured, run
from benchmarks.tables import table
from benchmarks.trees import plans, write_tree
from benchmarks.work import once

DISTINCT = 4  # runs that are simulated; the others are these, later


@dataclass(frozen=True, slots=True)
class Planned:
    """A dry run over `runs` runs of `seconds` each, of which nothing is known yet."""

    runs: int
    seconds: float
    cost: Measured


def measure_plan(runs: int, seconds: float, workers: int, folder: Path, say: Callable[[str], None]) -> Planned:
    """Make the tree where there is none yet, and plan it."""
    say(f"writing {runs} runs")
    tree = many_runs(folder, runs, seconds)
    small = "+source.video.crf=51"  # or the plan of what is never written is refused for want of disk
    command = ours.command(*ours.options(tree, folder / "planned", workers), "+dry_run=true", small)
    say("planning")
    return Planned(runs, seconds, run(command).cost)


def many_runs(folder: Path, runs: int, seconds: float) -> Path:
    """A tree of so many runs in `folder`."""
    footage = Footage(folder / "footage", seconds)
    footage.draw()
    with once(folder, "raw") as new:
        if new is not None:
            fill(write_tree(new, plans(runs=min(DISTINCT, runs), seconds=seconds), footage), runs)
    return folder / "raw"


def plan_table(planned: Planned) -> Table:
    """What it costs."""
    cost = planned.cost
    row = [
        f"{planned.runs} runs of {planned.seconds:g} s",
        f"{cost.wall_s:.2f}",
        f"{cost.cpu_s:.2f}",
        f"{cost.cpu_s / planned.runs * 1e3:.1f}",
        f"{cost.parent_peak_mb:.0f}",
        f"{cost.worker_peak_mb:.0f}",
    ]
    columns = ["", "wall s", "CPU s", "CPU ms a run", "parent peak MB", "worker peak MB"]
    return table("plan", columns, [row])
