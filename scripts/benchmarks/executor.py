"""`scripts/bench executor`: what other engines cost beside local processes, and what limits a very large build."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import ours
from benchmarks.executor_cluster import BesideCpu, ray_of_this_machine
from benchmarks.executor_handing import Handed, measure_handing
from benchmarks.executor_limits import Limits, measure_limits
from benchmarks.executor_projection import CAMERAS, Clock, Projection, Target, project
from benchmarks.footage import Footage
from benchmarks.measuring import Measured, OtherDataset, run
from benchmarks.trees import plans, write_tree
from benchmarks.work import once
from quickdraw.pipeline.trace import fingerprint_of

type Say = Callable[[str], None]

LOCAL, RAY, SLURM = ENGINES = ("local", "ray", "slurm")
GOAL = 1.10  # of local's wall time, for Ray
EMPTY_TASKS = 1000  # that are handed on, and five times as many


@dataclass(frozen=True, slots=True)
class ExecutorOptions:
    """A tree of `runs` of `seconds`, each engine `repeats` times, with `workers`.

    `sizes` are (runs, seconds) of builds to project from, by what a `clock` tells.
    """

    runs: int
    seconds: float
    repeats: int
    workers: int
    sizes: Sequence[tuple[int, float]]
    noise_levels: float
    target: Target
    clock: Clock

    @property
    def tree(self) -> dict[str, Any]:
        """What the raw trees depend on."""
        return {"runs": self.runs, "seconds": self.seconds, "sizes": self.sizes, "noise_levels": self.noise_levels}


@dataclass(slots=True)
class Engines:
    """Engine -> the cost of whole commands, and of handing on a task that does nothing.

    `made` is the fingerprint of what each command made.
    """

    tasks: int
    made: list[str | None] = field(default_factory=list)
    costs: dict[str, list[Measured]] = field(default_factory=lambda: {engine: [] for engine in ENGINES})
    handed: dict[str, Handed] = field(default_factory=dict)

    def ratios(self) -> dict[str, float]:
        """Of each engine's cost by local's of the same round, the median."""
        return {
            f"{engine} / {LOCAL}, {name}": median(
                getattr(cost, figure) / getattr(local, figure)
                for cost, local in zip(self.costs[engine], self.costs[LOCAL], strict=True)
            )
            for engine in (RAY, SLURM)
            for name, figure in (("wall", "wall_s"), ("CPU", "cpu_s"), ("MB of the driver", "parent_peak_mb"))
        }


@dataclass(frozen=True, slots=True)
class Measurements:
    """All of it."""

    options: ExecutorOptions
    engines: Engines
    limits: Limits
    projections: Mapping[str, Projection]


def measure_executor(options: ExecutorOptions, folder: Path, say: Say) -> Measurements:
    """Make the trees where there are none yet, and measure everything."""
    say("drawing footage")
    lengths_s = [options.seconds, *(seconds for _, seconds in options.sizes)]
    footage = Footage(folder / "footage", max(lengths_s), options.noise_levels)
    footage.draw()
    limits = measure_limits(list(options.sizes), footage, folder, say)
    engines = _measure_engines(options, _mean_task_bytes(limits), footage, folder, say)
    return Measurements(options, engines, limits, _projections(options, limits, engines))


def _projections(options: ExecutorOptions, limits: Limits, engines: Engines) -> dict[str, Projection]:
    """Engine -> a build from nothing by it; and one with no change, which hands on no task."""
    target, clock = options.target, options.clock
    found = {
        engine: project(limits.built, target, clock, handed.driver_cpu_ms / 1e3)
        for engine, handed in engines.handed.items()
    }
    return {**found, "no change": project(limits.again, target, clock)}


def _mean_task_bytes(limits: Limits) -> int:
    """Of the map stage, of which there are most."""
    weights = [point.weights["run_task PicturesTask"] for point in limits.built]
    return sum(weight.bytes for weight in weights) // sum(weight.tasks for weight in weights)


def _measure_engines(options: ExecutorOptions, task_bytes: int, footage: Footage, folder: Path, say: Say) -> Engines:
    with once(folder, "raw") as new:
        if new is not None:
            write_tree(new, plans(runs=options.runs, seconds=options.seconds), footage)
    engines = Engines(tasks=options.runs * (CAMERAS + 1))
    with ExitStack() as open_now:
        say("starting a Ray cluster")
        address, beside = open_now.enter_context(ray_of_this_machine(options.workers))
        for repeat in range(options.repeats):
            for engine in (*ENGINES[repeat % len(ENGINES) :], *ENGINES[: repeat % len(ENGINES)]):  # in turn first
                say(f"{engine}, {repeat + 1} of {options.repeats}")
                engines.costs[engine].append(_build(engine, options, address, beside, folder))
                engines.made.append(fingerprint_of(folder / "built" / engine))
        if len(set(engines.made)) > 1:
            raise OtherDataset(f"engines made different datasets: {engines.made}")
        for engine in ENGINES:
            say(f"{engine}, tasks that do nothing")
            engines.handed[engine] = measure_handing(engine, EMPTY_TASKS, task_bytes, options.workers, address)
    return engines


def _build(engine: str, options: ExecutorOptions, address: str, beside: BesideCpu, folder: Path) -> Measured:
    """The whole command by an engine, with the CPU time of the cluster where its tasks ran there."""
    output = folder / "built" / engine
    shutil.rmtree(output.parent, ignore_errors=True)
    asked = ours.options(folder / "raw", output, options.workers)
    before_s = beside.taken_s()
    cost = run(ours.command(*asked, *engine_options(engine, options.workers, address))).cost
    return replace(cost, cpu_s=cost.cpu_s + beside.taken_s() - before_s) if engine == RAY else cost


def engine_options(engine: str, workers: int, address: str) -> list[str]:
    """What chooses an engine with so many workers on this machine."""
    of_engine = {
        LOCAL: {},
        RAY: {"address": address},
        SLURM: {"cluster": "local", "jobs": "1", "job_cpus": str(workers)},
    }
    return [f"+executor={engine}", *(f"+executor.{name}={value}" for name, value in of_engine[engine].items())]


def as_document(measured: Measurements) -> dict[str, Any]:
    """Everything, JSON-ready."""
    return {
        "options": asdict(measured.options),
        "engines": asdict(measured.engines),
        "ratios": measured.engines.ratios(),
        "points": asdict(measured.limits),
        "projections": {
            name: {
                "total_s": projection.total_s,
                "floor_s": projection.floor_s,
                "stages_s": projection.stages_s,
                "lines": [asdict(line) | {"spread": line.spread and line.spread.name} for line in projection.lines],
            }
            for name, projection in measured.projections.items()
        },
    }
