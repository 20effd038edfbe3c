"""`scripts/bench speed`: our build, its core, bare ffmpeg and the usual path, side by side in one run."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import core, ours
from benchmarks.floor import run_floor
from benchmarks.footage import Footage
from benchmarks.measuring import Measured, run
from benchmarks.ours import Task
from benchmarks.trees import LONG_CAMPAIGN, RunPlan, plans, write_tree
from benchmarks.usual import Usual, Video, files_of_one_run, measure_usual, our_video
from benchmarks.usual_path import SETTINGS
from benchmarks.work import once

type Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class SpeedOptions:
    """What is measured: runs and their lengths [s], how often, and on how many processes."""

    runs: int
    seconds: float
    long_runs: int
    long_seconds: float
    repeats: int
    workers: int
    usual: bool
    usual_cameras: int
    noise_levels: float

    @property
    def tree(self) -> dict[str, Any]:
        """What the raw tree depends on."""
        names = ("runs", "seconds", "long_runs", "long_seconds", "noise_levels")
        return {name: getattr(self, name) for name in names}


@dataclass(slots=True)
class Speed:
    """What was measured. `repeats` holds floor, core and ours, each repeat of them; `once` what was run once.

    `core_tasks_cpu_s` is, per repeat, what transcoding alone took of the core's CPU: no start of processes, no imports.
    """

    options: SpeedOptions
    footage: dict[str, float]
    repeats: dict[str, list[Measured]] = field(default_factory=lambda: {"floor": [], "core": [], "ours": []})
    core_tasks_cpu_s: list[float] = field(default_factory=list)
    once: dict[str, Measured] = field(default_factory=dict)
    usual: dict[str, Usual] = field(default_factory=dict)
    our_video: Video | None = None


def measure_speed(options: SpeedOptions, folder: Path, say: Say) -> Speed:
    """Make the tree where there is none yet, and measure everything."""
    say("drawing and cutting footage")
    tree = make_tree(options, folder)
    task = ours.task_of(tree)
    speed = Speed(options, footage_of(task))
    for repeat in range(options.repeats):
        say(f"floor, core and ours, {repeat + 1} of {options.repeats}")
        _measure_once_more(speed, tree, task, folder)
    say("rebuilds")
    _measure_rebuilds(speed, tree, folder)
    if options.usual:
        _measure_usual(speed, task, folder, say)
    return speed


def make_tree(options: SpeedOptions, folder: Path) -> Path:
    """The raw tree of these options in `folder`."""
    planned = plans(runs=options.runs, seconds=options.seconds)
    planned += [RunPlan(LONG_CAMPAIGN, options.long_seconds)] * options.long_runs
    footage = Footage(folder / "footage", max(plan.seconds for plan in planned), options.noise_levels)
    footage.draw()
    with once(folder, "raw") as new:
        if new is not None:
            write_tree(new, planned, footage)
    return folder / "raw"


def footage_of(task: Task) -> dict[str, float]:
    """How much there is: `pictures` in the camera files, which costs are counted per, and `rows` made of them."""
    by_run = {file.run: file.rows for file in task.files}
    return {
        "runs": len(by_run),
        "camera_files": len(task.files),
        "rows": sum(by_run.values()),
        "pictures": sum(file.pictures for file in task.files),
        "episode_minutes": sum(by_run.values()) / task.rate_hz / 60,
        "camera_minutes": sum(file.pictures for file in task.files) / task.rate_hz / 60,
        "bytes": sum(file.path.stat().st_size for file in task.files),
    }


def _measure_once_more(speed: Speed, tree: Path, task: Task, folder: Path) -> None:
    workers = speed.options.workers
    files = [file.path for file in task.files]
    speed.repeats["floor"].append(run_floor(files, folder / "floor", task.encoding, workers)[0])

    (folder / "core").mkdir(exist_ok=True)
    pairs = zip(task.files, _clips(task, folder), strict=True)
    core.write_tasks([core.Clip(file.plan, clip, task.encoding) for file, clip in pairs], folder / "core.tasks")
    ran = run(core.core_command(folder / "core.tasks", workers), env=ours.environment())
    speed.repeats["core"].append(ran.cost)
    speed.core_tasks_cpu_s.append(core.tasks_cpu_s(ran.stdout))

    shutil.rmtree(folder / "ours", ignore_errors=True)
    speed.repeats["ours"].append(run(ours.command(*ours.options(tree, _output(folder), workers))).cost)


def _measure_rebuilds(speed: Speed, tree: Path, folder: Path) -> None:
    """What costs nothing or little: on the dataset that the last repeat left."""
    asked = ours.options(tree, _output(folder), speed.options.workers)
    speed.once["help"] = run(ours.command("--help")).cost
    speed.once["dry run"] = run(ours.command(*asked, "+dry_run=true")).cost
    speed.once["no change"] = run(ours.command(*asked)).cost
    speed.once["split only"] = run(ours.command(*asked, "+source.val_floor=3")).cost


def _measure_usual(speed: Speed, task: Task, folder: Path, say: Say) -> None:
    files = files_of_one_run(task, speed.options.usual_cameras)
    for setting in SETTINGS:
        say(f"usual path, {setting}")
        speed.usual[setting] = measure_usual(setting, files, task, folder)
    by_path = dict(zip((file.path for file in task.files), _clips(task, folder), strict=True))
    speed.our_video = our_video(files, [by_path[file.path] for file in files])


def _clips(task: Task, folder: Path) -> list[Path]:
    return [folder / "core" / f"{number:04d}.mp4" for number in range(len(task.files))]


def _output(folder: Path) -> Path:
    return folder / "ours" / "dataset"


def as_document(speed: Speed) -> dict[str, Any]:
    """Everything, JSON-ready."""
    return asdict(speed)
