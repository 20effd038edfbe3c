"""Where tests find their input: sample campaigns, datasets built once for all workers, and lerobot as a witness."""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).resolve().parents[1]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="also run what CI's half hour has no room for")


def pytest_configure() -> None:
    # A background job of a shell ignores Ctrl-C, and so would the commands that are sent one here.
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Grouped(LoadScopeScheduling):
    """Tests that wait for the same thing to be made run in one worker, while the other goes on."""

    def _split_scope(self, nodeid: str) -> str:
        path, _, name = nodeid.partition("::")
        folder, module = Path(path).parent.name, Path(path).stem
        if {"ray", "cluster"} & set(re.findall("[a-z]+", f"{module} {name.partition('[')[2]}")):
            return "cluster"  # of which there is one: see `ray_nodes`
        if folder not in ("e2e", "pipeline") and not module.startswith("test_door_"):
            return nodeid
        if module == "test_cube_truth":
            return name.partition("[")[2]  # a look
        return "pooled builds" if module.startswith("test_pooled_build") else module


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Grouped:
    return Grouped(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--long"):
        return
    chosen = [item for item in items if "long" not in item.keywords]
    config.hook.pytest_deselected(items=[item for item in items if "long" in item.keywords])
    items[:] = chosen


@pytest.fixture(scope="session")
def sample_tree() -> Path:
    """The sample campaigns; in CI their absence is a failure."""
    tree = Path(os.environ.get("QUICKDRAW_SAMPLE", ROOT.parent / "shared" / "sample_campaigns"))
    if not tree.is_dir():
        say = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        say(f"no sample campaigns at {tree}; set QUICKDRAW_SAMPLE")
    return tree


@pytest.fixture(scope="session")
def sample_pooled() -> Path:
    """The sample of pooled tasks, `recordings` and `keypoints_output`; in CI its absence is a failure."""
    beside = Path(os.environ.get("QUICKDRAW_SAMPLE", ROOT.parent / "shared" / "sample_campaigns"))
    tree = Path(os.environ.get("QUICKDRAW_SAMPLE_POOLED", beside.parent / "sample_pooled"))
    if not tree.is_dir():
        say = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        say(f"no sample of pooled tasks at {tree}; set QUICKDRAW_SAMPLE_POOLED")
    return tree


def run_processors(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The command, as a user runs it."""
    command = [sys.executable, "-m", "quickdraw.data.processors", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=900, check=False)


@pytest.fixture(scope="session")
def processors() -> Callable[..., subprocess.CompletedProcess[str]]:
    return run_processors


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Callable[[str, Callable[[Path], None]], Path]:
    """`once(name, make)`: a folder made by one test worker and shared by all; made again only in the next session."""
    base = tmp_path_factory.getbasetemp()
    shared = base if worker_id == "master" else base.parent

    def made(name: str, make: Callable[[Path], None]) -> Path:
        folder, done = shared / f"once-{name}", shared / f"once-{name}.done"
        with (shared / f"once-{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                make(folder)
                done.touch()
        return folder

    return made


@pytest.fixture(scope="session")
def sample_dataset(sample_tree: Path, once: Callable[[str, Callable[[Path], None]], Path]) -> Path:
    """The sample campaigns built with defaults, by the command."""

    def make(folder: Path) -> None:
        folder.mkdir()
        result = run_processors(
            "+processor=block_stack", f"+source.dir={sample_tree}", "+source.name=block_stack", cwd=folder
        )
        assert result.returncode == 0, result.stderr

    return once("sample", make) / "datasets" / "block_stack"


@pytest.fixture(scope="session")
def pooled_dataset(sample_pooled: Path, once: Callable[[str, Callable[[Path], None]], Path]) -> Path:
    """A task of the pooled sample built with depth, state and action, by the command."""

    def make(folder: Path) -> None:
        folder.mkdir()
        task = f"+source.dir={sample_pooled / 'recordings/umi_pick'}"
        features = ("+source.depth=true", "+source.state=[slam_pose,gripper_state]", "+source.action=next_state")
        result = run_processors("+processor=pooled_episodes", task, "+source.name=umi_pick", *features, cwd=folder)
        assert result.returncode == 0, result.stderr

    return once("pooled-sample", make) / "datasets" / "umi_pick"


def load(path: Path) -> ModuleType:
    """A module from its file, once a process."""
    name = f"quickdraw_tests_{path.stem}"
    if name not in sys.modules:
        found = importlib.util.spec_from_file_location(name, path)
        assert found is not None
        assert found.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(found)
        found.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.fixture(scope="session")
def module_of() -> Callable[[Path], ModuleType]:
    """`load`, for conftests and tests, which cannot import this file."""
    return load


@pytest.fixture(scope="session")
def synthetic() -> ModuleType:
    """synthetic_split.py."""
    return load(ROOT / "tests/formats/lerobot/synthetic_split.py")


@pytest.fixture(scope="session")
def ray_head() -> Iterator[Any]:
    """tests/pipeline/executors/cluster.py: the one cluster of the session, as the tests before left it."""
    with load(ROOT / "tests/pipeline/executors/cluster.py").Cluster() as cluster:
        yield cluster


@pytest.fixture
def ray_nodes(ray_head: Any) -> Any:
    """The cluster with its two nodes alive, whatever other tests did to them, and no others."""
    ray_head.restore()
    return ray_head


@pytest.fixture(scope="session")
def lerobot(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, dict[str, Any]], dict[str, Any]]:
    """`lerobot(script, payload)`: the answer of a script of tests/e2e/scripts."""
    witness, home = load(ROOT / "tests/e2e/lerobot_witness.py"), tmp_path_factory.mktemp("hf")

    def run(script: str, payload: dict[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = witness.run_lerobot(script, payload, home)
        return answer

    return run


@pytest.fixture(scope="session")
def remember(once: Callable[[str, Callable[[Path], None]], Path]) -> Callable[..., dict[str, Any]]:
    """`remember(name, ask)`: the JSON answer of `ask(folder)`, asked by one test worker for all."""

    def remembered(name: str, ask: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
        def make(folder: Path) -> None:
            folder.mkdir()
            (folder / "answer.json").write_text(json.dumps(ask(folder)))

        answer: dict[str, Any] = json.loads((once(name, make) / "answer.json").read_text())
        return answer

    return remembered
