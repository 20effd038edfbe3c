"""Tasks on local processes: all done, errors raised whole, nobody left behind."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import pytest

from quickdraw.errors import WorkerDied
from quickdraw.pipeline.executors.local import local_processes


def test_every_task_is_done_once_and_workers_serve_several_stages() -> None:
    with local_processes(2) as executor:
        assert executor.workers == 2
        assert sorted(executor.run(abs, range(-20, 0))) == list(range(1, 21))
        assert list(executor.run(abs, [])) == []
        assert sorted(executor.run(abs, [-5, 6])) == [5, 6]
    assert multiprocessing.active_children() == []


def test_an_error_of_a_task_reaches_the_caller_whole() -> None:
    paths = [Path(), Path("gone"), Path()]
    with pytest.raises(FileNotFoundError, match="'gone'"), local_processes(2) as executor:
        list(executor.run(Path.stat, paths))
    assert multiprocessing.active_children() == []


def test_a_worker_that_dies_is_an_error_and_not_a_hang() -> None:
    with pytest.raises(WorkerDied, match="out of memory"), local_processes(1) as executor:
        list(executor.run(os._exit, [1]))
    assert multiprocessing.active_children() == []
