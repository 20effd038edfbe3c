"""What a worker must have in common with the driver, and how it is told what it has not."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import pytest

import quickdraw
from quickdraw.errors import Fault, Refused
from quickdraw.pipeline.executors.surroundings import Sworn, Unfit, differences, seen, surroundings

STARTED = "as where the command was started"


def test_a_process_is_as_itself(tmp_path: Path) -> None:
    here = surroundings([str(tmp_path)])
    assert differences(here, pickle.loads(pickle.dumps(here)), "node a") == []
    assert here.python.startswith("cpython 3.")
    assert {"av", "numpy", "opencv-python-headless", "pyarrow"} <= dict(here.versions).keys()
    assert "ray" not in dict(here.versions), "extras are not what workers need"


def test_all_that_differs_is_told_with_the_node() -> None:
    here = replace(surroundings([]), versions=(("av", "15.1"), ("numpy", "2.2")), places=(("/data", "a folder"),))
    there = replace(here, python="cpython 3.13", code="f" * 16, versions=(("numpy", "2.1"),), places=())
    assert differences(here, there, "node a") == [
        Fault("node a", "python", "cpython 3.13", f"{here.python}, {STARTED}"),
        Fault("node a", "quickdraw", f"{here.quickdraw} (code {'f' * 12})",
              f"{quickdraw.__version__} (code {here.code[:12]}), {STARTED}"),
        Fault("node a", "av", "nothing", f"15.1, {STARTED}"),
        Fault("node a", "numpy", "2.1", f"2.2, {STARTED}"),
        Fault("node a", "place", "nothing", f"a folder, {STARTED}", path="/data"),
    ]  # fmt: skip


def test_what_is_seen_is_what_is_there(tmp_path: Path) -> None:
    folder, file = tmp_path / "folder", tmp_path / "file"
    assert seen(str(folder)) == "nothing"
    folder.mkdir()
    empty = seen(str(folder))
    (folder / "b").touch()
    assert seen(str(folder)).startswith("a folder of 1 names (")
    assert seen(str(folder)) != empty
    (folder / "b").rename(folder / "c")
    other = seen(str(folder))
    (folder / "c").rename(folder / "b")
    assert seen(str(folder)) != other
    file.write_text("one")
    one = seen(str(file))
    file.write_text("two")
    assert one.startswith("a file of 3 bytes (")
    assert seen(str(file)) != one
    assert seen(str(file / "below")) == "Not a directory"


def test_a_function_that_is_sent_runs_where_all_is_alike(tmp_path: Path) -> None:
    here = surroundings([str(tmp_path)])
    assert pickle.loads(pickle.dumps(Sworn(abs, here)))(-3) == 3


def test_it_refuses_to_run_elsewhere_and_that_is_no_failure_of_the_task() -> None:
    sworn = Sworn[int, int](abs, replace(surroundings([]), python="cpython 3.1"))
    for _ in range(2):
        with pytest.raises(
            Unfit, match=rf"node .*: python: found cpython .*, expected cpython 3\.1, {STARTED}"
        ) as told:
            sworn(-3)
    again = pickle.loads(pickle.dumps(told.value))
    assert isinstance(again, Unfit)
    assert isinstance(again, Refused)
    assert again.faults == told.value.faults
