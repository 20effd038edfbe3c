"""How tasks are dealt into jobs."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from quickdraw.pipeline.executors.batch import TRIES
from quickdraw.pipeline.executors.spool import Kept


@dataclass(slots=True)
class Item:
    """A task: how often it was begun in a job that died at it, and was not done when a job's time was up."""

    kept: Kept
    begun: int = 0
    late: int = 0


def deal(waiting: deque[Item], jobs: int, cpus: int, most: int) -> list[list[Item]]:
    """Take tasks for at most `jobs` jobs: at most `most` for each, evenly, and no job for less than it has CPUs.

    Neighbours go to different jobs, for they are often as long as each other. One at which jobs died repeatedly gets a
    job of its own: if that dies too, no other task did it.
    """
    alone, others = list[list[Item]](), list[Item]()
    while waiting:
        is_suspect = waiting[0].begun >= TRIES - 1
        if len(others) + (most if is_suspect else 1) > most * (jobs - len(alone)):
            break
        if is_suspect:
            alone.append([waiting.popleft()])
        else:
            others.append(waiting.popleft())
    groups = min(jobs - len(alone), -(-len(others) // min(cpus, most)))
    return alone + [others[start::groups] for start in range(groups)]


def put_back(waiting: deque[Item], left: list[Item]) -> None:
    """Have them dealt next, and first in their jobs those that were begun too late to be done in time."""
    first = sorted(left, key=lambda item: -item.late)
    waiting.extendleft(reversed(first))
