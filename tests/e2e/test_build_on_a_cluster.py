"""A build on a Ray cluster, whose two nodes are of this machine: whatever dies, its bytes are those of one machine."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

type Once = Callable[[str, Callable[[Path], None]], Path]

PARTS = 30


def on(address: str) -> list[str]:
    return ["+executor=ray", f"+executor.address={address}"]


def test_whatever_is_killed_in_the_middle_the_same_command_goes_on_and_ends_as_on_one_machine(
    small: list[str], built_locally: Path, ray_nodes: Any, watched: ModuleType, tmp_path: Path
) -> None:
    output, command = tmp_path / "d", [*small, *on(ray_nodes.address)]

    first = watched.start(command, output)
    known = first.in_the_middle(4)
    assert first.ended(signal.SIGKILL).code == -signal.SIGKILL
    assert not output.exists()

    second = watched.start(command, output)
    known |= second.in_the_middle(len(second.parts) + 4)
    interrupted = second.ended(signal.SIGINT)
    assert (interrupted.code, interrupted.errors) == (130, "interrupted\n")
    assert interrupted.seconds < 15
    assert second.is_still()
    assert not output.exists()
    left = second.parts
    assert f"{len(left)} finished parts are kept in " in interrupted.out
    assert known.items() <= left.items()  # none was made again

    third = watched.start(command, output)
    assert left.items() <= third.in_the_middle(len(left) + 1).items()
    ray_nodes.kill(ray_nodes.nodes[0])
    survived = third.ended()
    assert survived.code == 0, survived.errors
    assert survived.errors == ""
    assert f"{PARTS - len(left)} parts made, {len(left)} there already" in survived.out
    assert watched.digests(output) == watched.digests(built_locally)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".d.index", ".d.plans", "d"]


def test_it_takes_the_place_of_another_where_the_kernel_cannot_exchange_the_two(
    small: list[str], built_locally: Path, ray_nodes: Any, watched: ModuleType, tmp_path: Path
) -> None:
    """Clips of the one before are used again."""
    for name in ("d", "there"):
        shutil.copytree(built_locally, tmp_path / name)
    other = [*small, "+source.val_floor=1"]
    there = watched.run([*other, "+source.workers=2"], tmp_path / "there")
    assert there.code == 0, there.errors
    script = [str(watched.SCRIPTS / "without_exchange.py")]
    here = watched.run([*other, *on(ray_nodes.address)], tmp_path / "d", script)
    assert here.code == 0, here.errors
    assert watched.digests(tmp_path / "d") == watched.digests(tmp_path / "there") != watched.digests(built_locally)
    assert not list(tmp_path.glob(".*.retired"))


def test_pooled_tasks_are_built_there_too(
    sample_pooled: Path, pooled_dataset: Path, ray_nodes: Any, watched: ModuleType, tmp_path: Path
) -> None:
    asked = ["+source.depth=true", "+source.state=[slam_pose,gripper_state]", "+source.action=next_state"]
    task = [
        "+processor=pooled_episodes",
        f"+source.dir={sample_pooled / 'recordings/umi_pick'}",
        "+source.name=umi_pick",
    ]
    built = watched.run([*task, *asked, "+report=false", *on(ray_nodes.client_address)], tmp_path / "d")
    assert built.code == 0, built.errors
    assert watched.digests(tmp_path / "d") == watched.digests(pooled_dataset)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "auto"])
def test_where_there_is_no_cluster_it_is_told_in_a_line(
    address: str, small: list[str], watched: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    told = watched.run([*small, *on(address)], tmp_path / "d")
    assert told.code == 2, told.errors
    assert "executor.address: found " in told.errors
    assert "Traceback" not in told.errors
    assert list(tmp_path.iterdir()) == []
