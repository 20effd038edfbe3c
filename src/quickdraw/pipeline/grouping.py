"""Faults and warnings of one cause, told once: forty runs with the same fault are one entry, not forty."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from quickdraw.errors import Fault
from quickdraw.pipeline.amounts import some

SHOWN = 3  # places of one cause that are named; as many faults are still told one by one
FIGURES = re.compile(r"(?<!\w)\d+(?:[.,]\d+)*(?:e[+-]?\d+)?")  # none in a name, as uvc_0
OTHERS = "(the first's; the others' figures differ)"


@dataclass(frozen=True, slots=True)
class Entry:
    """One fault, or many of one cause; `differing`: but for the figures in what was found and expected."""

    faults: tuple[Fault, ...]
    differing: bool = False

    @property
    def places(self) -> list[str]:
        """Whom they are of, each once, in order."""
        return list(dict.fromkeys(fault.where for fault in self.faults))

    @property
    def more(self) -> str:
        """`and 37 more`, of those that are not named, and how often they have it where that is another number."""
        hidden = len(self.places) - SHOWN
        words = [f"and {hidden:,} more"] if hidden > 0 else []
        words += [f"({len(self.faults):,} times)"] if len(self.places) < len(self.faults) else []
        return " ".join(words)

    @property
    def told(self) -> Fault:
        """One fault that stands for all: its `where` names the first few places, and how many more there are."""
        first = self.faults[0]
        if len(self.faults) == 1:
            return first
        where = ", ".join(self.places[:SHOWN]) + (f" {self.more}" if self.more else "")
        found = f"{first.found} {OTHERS}" if self.differing else first.found
        return replace(first, where=where, found=found, path=_common_path(self.faults), line=_common_line(self.faults))


def entries(faults: Iterable[Fault]) -> list[Entry]:
    """Every fault, in order; more than a few of one cause are one entry, where the first of them was."""
    return [Entry(tuple(group), differing) for group, differing in _gathered(tuple(faults), _cause, SHOWN)]


def told_once(warnings: Iterable[str], episodes: Collection[str]) -> Iterator[str]:
    """Warnings, those that several of `episodes` have told once; an episode's begin with its name and a colon."""
    told = [_Warning.of(warning, episodes) for warning in warnings]
    for group, differing in _gathered(told, lambda warning: ("", warning.text), 1):
        names = list(dict.fromkeys(warning.episode for warning in group if warning.episode))
        of_whom = f"{some(names, SHOWN)}: " if names else ""
        yield of_whom + group[0].text + (f" {OTHERS}" if differing else "")


@dataclass(frozen=True, slots=True)
class _Warning:
    episode: str
    text: str

    @classmethod
    def of(cls, warning: str, episodes: Collection[str]) -> _Warning:
        name, colon, text = warning.partition(": ")
        return cls(name, text) if colon and name in episodes else cls("", warning)


def _gathered[T](
    items: Sequence[T], cause: Callable[[T], tuple[Hashable, str]], fewest: int
) -> Iterator[tuple[list[T], bool]]:
    """Items by their cause, (kind, words), then by their words but for the figures; `fewest` and less stay single.

    The second of a pair tells whether figures differ.
    """
    exact = Counter(map(cause, items))
    loose = Counter(_without_figures(cause(item)) for item in items if exact[cause(item)] <= fewest)
    groups: dict[Hashable, tuple[list[T], bool]] = {}
    for number, item in enumerate(items):
        why = cause(item)
        if exact[why] > fewest:
            groups.setdefault(why, ([], False))[0].append(item)
        elif loose[_without_figures(why)] > max(fewest, SHOWN):
            groups.setdefault(("figures", _without_figures(why)), ([], True))[0].append(item)
        else:
            groups[number] = [item], False
    yield from groups.values()


def _cause(fault: Fault) -> tuple[Hashable, str]:
    return (fault.field, _file(fault), fault.option), f"{fault.found}\0{fault.expected}"


def _without_figures(cause: tuple[Hashable, str]) -> tuple[Hashable, str]:
    return cause[0], FIGURES.sub("#", cause[1])


def _file(fault: Fault) -> str:
    """What file of its episode a fault is in, whichever episode that is."""
    _, inside, rest = fault.path.partition(f"{fault.where}/")
    return rest if inside else re.sub(r"\d+", "#", fault.path.rpartition("/")[2])


def _common_path(faults: Sequence[Fault]) -> str:
    """The file they are all in, from the episode's folder where each is in its own; else the first's."""
    paths, files = {fault.path for fault in faults}, {_file(fault) for fault in faults}
    each_its_own = all(fault.path.endswith(f"{fault.where}/{_file(fault)}") for fault in faults)
    return files.pop() if len(paths) > 1 and len(files) == 1 and each_its_own else faults[0].path


def _common_line(faults: Sequence[Fault]) -> int | None:
    lines = {fault.line for fault in faults}
    return lines.pop() if len(lines) == 1 else None
