"""Functions of tasks for jobs, which import them by name. Tasks carry a folder in which they leave traces."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

Task = tuple[Path, int]


def note(place: Path, number: int) -> int:
    """Leave a trace; how many there are of this task."""
    with (place / f"begun-{number}").open("a") as file:
        file.write(f"{os.getpid()}\n")
    return len((place / f"begun-{number}").read_text().splitlines())


def wait_for(path: Path) -> None:
    until = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < until, f"{path} never came"
        time.sleep(0.02)


def noted(task: Task) -> int:
    note(*task)
    return task[1]


def gated(task: Task) -> int:
    """Ends when the gate of this number is open; the first is open."""
    place, number = task
    note(place, number)
    if number:
        wait_for(place / f"open-{number}")
    return number


def fussy(task: Task) -> int:
    """The third fails, the fifth kills its worker each time, the seventh kills the whole job once."""
    place, number = task
    times = note(place, number)
    if number == 3:
        raise FileNotFoundError(2, "No such file or directory", "/a/b")
    if number == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 7 and times == 1:
        kill_job()
    return number


def deadly(task: Task) -> int:
    """The first kills the whole job, each time."""
    place, number = task
    note(place, number)
    if number == 0:
        kill_job()
    return number


def kill_job() -> None:
    """All processes of this one's session, as a node that goes down does."""
    os.killpg(os.getpgid(0), signal.SIGKILL)


def beat(task: Task) -> int:
    """Goes on writing until it is killed."""
    place, number = task
    while True:
        (place / f"beat-{number}").write_text(str(time.time_ns()))
        time.sleep(0.01)
