"""Tasks on local processes: all done, errors raised whole, nobody left behind."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import pytest

from quickdraw.errors import WorkerDied
from quickdraw.pipeline.executors import Executor
from quickdraw.pipeline.executors.inline import Inline
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


def test_a_death_can_be_caught_while_the_executor_is_open() -> None:
    with local_processes(1) as executor, pytest.raises(WorkerDied, match="out of memory"):
        list(executor.run(os._exit, [1]))
    assert multiprocessing.active_children() == []


def halved(number: int) -> list[int]:
    """What becomes possible with a number: its half, while that is whole."""
    return [] if number % 2 else [number // 2]


def results_in_order(executor: Executor, numbers: list[int]) -> list[int]:
    return list(executor.run(abs, numbers, halved))


def test_what_a_result_makes_possible_is_done_too_and_before_the_rest() -> None:
    assert results_in_order(Inline(), [12, 5, 2]) == [12, 6, 3, 5, 2, 1]
    with local_processes(1) as executor:
        results = results_in_order(executor, [12, 5, 7, 9, 2])
    assert sorted(results) == sorted([12, 6, 3, 5, 7, 9, 2, 1])
    assert results.index(3) < results.index(2)


def test_it_is_asked_after_the_caller_has_had_the_result() -> None:
    seen: list[int] = []

    def possible(number: int) -> list[int]:
        assert number in seen
        return []

    with local_processes(2) as processes:
        for executor in (Inline(), processes):
            seen.clear()
            for result in executor.run(abs, [-1, -2, -3], possible):
                seen.append(result)
            assert sorted(seen) == [1, 2, 3]
