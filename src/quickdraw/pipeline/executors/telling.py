"""What a worker tells of a task that failed, and what the task is called."""

from __future__ import annotations

import pickle

LONGEST = 100  # characters of a name


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
