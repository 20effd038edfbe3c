"""What executors have to master, run on one of them: a line of JSON for each scenario, with what was seen, in `seen`.

Arguments: an engine (inline, local, ray, slurm), what it needs to know (nothing, workers, an address, a folder), a
folder that all workers see; and `abandoned`, where it is to be this scenario, which has no end.
"""

from __future__ import annotations

import errno
import importlib
import json
import os
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from quickdraw.errors import Fault, Refused, VideoError, Words
from quickdraw.pipeline.executors import Executor

type Seen = dict[str, Any]
MANY = 100_000


class Unkind(Exception):
    """It pickles, but cannot be unpickled."""

    def __init__(self, file: str, line: int) -> None:
        super().__init__(f"{file}:{line}")


ERRORS: dict[str, Exception] = {
    "refused": Refused([Fault("c/r", "x", "1", "2", path="p", line=3)], 7, Words("task", "take", "task/take")),
    "video": VideoError("a.mp4", "12 pictures", "13"),
    "os": FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "/a/b"),
    "unkind": Unkind("file", 4),
    "disk": OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/full"),
}


@dataclass(frozen=True)
class Do:
    """A task: it notes in a folder that it was begun, does what it is to do, and returns its number."""

    folder: Path
    number: int
    what: str = ""

    def __str__(self) -> str:
        return f"number {self.number} of {self.folder.name}"

    def begun(self) -> int:
        """How often it was."""
        return len(list(self.folder.glob(f"{self.number}.*")))


def do(task: Do) -> int:
    """Run a task, in whatever process."""
    task.folder.joinpath(f"{task.number}.{uuid4().hex}").touch()
    if task.what in ERRORS:
        raise ERRORS[task.what]
    if task.what == "die" or (task.what == "die once" and task.begun() == 1):
        os.kill(os.getpid(), signal.SIGKILL)
    while task.what == "write on":
        with task.folder.joinpath("written").open("a") as file:
            file.write("x")
        time.sleep(0.01)
    return task.number


@dataclass(frozen=True)
class Times:
    """What a task is multiplied by: `function` may be a method of something."""

    factor: int

    def of(self, number: int) -> int:
        """The product."""
        return number * self.factor


def process(_: int) -> int:
    """Where a task runs."""
    time.sleep(0.05)
    return os.getpid()


def told(error: BaseException) -> Seen:
    """An error as the caller has it."""
    names = ("faults", "runs", "words", "path", "found", "expected", "errno", "filename")
    data = {name: getattr(error, name) for name in names if hasattr(error, name)}
    data |= {"faults": [str(fault) for fault in data["faults"]], "words": data["words"].one} if "faults" in data else {}
    return {"type": type(error).__name__, "text": str(error), "data": data, "notes": getattr(error, "__notes__", [])}


def outcome(results: Iterator[int]) -> tuple[list[int], Seen | None]:
    """All that comes, and by which error it ends."""
    had = list[int]()
    try:
        for result in results:
            had.append(result)
    except Exception as error:
        return had, told(error)
    return had, None


def stages(executor: Executor, folder: Path) -> Seen:
    """Two stages and an empty one: results, and how often each task was begun."""
    first = sorted(executor.run(do, [Do(folder, number) for number in range(12)]))
    begun = Counter(name.name.partition(".")[0] for name in folder.iterdir())
    empty = list(executor.run(do, []))
    return {"first": first, "begun": begun, "empty": empty, "second": sorted(executor.run(Times(3).of, [1, 2]))}


def gone(executor: Executor, folder: Path) -> Seen:
    """A stage while a place that workers must see is there, and one when it is gone."""
    place = folder / "lock"
    place.write_text("whose")
    executor.refuse_unseen(place)
    before = list(executor.run(abs, [-1]))
    place.unlink()
    return {"before": before, "after": list(executor.run(abs, [-2]))}


def followers(executor: Executor, folder: Path) -> Seen:
    """What results make possible: halves of even numbers, before the rest, asked when the caller had the result."""
    had, early = list[int](), 0

    def then(number: int) -> list[int]:
        nonlocal early
        early += number not in had
        return [] if number % 2 else [number // 2]

    for result in executor.run(abs, [12, *range(101, 141, 2), 2], then):
        had.append(result)
    return {"results": sorted(had), "early": early, "third": had.index(3), "last": had.index(1)}


def error_of(name: str) -> Callable[[Executor, Path], Seen]:
    """A scenario: what the caller gets of a task's exception."""

    def scenario(executor: Executor, folder: Path) -> Seen:
        return outcome(executor.run(do, [Do(folder, 0, name)]))[1] or {}

    return scenario


def failing(executor: Executor, folder: Path) -> Seen:
    """Two of twelve tasks fail."""
    what = {3: "os", 5: "os"}
    results, error = outcome(executor.run(do, [Do(folder, number, what.get(number, "")) for number in range(12)]))
    return {"results": sorted(results), "error": error}


def drawn(executor: Executor, folder: Path, *, first: str, others: str, wanted: int) -> Seen:
    """How far an iterable of 100,000 tasks is read by a caller who wants some results, and how that ends."""
    read = 0

    def tasks() -> Iterator[Do]:
        nonlocal read
        for number in range(MANY):
            read += 1
            yield Do(folder, number, others if number else first)

    results = executor.run(do, tasks())
    had, error = outcome(result for result, _ in zip(results, range(wanted), strict=False))
    return {"read": read, "results": len(had), "error": error}


def back_pressure(executor: Executor, folder: Path) -> Seen:
    """The caller stops after five results."""
    return drawn(executor, folder, first="", others="", wanted=5)


def failing_all(executor: Executor, folder: Path) -> Seen:
    """Every task fails."""
    return drawn(executor, folder, first="video", others="video", wanted=MANY)


def full_disk(executor: Executor, folder: Path) -> Seen:
    """One task finds no room to write; the caller would take all others."""
    return drawn(executor, folder, first="disk", others="", wanted=MANY)


def dying_once(executor: Executor, folder: Path) -> Seen:
    """A task kills its worker the first time."""
    task = Do(folder, 5, "die once")
    results, error = outcome(executor.run(do, [task if n == 5 else Do(folder, n) for n in range(12)]))
    return {"results": sorted(results), "error": error, "begun": task.begun()}


def dying_always(executor: Executor, folder: Path) -> Seen:
    """A task kills its worker each time."""
    task = Do(folder, 5, "die")
    results, error = outcome(executor.run(do, [task if n == 5 else Do(folder, n) for n in range(12)]))
    return {"results": sorted(results), "error": error, "begun": task.begun(), "name": str(task)}


def dying_idle(executor: Executor, folder: Path) -> Seen:
    """Workers are killed between two stages."""
    for worker in {*executor.run(process, range(8))} - {os.getpid()}:
        if Path(f"/proc/{worker}").exists():
            os.kill(worker, signal.SIGKILL)
    results, error = outcome(executor.run(do, [Do(folder, number) for number in range(8)]))
    return {"results": sorted(results), "error": error}


def stopped(executor: Executor, folder: Path) -> Seen:
    """The caller stops after a result while others write on: what is written when it stops, and later."""
    results = executor.run(do, [Do(folder, 0), *(Do(folder, number, "write on") for number in range(1, 6))])
    next(results)
    written, until = folder / "written", time.monotonic() + 20
    written.touch()
    while written.stat().st_size < 20 and time.monotonic() < until:
        time.sleep(0.01)
    executor.stop()
    at_once = written.stat().st_size
    time.sleep(0.3)
    return {"at_once": at_once, "later": written.stat().st_size}


def abandoned(executor: Executor, folder: Path) -> Seen:
    """Tasks write on until somebody kills the caller."""
    return {"results": list(executor.run(do, [Do(folder, number, "write on") for number in range(3)]))}


ELSEWHERE = (dying_once, dying_always, dying_idle, stopped)  # what makes no sense where the caller is the worker
SCENARIOS: dict[str, Callable[[Executor, Path], Seen]] = {
    "stages": stages,
    "gone": gone,
    "followers": followers,
    **{f"error {name}": error_of(name) for name in ("refused", "unkind")},
    **{scenario.__name__: scenario for scenario in (failing, back_pressure, failing_all, full_disk, *ELSEWHERE)},
}


def opened(engine: str, known: str) -> AbstractContextManager[Executor]:
    """The executor."""
    if engine == "inline":
        from quickdraw.pipeline.executors.inline import Inline

        return nullcontext(Inline())
    if engine == "ray":
        from quickdraw.pipeline.executors.ray_cluster import ray_cluster

        return ray_cluster(address=known, task_cpus=1, task_memory_mb=None, retries=1, workers=None)
    if engine == "slurm":
        from quickdraw.pipeline.executors.slurm import slurm_jobs

        return slurm_jobs(
            folder=Path(known), cluster="local", partition=None, account=None, qos=None, constraint=None, jobs=2,
            job_cpus=1, job_memory_gb=None, job_minutes=5, job_tasks=8, here=0, workers=1,
        )  # fmt: skip
    from quickdraw.pipeline.executors.local import local_processes

    return local_processes(int(known))


def run_all(engine: str, known: str, place: str, only: str = "") -> Iterable[tuple[str, Seen]]:
    """Every scenario and what was seen."""
    with opened(engine, known) as executor:
        for name, scenario in ({only: abandoned} if only == abandoned.__name__ else SCENARIOS).items():
            if (engine == "inline" and scenario in ELSEWHERE) or (engine == "slurm" and scenario is dying_idle):
                continue
            folder, since = Path(place) / name.replace(" ", "-"), time.monotonic()
            folder.mkdir(parents=True)
            try:
                seen = scenario(executor, folder)
            except Exception:
                seen = {"broke": traceback.format_exc()}
            yield name, seen | {"seconds": round(time.monotonic() - since, 2)}


def main() -> None:
    """One line each, as it is seen, in the folder: what is printed is somebody else's."""
    for name, seen in run_all(*sys.argv[1:]):
        with (Path(sys.argv[3]) / "seen").open("a") as lines:
            print(json.dumps([name, seen]), file=lines)


if __name__ == "__main__":  # by its name, under which workers find what they are to do
    importlib.import_module(Path(__file__).stem).main()
