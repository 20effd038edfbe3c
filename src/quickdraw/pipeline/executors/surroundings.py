"""What a worker on another machine must have in common with the process that gives it tasks, checked before the first.

Same bytes, whatever runs the tasks, takes the same code, the same versions of what it uses, and the same files behind
a path; the kind of CPU and the operating system are free. All that differs is told at once, with the machine's name.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import cv2

import quickdraw
from quickdraw.errors import Fault, Refused
from quickdraw.pipeline.executors.memory import give_back_freed_memory

HEAD = 1 << 20  # bytes of a file that are looked at
NOTHING = "nothing"


class Unfit(Refused):
    """A worker is not what it must be to run tasks of the process that asks it: no failure of the task it was given."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Of a process: Python's minor version, a digest of our code, what it requires, what it sees at some places.

    `versions` are pairs of a distribution and its version, `places` of a path and what `seen` says of it.
    """

    python: str
    quickdraw: str
    code: str
    versions: tuple[tuple[str, str], ...]
    places: tuple[tuple[str, str], ...] = ()


def surroundings(places: Iterable[str]) -> Surroundings:
    """Those of this process."""
    python = f"{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}"
    seen_here = tuple((place, seen(place)) for place in places)
    return Surroundings(python, quickdraw.__version__, _code(), _versions(), seen_here)


def differences(expected: Surroundings, found: Surroundings, where: str) -> list[Fault]:
    """A fault for each thing in which a worker, of the machine named by `where`, is not as expected."""

    def fault(field: str, value: str, its: str, path: str = "") -> Iterator[Fault]:
        if its != value:
            yield Fault(where, field, its, f"{value}, as where the command was started", path=path)

    versions, places = dict(found.versions), dict(found.places)
    return [
        *fault("python", expected.python, found.python),
        *fault("quickdraw", _ours(expected), _ours(found)),
        *(one for name, value in expected.versions for one in fault(name, value, versions.get(name, NOTHING))),
        *(one for path, value in expected.places for one in fault("place", value, places.get(path, NOTHING), path)),
    ]


def seen(place: str) -> str:
    """What is at a path, in words that are the same wherever the same is seen.

    A folder is told by its names, a file by its size and its first MiB.
    """
    try:
        if Path(place).is_dir():
            names = sorted(path.name for path in Path(place).iterdir())
            return f"a folder of {len(names)} names ({_digest(os.fsencode(name) for name in names)})"
        with Path(place).open("rb") as file:
            return f"a file of {os.fstat(file.fileno()).st_size} bytes ({_digest([file.read(HEAD)])})"
    except FileNotFoundError:
        return NOTHING
    except OSError as error:
        return error.strerror or type(error).__name__


@dataclass(frozen=True, slots=True)
class Sworn[T, R]:
    """A function as it is sent to workers: the first call in a process checks that it is as expected.

    Raises Unfit where it is not.
    """

    function: Callable[[T], R]
    expected: Surroundings

    def __call__(self, task: T) -> R:
        swear(self.expected)
        return self.function(task)


@cache
def swear(expected: Surroundings) -> None:
    """In a worker process, once: it is as expected, and made ready for tasks. Raises Unfit.

    It runs one thread, for workers are what runs in parallel: OpenCV's own threads would mostly wait for each other on
    pictures of this size, and burn CPU while they do.
    """
    found = surroundings(place for place, _ in expected.places)
    if faults := differences(expected, found, f"node {os.uname().nodename}"):
        raise Unfit(faults)
    cv2.setNumThreads(1)
    give_back_freed_memory()


def _ours(of: Surroundings) -> str:
    """Our version and code as one."""
    return f"{of.quickdraw} (code {of.code[:12]})"


@cache
def _code() -> str:
    """A digest of the package's modules, their names and contents."""
    root = Path(quickdraw.__file__).parent
    files = sorted(root.rglob("*.py"))
    return _digest(part for file in files for part in (str(file.relative_to(root)).encode(), file.read_bytes()))


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    """Of all that the package requires, those of no extra, in the order of their names."""
    required = [line for line in requires("quickdraw") or () if "extra ==" not in line]
    names = sorted(re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in required)
    return tuple((name, _version(name)) for name in names)


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return NOTHING


def _digest(parts: Iterable[bytes]) -> str:
    sha256 = hashlib.sha256()
    for part in parts:
        sha256.update(len(part).to_bytes(8) + part)
    return sha256.hexdigest()[:16]
