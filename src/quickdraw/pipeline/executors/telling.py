"""What a worker tells of a task that failed, and what the task is called."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from traceback import format_exception

from quickdraw.pipeline.executors.flow import Failed

LONGEST = 100  # characters of a name


@dataclass(frozen=True, slots=True)
class Raised:
    """A task's exception on its way from the worker, and how it came to it, in words."""

    error: Exception
    trace: str


class _There(Exception):
    """How an exception came about, where it did: what Python shows of a cause."""


def raised(error: Exception) -> Raised:
    """In the worker: what it tells of an exception."""
    return Raised(portable(error), "".join(format_exception(error)))


def failed(told: Raised) -> Failed:
    """What a task came to whose worker told so; the exception's traceback is where it was raised."""
    told.error.__cause__ = _There(f"\n{told.trace}")
    return Failed(told.error)


def portable(error: Exception) -> Exception:
    """The exception of a task, or one that tells as much, where it would not arrive whole in another process.

    One that pickles but cannot be unpickled would take a worker's connection with it.
    """
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__module__}.{type(error).__qualname__}: {error}")
    return error


def named(task: object) -> str:
    """A task in a few words: its own, or what it is where these are many."""
    name = str(task)
    return name if len(name) <= LONGEST else f"a task of {type(task).__name__}"
