"""What is Ray's own of the executor on a cluster: addresses, nodes, what it prints. The rest all executors share."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import quickdraw
from quickdraw.errors import Refused
from quickdraw.pipeline.executors.ray_cluster import Attempt, nodes, ray_cluster
from quickdraw.pipeline.executors.ray_cluster.nodes import Need

DRIVER = Path(__file__).parent / "scripts" / "ray_driver.py"


def drive(*arguments: str, **environment: str) -> dict[str, Any]:
    """What a driver saw; it says nothing else."""
    ran = subprocess.run(
        [sys.executable, DRIVER, *arguments], env=os.environ | environment, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (0, "")
    seen: dict[str, Any] = json.loads(ran.stdout)
    return seen


def is_plain(seen: dict[str, Any], workers: int, most_ahead: int) -> None:
    """Nothing is lost, none piles up, signals are ours, and a place that workers do not see is told."""
    unseen = seen.pop("unseen")
    assert "/proc/self/cmdline: place: found a file of 0 bytes" in unseen
    assert "as where the command was started" in unseen
    assert 0 < seen.pop("ahead") <= most_ahead
    assert seen == {"workers": workers, "whole": True, "ours": True, "large": [1 << 20]}


def test_more_workers_than_there_is_room_for_are_no_reason_to_read_ahead(ray_nodes: Any) -> None:
    is_plain(drive("auto", "plain", "1", "1000", RAY_ADDRESS=ray_nodes.address), workers=2, most_ahead=4)


def test_the_cluster_of_a_client_and_no_more_tasks_than_workers_are_wanted(ray_nodes: Any) -> None:
    is_plain(drive(ray_nodes.client_address, "plain", "0.5", "3"), workers=3, most_ahead=3)


def test_a_cluster_that_lives_as_long_as_its_driver_leaves_nothing_at_home(tmp_path: Path) -> None:
    is_plain(drive("local", "plain", "1", "2", HOME=str(tmp_path)), workers=2, most_ahead=2)
    assert not (tmp_path / ".ray").exists()


def test_a_task_that_is_too_large_for_every_node_is_refused(ray_nodes: Any) -> None:
    [fault] = drive(ray_nodes.address, "plain", "64")["refused"]
    assert "executor.task_cpus" in fault
    assert f"({ray_nodes.nodes[0].address}) of 1 CPUs" in fault
    assert "a node with 64 CPUs for a task" in fault


@pytest.mark.parametrize(
    ("need", "named"),
    [
        (Need(1, 9 << 30), "executor.task_memory_mb"),
        (Need(9, 1 << 20), "executor.task_cpus"),
        (Need(9, 9 << 30), "executor.task_cpus"),
    ],
)
def test_what_a_task_takes_too_much_of_is_named(need: Need, named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    node = {"Resources": {"CPU": 4.0, "memory": 2.0 * (1 << 30)}, "NodeManagerHostname": "a", "NodeManagerAddress": "b"}
    monkeypatch.setattr(nodes, "alive", lambda: [node])
    assert nodes.no_room(need).field == named


def opened(address: str) -> None:
    with ray_cluster(address=address, task_cpus=1, task_memory_mb=None, retries=3, workers=None):
        pass


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "cluster", "ray://:", "127.0.0.1:70000"])
def test_no_cluster_at_an_address_is_told_at_once(address: str) -> None:
    with pytest.raises(Refused, match=r"executor\.address: found .*, expected auto, host:port or ray://") as refused:
        opened(address)
    assert refused.value.by_command


def test_nor_is_there_one_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    with pytest.raises(Refused, match=r"executor\.address: found 127\.0\.0\.1:1: Connection refused"):
        opened("auto")


def without_us(folder: Path) -> None:
    """What a Python has first on its path where our package was never installed."""
    (folder / "quickdraw").mkdir(parents=True)
    (folder / "quickdraw" / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'quickdraw'\")\n")


def of_another_day(folder: Path) -> None:
    """Our package with a line more, and another version of one that it requires."""
    shutil.copytree(Path(quickdraw.__file__).parent, folder / "quickdraw")
    with (folder / "quickdraw" / "errors.py").open("a") as file:
        file.write("# a line more\n")
    (folder / "msgspec-0.1.dist-info").mkdir()
    (folder / "msgspec-0.1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: msgspec\nVersion: 0.1\n")


def test_nodes_that_are_not_as_the_driver_are_named_whenever_they_join(ray_nodes: Any, tmp_path: Path) -> None:
    def joining(make: Callable[[Path], None]) -> Any:
        make(tmp_path / make.__name__)
        return ray_nodes.add_node(env={"PYTHONPATH": str(tmp_path / make.__name__)})

    command = [sys.executable, DRIVER, ray_nodes.address, "until_refused"]
    with ThreadPoolExecutor(2) as pool, subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        assert driver.stdout.readline() == "begun\n"
        empty, other = pool.map(joining, (without_us, of_another_day))
        refused = json.loads(driver.communicate(timeout=60)[0])["refused"]
    faults = drive(ray_nodes.address, "asked")["refused"]
    assert set(refused) < set(faults)  # by a worker that looked before its first task; then by all that were asked
    missing, library, ours = sorted(faults, key=lambda fault: (f"({other.address})" in fault, fault))
    assert f"({empty.address}): quickdraw: found ModuleNotFoundError: No module named 'quickdraw'" in missing
    assert f"({other.address}): msgspec: found 0.1, expected " in library
    assert f"({other.address}): quickdraw: found {quickdraw.__version__} (code " in ours


def test_a_task_rests_the_longer_the_more_workers_died_at_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.monotonic", lambda: 100.0)
    attempts = [Attempt("a task")]
    for _ in range(4):
        attempts.append(attempts[-1].again())
    assert [(attempt.deaths, attempt.due_s) for attempt in attempts[1:]] == [(1, 101), (2, 105), (3, 125), (4, 160)]


@pytest.mark.parametrize(
    ("cpus", "memory", "fitting"), [(1, 0, 4), (0.1, 0, 40), (3, 0, 1), (5, 0, 0), (1, 1 << 30, 2), (1, 3 << 30, 0)]
)
def test_a_node_runs_as_many_tasks_as_it_has_room_for(cpus: float, memory: int, fitting: int) -> None:
    assert Need(cpus, memory).fits({"Resources": {"CPU": 4.0, "memory": 2.5 * (1 << 30)}}) == fitting
