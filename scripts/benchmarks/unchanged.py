"""`scripts/bench unchanged`: very many episodes, built once; then the same command again, and with another split."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from benchmarks import ours
from benchmarks.footage import Footage
from benchmarks.measuring import Measured, run
from benchmarks.tables import table
from benchmarks.trees import plans, write_tree
from benchmarks.work import once


@dataclass(frozen=True, slots=True)
class Unchanged:
    """`episodes` of `seconds` each: from nothing, with nothing changed, and with one more val episode.

    Footage is small on purpose: what is measured does not depend on it.
    """

    episodes: int
    seconds: float
    full: Measured
    no_change: Measured
    split_only: Measured


def measure_unchanged(
    episodes: int, seconds: float, workers: int, folder: Path, say: Callable[[str], None]
) -> Unchanged:
    """Make the tree where there is none yet, build it, and build it again twice."""
    say(f"writing {episodes} runs")
    footage = Footage(folder / "footage", seconds)
    footage.draw()
    with once(folder, "raw") as new:
        if new is not None:
            write_tree(new, plans(runs=episodes, seconds=seconds), footage)
    output = folder / "ours"
    shutil.rmtree(output, ignore_errors=True)
    command = ours.command(*ours.options(folder / "raw", output / "dataset", workers))
    frozen = ["+source.val_frac=0.1", "+source.val_floor=2"]
    say("build")
    full = run([*command, *frozen]).cost
    say("no change")
    no_change = run([*command, *frozen]).cost
    say("another split")
    floor = max(3, episodes // 8)  # more than val_frac makes of equal runs
    split_only = run([*command, f"+source.val_floor={floor}"]).cost
    return Unchanged(episodes, seconds, full, no_change, split_only)


def unchanged_table(measured: Unchanged) -> Table:
    """The three builds, and their share of the first."""
    costs = {"from nothing": measured.full, "no change": measured.no_change, "split only": measured.split_only}
    rows = [
        [name, f"{cost.wall_s:.2f}", f"{cost.cpu_s:.2f}", f"{cost.wall_s / measured.full.wall_s:.3f}",
         f"{cost.parent_peak_mb:.0f}", f"{cost.worker_peak_mb:.0f}"]
        for name, cost in costs.items()
    ]  # fmt: skip
    columns = ["", "wall s", "CPU s", "of from nothing, wall", "parent peak MB", "worker peak MB"]
    return table(f"{measured.episodes} episodes of {measured.seconds:g} s", columns, rows)
