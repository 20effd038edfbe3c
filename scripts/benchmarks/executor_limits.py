"""What limits a build of thousands of hours: small builds, watched, of several sizes, and the same with no change."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import ours
from benchmarks.executor_driver import Cost, Tasks, Weight
from benchmarks.executor_projection import Point
from benchmarks.filling import fill
from benchmarks.footage import Footage
from benchmarks.measuring import run
from benchmarks.trees import plans, write_tree
from benchmarks.work import once
from quickdraw.pipeline.places import SUMMARY

DISTINCT = 4  # runs that are simulated; the others are these, later, and their clips are made once
WORKERS = 1  # so that neither the driver nor a task waits for a core where there are two


@dataclass(frozen=True, slots=True)
class Limits:
    """The builds from nothing, and each of them again with no change."""

    built: tuple[Point, ...]
    again: tuple[Point, ...]


def measure_limits(
    sizes: list[tuple[int, float]], footage: Footage, folder: Path, say: Callable[[str], None]
) -> Limits:
    """Builds of (runs, seconds each), a tree a size."""
    built, again = list[Point](), list[Point]()
    for runs, seconds in sizes:
        say(f"watching a build of {runs} runs of {seconds:g} s")
        tree, output = _tree(runs, seconds, footage, folder), folder / "watched"
        shutil.rmtree(output, ignore_errors=True)
        built.append(_watched(tree, output / "dataset", folder))
        again.append(_watched(tree, output / "dataset", folder))
        shutil.rmtree(output)
    return Limits(tuple(built), tuple(again))


def _tree(runs: int, seconds: float, footage: Footage, folder: Path) -> Path:
    name = f"raw_{runs}_{seconds:g}"
    with once(folder, name) as new:
        if new is not None:
            fill(write_tree(new, plans(runs=min(DISTINCT, runs), seconds=seconds), footage), runs)
    return folder / name


def _watched(tree: Path, output: Path, folder: Path) -> Point:
    seen = folder / "watched.json"
    driver = [sys.executable, "-m", "benchmarks.executor_driver", str(seen)]
    run([*driver, *ours.options(tree, output, WORKERS)], env=ours.environment())
    counts = json.loads((output / SUMMARY).read_bytes())["counts"].values()
    frames = sum(split["frames"] for split in counts)
    return point_of(json.loads(seen.read_bytes()), sum(split["episodes"] for split in counts), frames)


def point_of(document: dict[str, Any], runs: int, rows: int) -> Point:
    """What was seen of a build of so many runs and rows."""
    return Point(
        runs=runs,
        rows=rows,
        sections=tuple(Cost(**cost) for cost in document["sections"]),
        tasks=tuple(Tasks(**tasks) for tasks in document["tasks"]),
        weights={kind: Weight(**weight) for kind, weight in document["weights"].items()},
        peak_mb=document["peak_mb"],
    )
