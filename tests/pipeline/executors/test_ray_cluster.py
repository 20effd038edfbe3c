"""What is Ray's own of the executor on a cluster: addresses, nodes, what it prints. The rest all executors share."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import quickdraw
from quickdraw.errors import Refused
from quickdraw.pipeline.executors.ray_cluster import ray_cluster
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


def test_the_cluster_that_is_named_by_the_environment(ray_nodes: Any) -> None:
    is_plain(drive("auto", "plain", RAY_ADDRESS=ray_nodes.address), workers=2, most_ahead=4)


def test_the_cluster_of_a_client_and_no_more_tasks_than_workers_are_wanted(ray_nodes: Any) -> None:
    is_plain(drive(ray_nodes.client_address, "plain", "0.5", "3"), workers=3, most_ahead=3)


def test_a_cluster_that_lives_as_long_as_its_driver() -> None:
    is_plain(drive("local", "plain", "1", "2"), workers=2, most_ahead=2)


def test_a_task_that_is_too_large_for_every_node_is_refused(ray_nodes: Any) -> None:
    [fault] = drive(ray_nodes.address, "plain", "64")["refused"]
    assert "executor.task_cpus" in fault
    assert f"({ray_nodes.nodes[0].address}) of 1 CPUs" in fault
    assert "a node with 64 CPUs for a task" in fault


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
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        assert driver.stdout.readline() == "begun\n"
        empty = joining(without_us)
        [missing] = json.loads(driver.communicate(timeout=60)[0])["refused"]
    assert f"({empty.address}): quickdraw: found ModuleNotFoundError: No module named 'quickdraw'" in missing
    other = joining(of_another_day)
    faults = drive(ray_nodes.address, "plain")["refused"]
    assert missing in faults
    rest = sorted(fault for fault in faults if fault != missing)
    assert [f"({other.address})" in fault for fault in rest] == [True, True]
    assert ": msgspec: found 0.1, expected " in rest[0]
    assert f": quickdraw: found {quickdraw.__version__} (code " in rest[1]


@pytest.mark.parametrize(
    ("cpus", "memory", "fitting"), [(1, 0, 4), (0.1, 0, 40), (3, 0, 1), (5, 0, 0), (1, 1 << 30, 2), (1, 3 << 30, 0)]
)
def test_a_node_runs_as_many_tasks_as_it_has_room_for(cpus: float, memory: int, fitting: int) -> None:
    assert Need(cpus, memory).fits({"Resources": {"CPU": 4.0, "memory": 2.5 * (1 << 30)}}) == fitting
