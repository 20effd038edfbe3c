"""What every executor promises, whatever the engine: each runs the same scenarios once, in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

type Once = Callable[[str, Callable[[Path], None]], Path]
type Seen = Mapping[str, Any]
type Seeing = Callable[[str], Seen]

SCRIPT = Path(__file__).resolve().parent / "scripts" / "executor_scenarios.py"
# Jobs and nodes find the scenarios where this process does.
PLACES = os.pathsep.join(filter(None, [str(SCRIPT.parent), os.environ.get("PYTHONPATH")]))
ENVIRONMENT = os.environ | {"PYTHONPATH": PLACES}
ENGINES = ["inline", "local 1", "local 2", "ray", "slurm"]
GONE = {
    "type": "FileNotFoundError",
    "text": "[Errno 2] No such file or directory: '/a/b'",
    "data": {"errno": 2, "filename": "/a/b"},
}


def run(engine: str, known: str, folder: Path) -> None:
    """All scenarios; what was seen, and what was said, is kept in the folder."""
    folder.mkdir()
    command = [sys.executable, str(SCRIPT), engine, known, str(folder)]
    with (folder / "said").open("w") as said:
        done = subprocess.run(command, stdout=said, stderr=said, timeout=300, env=ENVIRONMENT, check=False)
    assert done.returncode == 0, (folder / "said").read_text()


def known_of(engine: str, request: pytest.FixtureRequest, jobs: Path) -> tuple[str, str]:
    """The first arguments of the script; `jobs` is a folder for those of Slurm."""
    name, _, workers = engine.partition(" ")
    if name == "ray":
        return name, request.getfixturevalue("ray_nodes").address
    return name, str(jobs) if name == "slurm" else workers


@pytest.fixture(params=ENGINES)
def seen(request: pytest.FixtureRequest, once: Once) -> Seeing:
    """What was seen of a scenario on an engine."""
    engine: str = request.param

    def make(folder: Path) -> None:
        run(*known_of(engine, request, folder / "jobs"), folder)

    folder = once(f"executor-{engine.replace(' ', '-')}", make)
    scenarios: dict[str, Seen] = dict(map(json.loads, (folder / "seen").read_text().splitlines()))
    scenarios["said"] = {"lines": (folder / "said").read_text().splitlines()}

    def of(scenario: str) -> Seen:
        assert scenario in scenarios
        assert "broke" not in scenarios[scenario], scenarios[scenario]["broke"]
        return scenarios[scenario]

    return of


elsewhere = pytest.mark.parametrize("seen", ENGINES[1:], indirect=True)  # where a worker is not the caller


def test_every_task_is_done_once_and_workers_serve_several_stages(seen: Seeing) -> None:
    found = seen("stages")
    assert found["first"] == list(range(12))
    assert found["begun"] == {str(number): 1 for number in range(12)}
    assert found["empty"] == []
    assert found["second"] == [3, 6]


def test_a_place_that_is_gone_later_is_not_asked_for(seen: Seeing) -> None:
    found = seen("gone")
    assert (found["before"], found["after"]) == ([1], [2])


def test_what_a_result_makes_possible_is_done_too_before_the_rest_and_asked_for_after_it(seen: Seeing) -> None:
    found = seen("followers")
    assert found["results"] == sorted([12, 6, 3, 2, 1, *range(101, 141, 2)])
    assert found["third"] < found["last"]
    assert found["early"] == 0


def test_a_refusal_of_a_task_reaches_the_caller_whole(seen: Seeing) -> None:
    found = seen("error refused")
    assert found["type"] == "Refused"
    assert found["data"] == {"faults": ["c/r: p:3: x: found 1, expected 2"], "runs": 7, "words": "take"}


def test_of_an_error_that_cannot_travel_the_caller_has_the_name_and_the_words(seen: Seeing) -> None:
    found = seen("error unkind")
    assert "Unkind" in f"{found['type']} {found['text']}"
    assert "file:4" in found["text"]


def test_one_failure_does_not_lose_the_others_and_reaches_the_caller_whole(seen: Seeing) -> None:
    found = seen("failing")
    assert found["results"] == sorted({*range(12)} - {3, 5})
    assert found["error"].items() >= GONE.items()
    assert found["error"]["notes"][-1].startswith("1 further task failed, the last by FileNotFoundError")


def test_many_failures_end_it(seen: Seeing) -> None:
    found = seen("failing_all")
    assert found["error"]["type"] == "VideoError"
    assert found["error"]["data"] == {"path": "a.mp4", "found": "12 pictures", "expected": "13"}
    assert found["read"] < 100


def test_a_full_disk_ends_it_at_once(seen: Seeing) -> None:
    found = seen("full_disk")
    assert found["error"]["data"] == {"errno": 28, "filename": "/full"}
    assert found["read"] < 100


def test_of_a_hundred_thousand_tasks_only_those_are_read_that_can_begin(seen: Seeing) -> None:
    found = seen("back_pressure")
    assert (found["results"], found["error"]) == (5, None)
    assert found["read"] < 100


@elsewhere
def test_a_worker_that_is_killed_once_is_survived(seen: Seeing) -> None:
    found = seen("dying_once")
    assert (found["results"], found["error"]) == (list(range(12)), None)
    assert found["begun"] > 1


@elsewhere
def test_a_task_that_kills_every_worker_is_named_and_the_others_are_done(seen: Seeing) -> None:
    found = seen("dying_always")
    assert found["results"] == sorted({*range(12)} - {5})
    assert found["error"]["type"] == "WorkerDied"
    assert found["error"]["text"].startswith(f"{found['name']}: ")
    assert 2 <= found["begun"] <= 4


@pytest.mark.parametrize("seen", [engine for engine in ENGINES[1:] if engine != "slurm"], indirect=True)
def test_workers_that_die_while_they_wait_are_replaced(seen: Seeing) -> None:
    found = seen("dying_idle")
    assert (found["results"], found["error"]) == (list(range(8)), None)


@elsewhere
def test_a_caller_that_stops_early_is_the_last_to_write(seen: Seeing) -> None:
    found = seen("stopped")
    assert found["at_once"] >= 20
    assert found["later"] == found["at_once"]


@pytest.mark.parametrize("engine", ["local 2", "ray"])  # jobs are ended by the next caller: see test_slurm
def test_workers_of_a_caller_that_is_killed_write_no_more(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    written = tmp_path / "abandoned" / "written"
    command = [sys.executable, str(SCRIPT), *known_of(engine, request, tmp_path / "jobs"), str(tmp_path), "abandoned"]
    with (tmp_path / "stderr").open("w") as complaints, subprocess.Popen(command, stderr=complaints) as caller:
        wait_until(lambda: written.exists() or caller.poll() is not None)
        caller.kill()
    assert caller.returncode == -signal.SIGKILL, (tmp_path / "stderr").read_text()
    wait_until(lambda: is_still(written))
    assert is_still(written)


def wait_until(true: Callable[[], bool]) -> None:
    """For a while."""
    until = time.monotonic() + 30
    while not true() and time.monotonic() < until:
        time.sleep(0.05)


def is_still(written: Path) -> bool:
    before = written.stat().st_size
    time.sleep(0.2)
    return written.stat().st_size == before


def test_nobody_is_told_of_what_was_survived(seen: Seeing) -> None:
    assert seen("said")["lines"] == []
