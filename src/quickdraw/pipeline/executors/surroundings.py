"""What a worker on another machine must have in common with the process that gives it tasks, checked before the first.

Same bytes, whatever runs the tasks, takes the same code, the same versions of what it uses, and the same files behind
a path; the kind of CPU and the operating system are free. All that differs is told at once, with the machine's name.
Of a folder a worker must see the first names, not all and no others: it may grow while tasks run.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from heapq import nsmallest
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import quickdraw
from quickdraw.errors import Fault, Refused
from quickdraw.pipeline.amounts import counted
from quickdraw.pipeline.executors.worker_process import make_ready

HEAD = 1 << 20  # bytes of a file that are looked at
NAMES = 16  # of a folder that are looked for; hidden ones come and go
TOLD = 3  # names in a message
NOTHING = "nothing"  # what is found where nothing is

type Sight = str | tuple[str, ...]  # of a folder the first of its names, of a file words for its content


class Unfit(Refused):
    """A worker is not what it must be to run tasks of the process that asks it: no failure of the task it was given."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Of a process: Python's minor version, a digest of our code, what it requires, what it sees at some places.

    `versions` are pairs of a distribution and its version, `places` of a path and what is `seen` there.
    """

    python: str
    quickdraw: str
    code: str
    versions: tuple[tuple[str, str], ...]
    places: tuple[tuple[str, Sight], ...] = ()


def surroundings(places: Iterable[str]) -> Surroundings:
    """Those of this process, without places at which there is nothing: a worker may still be shown what was there."""
    python = f"{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}"
    seen_here = tuple((place, sight) for place in places if (sight := seen(place)) != NOTHING)
    return Surroundings(python, quickdraw.__version__, _code(), _versions(), seen_here)


def differences(expected: Surroundings, where: str) -> list[Fault]:
    """A fault for each thing in which this process, on the machine named by `where`, is not as expected."""
    here = surroundings(())
    versions = dict(here.versions)

    def fault(field: str, value: str, its: str, path: str = "") -> Iterator[Fault]:
        if its != value:
            yield Fault(where, field, its, f"{value}, as where the command was started", path=path)

    return [
        *fault("python", expected.python, here.python),
        *fault("quickdraw", _ours(expected), _ours(here)),
        *(one for name, value in expected.versions for one in fault(name, value, versions.get(name, NOTHING))),
        *(one for path, sight in expected.places for one in fault("place", _told(sight), _found(path, sight), path)),
    ]


def seen(place: str) -> Sight:
    """What is at a path, the same wherever the same is seen: some names of a folder; a file's size and first MiB."""
    try:
        if Path(place).is_dir():
            return tuple(nsmallest(NAMES, (path.name for path in Path(place).iterdir() if path.name[0] != ".")))
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
    """In a worker process, once: it is as expected, and made ready for tasks. Raises Unfit."""
    if faults := differences(expected, f"node {os.uname().nodename}"):
        raise Unfit(faults)
    make_ready()


def _found(place: str, expected: Sight) -> str:
    """What is at a path where that is expected, in the same words if it is."""
    found = seen(place)
    if isinstance(found, str) or isinstance(expected, str):
        return _told(found)
    lacking = [name for name in expected if not os.path.lexists(Path(place) / name)]
    return f"a folder without {_listed(lacking)}" if lacking else _told(expected)


def _told(sight: Sight) -> str:
    if isinstance(sight, str):
        return sight
    return f"a folder with {_listed(sight)}" if sight else "a folder"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - TOLD
    return ", ".join(names[:TOLD]) + (f" and {counted(more, 'other')}" if more > 0 else "")


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
