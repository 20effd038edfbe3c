"""Synthetic splits, and lerobot in a process of its own."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent


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
def synthetic() -> ModuleType:
    """synthetic_split.py."""
    return load(HERE / "synthetic_split.py")


@pytest.fixture(scope="session")
def lerobot(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, dict[str, Any]], dict[str, Any]]:
    """`lerobot(script, payload)`: the answer of a script of tests/e2e/scripts."""
    witness, home = load(HERE.parents[1] / "e2e" / "lerobot_witness.py"), tmp_path_factory.mktemp("hf")

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
