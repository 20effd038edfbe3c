"""What keeps a run's video from being read again, as a finding and never as a traceback."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from quickdraw.errors import Refused, VideoError

READABLE = "a run that can be read"


@dataclass(frozen=True, slots=True)
class Damage:
    """What was found instead of a run's video, and what was expected."""

    found: str
    expected: str


def read_or_damage[T](read: Callable[[], T]) -> T | Damage:
    """What is read of a run, or why it cannot be."""
    try:
        return read()
    except VideoError as error:
        return Damage(f"{error.path}: {error.found}", error.expected)
    except Refused as refused:
        return Damage(str(refused.faults[0]), READABLE)
    except OSError as error:
        return Damage(f"{error.filename}: unreadable ({error.strerror})", READABLE)
