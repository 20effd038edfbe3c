"""What a worker must have in common with the driver, and how it is told what it has not."""

from __future__ import annotations

import pickle
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import quickdraw
from quickdraw.errors import Fault, Refused
from quickdraw.pipeline.executors.surroundings import Surroundings, Sworn, Unfit, differences, seen, surroundings

STARTED = "as where the command was started"


def test_a_process_is_as_itself(tmp_path: Path) -> None:
    here = surroundings([str(tmp_path)])
    assert differences(pickle.loads(pickle.dumps(here)), "node a") == []
    assert here.python.startswith("cpython 3.")
    assert {"av", "numpy", "opencv-python-headless", "pyarrow"} <= dict(here.versions).keys()
    assert "ray" not in dict(here.versions), "extras are not what workers need"


def test_all_that_differs_is_told_with_the_node() -> None:
    here = surroundings([])
    others = (("av", "0.1"), ("nothing-like-it", "1"), *here.versions[2:])
    there = replace(here, python="cpython 3.1", code="f" * 16, versions=others, places=(("/gone", ()),))
    assert differences(there, "node a") == [
        Fault("node a", "python", here.python, f"cpython 3.1, {STARTED}"),
        Fault("node a", "quickdraw", f"{quickdraw.__version__} (code {here.code[:12]})",
              f"{here.quickdraw} (code {'f' * 12}), {STARTED}"),
        Fault("node a", "av", dict(here.versions)["av"], f"0.1, {STARTED}"),
        Fault("node a", "nothing-like-it", "nothing", f"1, {STARTED}"),
        Fault("node a", "place", "nothing", f"a folder, {STARTED}", path="/gone"),
    ]  # fmt: skip


def at(place: Path, expected: Surroundings) -> list[tuple[str, str]]:
    """What is found at a place, and what was expected there, where these differ."""
    faults = differences(expected, "node a")
    assert {(fault.field, fault.path) for fault in faults} <= {("place", str(place))}
    return [(fault.found, fault.expected.removesuffix(f", {STARTED}")) for fault in faults]


def test_of_a_folder_the_first_names_must_be_there_and_others_may_come(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for number in range(20):
        (folder / f"{number:02}").touch()
    expected = surroundings([str(folder)])
    (folder / "00a").touch()
    (folder / ".hidden").touch()
    (folder / "19").unlink()
    assert at(folder, expected) == []
    (folder / "15").rename(folder / "moved")
    assert at(folder, expected) == [("a folder without 15", "a folder with 00, 01, 02 and 13 others")]
    shutil.rmtree(folder)
    assert at(folder, expected) == [("nothing", "a folder with 00, 01, 02 and 13 others")]
    folder.write_text("")
    assert at(folder, expected)[0][0].startswith("a file of 0 bytes (")


def test_of_a_file_the_content_is_compared(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("one")
    expected = surroundings([str(file)])
    assert at(file, expected) == []
    file.write_text("two")
    [(found, wanted)] = at(file, expected)
    assert (found[:17], wanted[:17]) == ("a file of 3 bytes", "a file of 3 bytes")
    file.unlink()
    file.mkdir()
    assert at(file, expected) == [("a folder", wanted)]
    assert seen(str(tmp_path / "file")) == ()


def test_nothing_is_asked_of_places_that_are_gone(tmp_path: Path) -> None:
    assert surroundings([str(tmp_path / "gone"), str(tmp_path)]).places == ((str(tmp_path), ()),)


def test_a_function_that_is_sent_runs_where_all_is_alike(tmp_path: Path) -> None:
    here = surroundings([str(tmp_path)])
    assert pickle.loads(pickle.dumps(Sworn(abs, here)))(-3) == 3


def test_it_refuses_to_run_elsewhere_and_that_is_no_failure_of_the_task() -> None:
    sworn: Sworn[int, int] = Sworn(abs, replace(surroundings([]), python="cpython 3.1"))
    for _ in range(2):
        with pytest.raises(
            Unfit, match=rf"node .*: python: found cpython .*, expected cpython 3\.1, {STARTED}"
        ) as told:
            sworn(-3)
    again = pickle.loads(pickle.dumps(told.value))
    assert isinstance(again, Unfit)
    assert isinstance(again, Refused)
    assert again.faults == told.value.faults
