"""Tasks on processes of this machine: nobody is left behind. What all executors promise: test_conformance."""

from __future__ import annotations

import multiprocessing
import os
from functools import partial
from pathlib import Path

import pytest

from quickdraw.errors import WorkerDied
from quickdraw.pipeline.executors import local
from quickdraw.pipeline.executors.inline import Inline
from quickdraw.pipeline.executors.local import local_processes


def test_no_process_is_left_when_all_is_done_nor_when_a_task_failed() -> None:
    with local_processes(2) as executor:
        assert executor.workers == 2
        assert sorted(executor.run(abs, range(-20, 0))) == list(range(1, 21))
    assert multiprocessing.active_children() == []
    with pytest.raises(FileNotFoundError, match="'gone'"), local_processes(2) as executor:
        list(executor.run(Path.stat, [Path(), Path("gone"), Path()]))
    assert multiprocessing.active_children() == []


def test_a_death_is_told_once_it_is_no_accident_and_the_executor_serves_on() -> None:
    with local_processes(1) as executor:
        with pytest.raises(WorkerDied, match=r"^7: its worker process died 3 times; was it killed, or out of memory"):
            list(executor.run(os._exit, [7]))
        assert list(executor.run(abs, [-1])) == [1]
    assert multiprocessing.active_children() == []


def test_processes_that_die_as_they_start_end_it_before_every_task_was_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_begin", partial(os._exit, 1))
    with pytest.raises(WorkerDied, match="die as they start"), local_processes(2) as executor:
        list(executor.run(abs, range(1000)))
    assert multiprocessing.active_children() == []


def halved(number: int) -> list[int]:
    """What becomes possible with a number: its half, while that is whole."""
    return [] if number % 2 else [number // 2]


def test_in_this_process_what_a_result_makes_possible_is_next() -> None:
    assert list(Inline().run(abs, [12, 5, 2], halved)) == [12, 6, 3, 5, 2, 1]
