"""`scripts/bench growth`: what a build costs against the length of its episodes, and against their number."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from benchmarks import ours
from benchmarks.footage import Footage
from benchmarks.measuring import Measured, middle, run
from benchmarks.trees import plans, write_tree
from benchmarks.work import once

LENGTH_SERIES, NUMBER_SERIES = "episode length", "number of episodes"


@dataclass(frozen=True, slots=True)
class Point:
    """One build: `runs` runs of `seconds` each, `pictures` camera frames in all, the median of its costs."""

    runs: int
    seconds: float
    pictures: int
    cost: Measured


@dataclass(frozen=True, slots=True)
class GrowthOptions:
    """Lengths [s] of `runs` runs each, and numbers of runs of `seconds` each."""

    lengths_s: Sequence[float]
    runs: int
    numbers: Sequence[int]
    seconds: float
    repeats: int
    workers: int
    noise_levels: float


type Growth = dict[str, list[Point]]


def measure_growth(options: GrowthOptions, folder: Path, say: Callable[[str], None]) -> Growth:
    """Both series, a tree a point."""
    say("drawing footage")
    longest_s = max(*options.lengths_s, options.seconds)
    footage = Footage(folder / f"footage_{longest_s:g}", longest_s, options.noise_levels)
    footage.draw()
    sizes = {
        LENGTH_SERIES: [(options.runs, seconds) for seconds in options.lengths_s],
        NUMBER_SERIES: [(runs, options.seconds) for runs in options.numbers],
    }
    return {
        series: [_point(runs, seconds, footage, options, folder, say) for runs, seconds in points]
        for series, points in sizes.items()
    }


def _point(
    runs: int, seconds: float, footage: Footage, options: GrowthOptions, folder: Path, say: Callable[[str], None]
) -> Point:
    say(f"{runs} runs of {seconds:g} s")
    name = f"raw_{runs}_{seconds:g}"
    with once(folder, name) as new:
        if new is not None:
            write_tree(new, plans(runs=runs, seconds=seconds), footage)
    tree, output = folder / name, folder / "grown"
    pictures = sum(file.pictures for file in ours.task_of(tree).files)
    costs = []
    for _ in range(options.repeats):
        shutil.rmtree(output, ignore_errors=True)
        costs.append(run(ours.command(*ours.options(tree, output / "dataset", options.workers))).cost)
    shutil.rmtree(output)
    return Point(runs, seconds, pictures, middle(costs))


def slopes_ms(points: Sequence[Point]) -> list[float]:
    """CPU of a further camera frame [ms], from each point to the next."""
    return [
        (after.cost.cpu_s - before.cost.cpu_s) / (after.pictures - before.pictures) * 1e3
        for before, after in pairwise(points)
    ]
