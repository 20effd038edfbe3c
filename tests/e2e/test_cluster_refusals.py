"""Nodes of a cluster that are not like the machine where a build was started are told by name, and run no task."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "quickdraw"


def without(folder: Path) -> list[str]:
    """A command whose processes see nothing below a folder, as a machine on which it is not mounted."""
    apart = ["unshare", "--mount", *(["--map-root-user"] if os.geteuid() else [])]
    assert subprocess.run([*apart, "true"], check=False).returncode == 0, "no mount namespaces here"
    return [*apart, "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"', str(folder)]


@pytest.fixture
def tree(sample_tree: Path, tmp_path: Path) -> Path:
    """A campaign of its own, in a folder of its own."""
    shutil.copytree(sample_tree / "campaign3-play", tmp_path / "raw/campaigns/campaign3-play")
    return tmp_path / "raw/campaigns"


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """Where the package has other code: that of a checkout which was not updated."""
    shutil.copytree(PACKAGE, tmp_path / "old/quickdraw", ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "old/quickdraw/core/grid.py").open("a") as module:
        module.write("OLD = True\n")
    return tmp_path / "old"


def lines_of(node: Any, said: str) -> Sequence[str]:
    return [line for line in said.splitlines() if re.search(rf"\b{re.escape(node.address)}\b", line)]


def test_nodes_that_are_not_like_this_one_are_told_by_name_before_anything_runs(
    tree: Path, changed: Path, ray_nodes: Any, watched: ModuleType, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    command = ["+processor=block_stack", f"+source.dir={tree}", "+source.hw=[48,64]", "+report=false",
               "+executor=ray", f"+executor.address={ray_nodes.address}"]  # fmt: skip
    with ThreadPoolExecutor() as pool:
        other, blind, apart = (
            pool.submit(ray_nodes.add_node, env={"PYTHONPATH": str(changed)}),
            pool.submit(ray_nodes.add_node, under=without(tree.parent)),
            pool.submit(ray_nodes.add_node, under=without(tmp_path / "out")),
        )
    old, blind_, apart_ = other.result(), blind.result(), apart.result()

    for node, told_by in (
        (old, "quickdraw: found "),
        (blind_, f"{tree}: place: found nothing"),
        (apart_, f"{tmp_path / 'out'}/"),
    ):
        told = watched.run(command, tmp_path / "out/d")
        assert told.code == 2, told.errors
        assert [told_by in line for line in lines_of(node, told.errors)] == [True], told.errors
        assert "Traceback" not in told.errors
        assert not (tmp_path / "out/d").exists()
        assert not list((tmp_path / "out").glob(".d.building/parts/*"))
        ray_nodes.retire(node)


def test_one_that_joins_in_the_middle_is_told_too_and_what_the_others_made_is_kept(
    small: list[str], changed: Path, ray_nodes: Any, watched: ModuleType, tmp_path: Path
) -> None:
    build = watched.start([*small, "+executor=ray", f"+executor.address={ray_nodes.address}"], tmp_path / "d")
    made = build.in_the_middle(1)
    build.process.send_signal(signal.SIGSTOP)  # a node takes a while to join
    late = ray_nodes.add_node(env={"PYTHONPATH": str(changed)})
    build.process.send_signal(signal.SIGCONT)
    told = build.ended()
    assert told.code == 2, told
    (line,) = lines_of(late, told.errors)
    assert "quickdraw: found " in line
    assert build.parts.keys() >= made.keys()
    assert "finished parts are kept in " in told.out
    assert not (tmp_path / "d").exists()
