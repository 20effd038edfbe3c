"""What the plans of a build say of columns and cameras, counted over all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from quickdraw.core.episode import EpisodePlan
from quickdraw.errors import Fault

UNFILLED: Final = "nothing but its fill in any episode"


@dataclass(slots=True)
class Gathered:
    """One feature over all episodes.

    `column` is what it is made from, `columns` each with an episode that has it; `widths` counts episodes by how wide
    it is in them, `wide` names one that is filled for each width. `missing` counts rows, `odd` samples.
    """

    columns: dict[str, str] = field(default_factory=dict)
    widths: Counter[int] = field(default_factory=Counter)
    wide: dict[int, str] = field(default_factory=dict)
    missing: int = 0
    odd: int = 0
    why: str = ""

    @property
    def column(self) -> str:
        """The column it is made from; of those that fall together, the first."""
        return next(iter(self.columns))

    @property
    def filled(self) -> bool:
        """Whether any episode has anything but fill."""
        return bool(self.wide)

    @property
    def reason(self) -> str:
        """Why it is left out."""
        return self.why or UNFILLED

    @property
    def width(self) -> int:
        """How wide it is, where it is filled."""
        return next(iter(self.wide))

    def lacking(self, episodes: int) -> int:
        """How many of `episodes` lack it, or have it empty and of another width."""
        return episodes - self.widths[self.width]

    def take(self, key: str, held: Mapping[str, Any]) -> None:
        """Count what the episode `key` holds of it."""
        if held["filled"]:
            self.wide.setdefault(held["width"], key)
            self.columns = {held["column"]: key, **self.columns} if not self.filled else self.columns
        self.columns.setdefault(held["column"], key)
        self.widths[held["width"]] += 1
        self.missing += held["missing"]
        self.odd += held.get("odd", 0)
        self.why = self.why or held.get("why", "")

    def faults(self, name: str) -> Iterator[Fault]:
        """What no one feature can be made of."""
        if len(self.wide) > 1:
            found = ", ".join(f"{width} numbers a row in {key}" for width, key in sorted(self.wide.items()))
            yield self.fault(name, found, "one width in all episodes")

    def fault(self, name: str, found: str, expected: str) -> Fault:
        """A fault of it, told of an episode that has it."""
        return Fault(next(iter(self.wide.values())), name, found, expected, option="+source.exclude_globs=[...]")


@dataclass(slots=True)
class Gathering:
    """All features and cameras of `episodes` plans; of a camera what the first that has it says."""

    episodes: int = 0
    columns: dict[str, Gathered] = field(default_factory=dict)
    cameras: dict[str, Mapping[str, Any]] = field(default_factory=dict)


def gathered(plans: Iterable[EpisodePlan]) -> Gathering:
    """What the plans hold, one after another."""
    found = Gathering()
    for plan in plans:
        found.episodes += 1
        for name, held in plan.holds["columns"].items():
            found.columns.setdefault(name, Gathered()).take(str(plan.key), held)
        for name, camera in plan.holds["cameras"].items():
            found.cameras.setdefault(name, camera)
    return found
