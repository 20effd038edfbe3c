"""What a check gathers while it goes, and what it says in the end."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quickdraw.formats.pooled.checks.rules import ERROR, INFO, RULES, WARNING, Finding, Severity
from quickdraw.formats.pooled.info import Info

MOST_SAID = 80  # letters of a value
MOST_NAMED = 5  # rows, lines and names listed of one finding


@dataclass(frozen=True, slots=True)
class Report:
    """What a check found. `episodes` is how many have files; findings stand by N, those of the task first."""

    root: Path
    episodes: int
    deep: bool
    findings: tuple[Finding, ...]

    def of(self, severity: Severity) -> tuple[Finding, ...]:
        """The findings of one severity."""
        return tuple(each for each in self.findings if each.severity == severity)

    def passes(self, *, strict: bool = False) -> bool:
        """Whether there is no error, nor a warning where `strict`."""
        return not self.of(ERROR) and not (strict and self.of(WARNING))


@dataclass(slots=True)
class Checking:
    """A check under way: the task, its findings so far, and what only all episodes together can tell.

    `columns` and `slots` are observation column and image_key -> the first N that has it. `counts` is, of a deep
    check, counted column -> its finite rows or samples in all of data/. `task_indices` are those of tasks.jsonl, None
    where it cannot be read. `schema` is that of the latest data file, `types` its columns that the contract knows, and
    `breaches` (rule, found) what is wrong there.
    """

    info: Info
    deep: bool
    findings: list[Finding] = field(default_factory=list)
    columns: dict[str, int] = field(default_factory=dict)
    slots: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    task_indices: frozenset[int] | None = None
    schema: Any = None
    types: Mapping[str, Any] = field(default_factory=dict)
    breaches: tuple[tuple[str, str], ...] = ()

    def add(self, rule: str, path: Path, found: str, number: int | None = None) -> None:
        """Note a breach of `rule` in a file of the task."""
        told = RULES[rule]
        layout = self.info.layout
        episode = "" if number is None else layout.place(number).suffix
        task = shlex.quote(plain(str(layout.root)))
        mend = told.mend.format(task=task, number=number if number is not None else "<N>")
        where = plain(path.relative_to(layout.root).as_posix() if path.is_relative_to(layout.root) else str(path))
        self.findings.append(Finding(told.severity, rule, number, episode, where, plain(found), mend))

    def report(self, episodes: int) -> Report:
        """All of it, in order: the task's own findings, then by N, file and rule."""
        severe = {ERROR: 0, WARNING: 1, INFO: 2}
        ordered = sorted(
            self.findings, key=lambda each: (each.number or 0, each.path, severe[each.severity], each.rule)
        )
        return Report(self.info.layout.root, episodes, self.deep, tuple(ordered))


def plain(text: str) -> str:
    """Text that can be written as UTF-8: what a file name holds of other bytes becomes `\\udcNN`."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def said(value: Any) -> str:
    """A JSON value in a few words, however deep or long it is."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits is not written out
        text = f"a {type(value).__name__}"
    return text if len(text) <= MOST_SAID else f"{text[:MOST_SAID]} ..."


def listed(things: Iterable[object], *, most: int = MOST_NAMED) -> str:
    """The first few of some things, and how many more there are."""
    every = [str(each) for each in things]
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more
