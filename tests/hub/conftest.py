"""A stand-in of the Hub, datasets to send there, and the command in an environment that knows no other Hub."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
type Environment = Callable[..., dict[str, str]]


@pytest.fixture(scope="session")
def stand_in(module_of: Callable[[Path], ModuleType]) -> ModuleType:
    """stand_in.py."""
    return module_of(HERE / "stand_in.py")


@pytest.fixture(scope="session")
def judge(module_of: Callable[[Path], ModuleType]) -> Callable[[str], list[str]]:
    """What is wrong with a card's front matter, as the Hub sees it."""
    found: Callable[[str], list[str]] = module_of(HERE / "card_rules.py").judge
    return found


@pytest.fixture
def hub(stand_in: ModuleType, judge: Callable[[str], list[str]]) -> Iterator[Any]:
    """A Hub that is empty."""
    with stand_in.Hub(judge) as running:
        yield running


@pytest.fixture
def environment(hub: Any, stand_in: ModuleType, tmp_path: Path) -> Environment:
    """An environment in which the stand-in is the Hub, logged in unless told."""

    def made(token: str | None = stand_in.TOKEN, endpoint: str = hub.endpoint) -> dict[str, str]:
        dropped = ("PYTHONWARNINGS", "HF_HUB_OFFLINE", "HF_TOKEN")
        kept = {name: value for name, value in os.environ.items() if name not in dropped}
        told = {"HF_ENDPOINT": endpoint, "HF_HOME": str(tmp_path / "hf"), "HF_HUB_DISABLE_XET": "1"}
        told |= {"HF_HUB_DISABLE_TELEMETRY": "1", "HF_LEROBOT_HOME": str(tmp_path / "hf/lr"), "OMP_NUM_THREADS": "1"}
        return kept | told | ({"HF_TOKEN": token} if token else {})

    return made


@pytest.fixture
def command(environment: Environment) -> Callable[..., subprocess.CompletedProcess[str]]:
    """`quickdraw push ...`, as a user runs it."""

    def run(*arguments: object, **told: Any) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-c", "from quickdraw.cli.push import push; import typer; typer.run(push)"]
        return subprocess.run([*line, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False,
                              env=environment(**told))  # fmt: skip

    return run


@pytest.fixture
def logged_in(hub: Any, stand_in: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The stand-in is the Hub of this process."""
    from huggingface_hub import constants

    monkeypatch.setenv("HF_TOKEN", stand_in.TOKEN)
    monkeypatch.setattr(constants, "ENDPOINT", hub.endpoint)
    template = hub.endpoint + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def dataset(sample_dataset: Path, tmp_path: Path) -> Path:
    """The sample's, to be changed: every file a link to the built one, which a change must replace."""
    copy = tmp_path / "block_stack"
    shutil.copytree(sample_dataset, copy, copy_function=os.link)
    return copy
