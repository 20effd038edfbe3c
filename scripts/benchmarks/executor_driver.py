"""A build by the door with a stopwatch in it: what each section of its driver costs, and what its tasks do.

`python -m benchmarks.executor_driver <file to write> <options of a build>`. Tasks run where they would, in processes;
sections are timed one in another, so that their times add up to the command's.
"""

from __future__ import annotations

import importlib
import json
import pickle
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from enum import Enum
from functools import wraps
from pathlib import Path
from typing import Any

from quickdraw.data import processors
from quickdraw.pipeline.executors import Executor

SAMPLED = 50  # of so many tasks one is pickled once more, to be weighed
STARTING, WAITING, NAMING, WEIGHING = "starting, and the rest", "handing tasks on", "naming tasks", "(weighing)"
# Section -> the functions whose time it is, less that of sections within. What the driver does, it does alone.
SECTIONS = {
    "listing campaigns": ("pipeline.plan._read_tree",),
    "looking for unchanged runs": ("pipeline.plan.read_plans", "pipeline.plan_index.PlanIndex.known"),
    "keeping plans, splits": ("pipeline.plan.make_plan",),
    "saying what there is": ("pipeline.progress.tell",),
    "the index of plans": ("pipeline.build.write_plans",),
    "the index of digests": tuple(f"pipeline.digests.DigestIndex.{name}" for name in ("__init__", "known", "add")),
    "known digests, members": ("pipeline.build._Stages.known", "pipeline.build._Stages.members"),
    "results of the map stage": ("pipeline.map_stage.MapStage.run",),
    "which video file a clip goes to": ("pipeline.map_stage.plan_reel", "pipeline.build.plan_reel"),
    "what pictures show, by split": ("pipeline.build._Stages.shown", "pipeline.build._Stages.with_cubes"),
    "measured statistics": ("pipeline.build._Stages.measure",),
    "packing: what is left of it": ("pipeline.build._Stages.pack",),
    "provenance and summary": tuple(
        f"pipeline.build.{name}" for name in ("summary", "write_provenance", "provenance_fingerprint")
    ),
    "the inventory": ("pipeline.build.take_inventory",),
    "findings of the checks": ("pipeline.build.verify_structure",),
    "what is published already": ("pipeline.build.is_whole",),
    "publishing, down to the disk": ("pipeline.build.publish",),
    "how the dataset looks": ("pipeline.build.remember",),
    "removing parts": ("pipeline.build.build",),
    "the page": ("report.views.refresh",),
    "what came of it": ("pipeline.outcome.published",),
}


@dataclass(slots=True)
class Cost:
    """Of a section: how often it was entered, and its own time [s], without that of sections within.

    `beside` is whose tasks were under way meanwhile, if any: that time passes while workers work.
    """

    section: str
    beside: str

    calls: int = 0
    wall_s: float = 0.0
    cpu_s: float = 0.0


@dataclass(slots=True)
class Tasks:
    """Of one kind of task of a stage: how many, their time [s], and that of the longest, by either clock."""

    stage: str
    kind: str
    count: int = 0
    wall_s: float = 0.0
    cpu_s: float = 0.0
    longest_wall_s: float = 0.0
    longest_cpu_s: float = 0.0


@dataclass(slots=True)
class Weight:
    """Of a type of task of a stage, pickled, as far as they were weighed."""

    tasks: int = 0
    bytes: int = 0
    largest_bytes: int = 0


@dataclass(slots=True)
class Watch:
    """Everything of one build."""

    sections: dict[tuple[str, str], Cost] = field(default_factory=dict)
    tasks: dict[str, Tasks] = field(default_factory=dict)
    weights: dict[str, Weight] = field(default_factory=dict)
    beside: list[str] = field(default_factory=lambda: [""])
    open: list[str] = field(default_factory=lambda: [STARTING])
    wall_s: float = field(default_factory=time.perf_counter)
    cpu_s: float = field(default_factory=time.process_time)

    def charge(self) -> None:
        """What has passed since the last look is the innermost section's."""
        wall_s, cpu_s = time.perf_counter(), time.process_time()
        cost = self._cost()
        cost.wall_s += wall_s - self.wall_s
        cost.cpu_s += cpu_s - self.cpu_s
        self.wall_s, self.cpu_s = wall_s, cpu_s

    def _cost(self) -> Cost:
        key = self.open[-1], self.beside[-1]
        return self.sections.setdefault(key, Cost(*key))

    @contextmanager
    def running(self, stage: str) -> Iterator[None]:
        """Tasks of a stage are under way until the block is left."""
        self.charge()
        self.beside.append(stage)
        try:
            yield
        finally:
            self.charge()
            self.beside.pop()

    @contextmanager
    def within(self, section: str) -> Iterator[None]:
        """A section, for as long as the block lasts."""
        self.charge()
        self.open.append(section)
        self._cost().calls += 1
        try:
            yield
        finally:
            self.charge()
            self.open.pop()

    def timed[**P, R](self, section: str, function: Callable[P, R]) -> Callable[P, R]:
        """The function, as a section."""

        @wraps(function)
        def within(*arguments: P.args, **named: P.kwargs) -> R:
            with self.within(section):
                return function(*arguments, **named)

        return within

    def drawn[T](self, section: str, items: Iterable[T]) -> Iterator[T]:
        """The items; making each of them is a section."""
        iterator = iter(items)
        while True:
            with self.within(section):
                try:
                    item = next(iterator)
                except StopIteration:
                    return
            yield item


@dataclass(frozen=True, slots=True)
class Timed[T, R]:
    """A function of tasks that tells what each one took, in whatever process."""

    function: Callable[[T], R]

    def __call__(self, task: T) -> tuple[R, str, float, float]:
        """The result, the kind of task, wall and CPU time [s]."""
        wall_s, cpu_s = time.perf_counter(), time.process_time()
        result = self.function(task)
        kind = kind_of(self.function, task, result)
        return result, kind, time.perf_counter() - wall_s, time.process_time() - cpu_s


def kind_of(function: Callable[..., Any], task: object, result: object) -> str:
    """The function, what it was given, and whether anything had to be made: ready-made parts cost next to nothing."""
    body = body_of(task)
    share = getattr(body, "kind", None)
    words = [name_of(function), type(body).__name__]
    words += [share.name] if isinstance(share, Enum) else []
    words += ["ready"] if getattr(result, "new", None) == 0 else []
    return " ".join(words)


@dataclass(frozen=True, slots=True)
class Watched:
    """An executor whose tasks are timed where they run, and whose driver is timed here."""

    inner: Executor
    watch: Watch

    @property
    def workers(self) -> int:
        """Of the executor it is."""
        return self.inner.workers

    def refuse_unseen(self, place: Path) -> None:
        """As it would."""
        self.inner.refuse_unseen(place)

    def stop(self) -> None:
        """As it would."""
        self.inner.stop()

    def run[T, R](
        self, function: Callable[[T], R], tasks: Iterable[T], then: Callable[[R], Iterable[T]] | None = None
    ) -> Iterator[R]:
        """As it would."""
        watch, stage = self.watch, name_of(function)
        first = self._weighed(stage, watch.drawn(NAMING, tasks))
        further = None if then is None else lambda told: watch.drawn(NAMING, then(told[0]))
        ran = watch.drawn(WAITING, self.inner.run(Timed(function), first, further))
        with watch.running(stage):
            for result, kind, wall_s, cpu_s in ran:
                found = watch.tasks.setdefault(kind, Tasks(stage, kind))
                found.count += 1
                found.wall_s += wall_s
                found.cpu_s += cpu_s
                found.longest_wall_s = max(found.longest_wall_s, wall_s)
                found.longest_cpu_s = max(found.longest_cpu_s, cpu_s)
                yield result

    def _weighed[T](self, stage: str, tasks: Iterable[T]) -> Iterator[T]:
        counted = Counter[str]()
        for task in tasks:
            kind = f"{stage} {type(body_of(task)).__name__}"
            if counted[kind] % SAMPLED == 0:
                with self.watch.within(WEIGHING):
                    size = len(pickle.dumps(task))
                weight = self.watch.weights.setdefault(kind, Weight())
                weight.largest_bytes = max(weight.largest_bytes, size)
                weight.bytes += size
                weight.tasks += 1
            counted[kind] += 1
            yield task


def body_of(task: object) -> object:
    """A task without its number."""
    return task[1] if isinstance(task, tuple) and len(task) == 2 else task


def name_of(function: Callable[..., Any]) -> str:
    """Of a stage: that of the function its tasks are given to."""
    return getattr(function, "__name__", type(function).__name__)


def places(section: str) -> Iterator[tuple[Any, str]]:
    """Where a section's functions are looked up: a module or class, and a name in it. Raises AttributeError."""
    for path in SECTIONS[section]:
        module, _, names = path.partition(".")
        home: Any = importlib.import_module(f"quickdraw.{module}.{names.partition('.')[0]}")
        *outer, name = names.split(".")[1:]
        for each in outer:
            home = getattr(home, each)
        getattr(home, name)
        yield home, name


def watch_build(arguments: list[str]) -> tuple[int, Watch]:
    """Run a build by the door, watched; its exit code."""
    watch = Watch()
    for section in SECTIONS:
        for home, name in places(section):
            setattr(home, name, watch.timed(section, getattr(home, name)))
    local = processors.EXECUTORS["local"]

    @contextmanager
    def watched(config: Any) -> Iterator[Executor]:
        with local(config) as inner:
            yield Watched(inner, watch)

    processors.EXECUTORS["local"] = watched
    code = processors.main(arguments)
    watch.charge()
    return code, watch


def _peak_mb() -> float:
    status = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in status if line.startswith("VmHWM")).split()[1]) * 1024 / 1e6


def main() -> int:
    """The build's exit code, after writing what was seen."""
    code, watch = watch_build(sys.argv[2:])
    document = {
        "sections": [asdict(cost) for cost in watch.sections.values()],
        "tasks": [asdict(tasks) for tasks in watch.tasks.values()],
        "weights": {kind: asdict(weight) for kind, weight in watch.weights.items()},
        "peak_mb": _peak_mb(),
    }
    Path(sys.argv[1]).write_text(json.dumps(document), encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
