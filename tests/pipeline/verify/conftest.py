"""Copies of the built sample to damage, and a verification that decodes again only what was changed."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from quickdraw.pipeline.progress import PlainProgress
from quickdraw.pipeline.verify import verify as verification
from quickdraw.pipeline.verify.files import DigestTask
from quickdraw.pipeline.verify.pictures import DecodeTask
from quickdraw.pipeline.verify.report import Report
from quickdraw.pipeline.verify.source import ReadTask
from quickdraw.pipeline.verify.source_depth import DepthTask
from quickdraw.pipeline.verify.source_packets import PacketsTask
from quickdraw.pipeline.verify.sweep import SweepTask
from quickdraw.pipeline.verify.verify import verify

NOT_OURS = ("fingerprints", "provenance.json", "measured", "normalization_stats.json", "summary.json")


@dataclass
class Remembering:
    """An executor in this process that remembers the answer for a file it has seen, under whatever name."""

    answers: dict[Any, Any] = field(default_factory=dict)
    workers: int = 1

    def run[T, R](self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        for task in tasks:
            # A numbered share of the structure is a tuple.
            if isinstance(task, DigestTask | DepthTask | PacketsTask | tuple):
                yield function(task)
                continue
            key = self._key(task)
            if key not in self.answers:
                self.answers[key] = function(task)
            answer: Any = self.answers[key]
            yield (task, answer[1])

    def _key(self, task: Any) -> Any:
        match task:
            case DecodeTask():
                stat = task.path.stat() if task.path.exists() else None
                file = (stat.st_ino, stat.st_size, stat.st_mtime_ns) if stat else task.path
                return replace(task, path=Path()), file
            case SweepTask():
                # Picks are remembered, and so those of an unchanged file are the same objects.
                picks = tuple((name, id(picks)) for name, picks in task.picks.items())
                video = task.source.path(task.plan.key, task.plan.videos[task.camera])
                return "sweep", video.resolve(), picks
            case ReadTask():
                return "read", task.source, task.key, task.episode.split, task.episode.index
        raise TypeError(task)

    def stop(self) -> None:
        pass


@pytest.fixture(scope="session")
def executor() -> Remembering:
    return Remembering()


@pytest.fixture(scope="session")
def verified(executor: Remembering) -> Callable[..., Report]:
    """`verified(dataset, source)`: the report, without a word of progress."""

    def run(dataset: Path, source: Path | None = None) -> Report:
        with redirect_stdout(StringIO()):
            return verify(dataset, executor, PlainProgress(), source)

    return run


def hard_copy(source: Path, target: Path) -> Path:
    shutil.copytree(source, target, copy_function=os.link)
    return target


@pytest.fixture
def whole(sample_dataset: Path, tmp_path: Path) -> Path:
    """The built sample, as further names of its files: replace them, never write into them."""
    return hard_copy(sample_dataset, tmp_path / "whole")


@pytest.fixture
def bare(sample_dataset: Path, tmp_path: Path) -> Path:
    """The same as others would hand it on: splits and clips, nothing that says how they were built."""
    target = hard_copy(sample_dataset, tmp_path / "bare")
    for name in NOT_OURS:
        shutil.rmtree(target / name) if (target / name).is_dir() else (target / name).unlink(missing_ok=True)
    return target


def load(name: str) -> ModuleType:
    """A module of this folder."""
    path = Path(__file__).with_name(f"{name}.py")
    found = importlib.util.spec_from_file_location(f"quickdraw_tests_{name}", path)
    assert found is not None
    assert found.loader is not None
    module = sys.modules[f"quickdraw_tests_{name}"] = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def plants() -> ModuleType:
    """plants.py."""
    return load("plants")


@pytest.fixture(scope="session")
def painted() -> ModuleType:
    """painted.py."""
    return load("painted")


@pytest.fixture(scope="session")
def recorded(painted: ModuleType, once: Callable[[str, Callable[[Path], None]], Path]) -> Path:
    """The runs of painted.py."""
    return once("painted-tree", lambda folder: painted.record(folder))


@pytest.fixture(scope="session")
def built(painted: ModuleType, recorded: Path, once: Callable[[str, Callable[[Path], None]], Path]) -> Path:
    """The dataset built of them."""
    return once("painted-dataset", lambda folder: painted.make(recorded, folder / "dataset")) / "dataset"


@pytest.fixture
def dataset(built: Path, tmp_path: Path) -> Path:
    """The painted dataset, as further names of its files: replace them, never write into them."""
    return Path(shutil.copytree(built, tmp_path / "dataset", copy_function=os.link))


@pytest.fixture
def against(
    painted: ModuleType, recorded: Path, verified: Callable[..., Report], monkeypatch: pytest.MonkeyPatch
) -> Callable[[Path], Report]:
    """`against(dataset)`: the report of a verification of a painted dataset with its source."""
    monkeypatch.setattr(verification, "source_of", lambda processor, config, tree: painted.Painted(tree))
    return lambda dataset: verified(dataset, recorded)
