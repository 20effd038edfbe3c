"""Trees of tiny runs, in order until a test spoils one."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TINY = Path(__file__).resolve().parents[1] / "formats/campaign/conftest.py"
RUNS = {
    "campaign3-play/recording_1": 0.1,
    "campaign3-play/recording_2": 0.2,
    "campaign5-play-long/recording_3": 0.3,
    "campaign5-play-long/recording_4": 0.4,
    "campaign8-purple/recording_5": 0.5,
}


@pytest.fixture
def tiny_run() -> Callable[..., Any]:
    """tests/formats/campaign/conftest.py's maker of tiny runs."""
    name = "quickdraw_tests_tiny_run"
    if name not in sys.modules:
        found = importlib.util.spec_from_file_location(name, TINY)
        assert found is not None
        assert found.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(found)
        found.loader.exec_module(sys.modules[name])
    maker: Callable[..., Any] = sys.modules[name].tiny_run
    return maker


@pytest.fixture
def five(tmp_path: Path, tiny_run: Callable[..., Any]) -> dict[str, Any]:
    """Five runs by name, each another recording: four pooled, one held out; written."""
    runs = {}
    for name, height in RUNS.items():
        run = tiny_run(tmp_path / "tree", *name.split("/"))
        run.controller[7]["height"] = height
        run.write()
        runs[name] = run
    return runs
