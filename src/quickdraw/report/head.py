"""The head of a page: what the dataset is, and the verdict at a glance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from quickdraw.formats.lerobot.reader import SplitReader
from quickdraw.report.plots import VARIABLES, colour_of
from quickdraw.report.subject import Subject

BOOKKEEPING = ("timestamp", "frame_index", "episode_index", "index", "task_index")  # features of every LeRobot dataset
MOST_NAMED = 5  # features


@dataclass(frozen=True, slots=True)
class Share:
    """A split, and how much of the dataset's time it is [%]. `colour` is a CSS variable's name."""

    name: str
    episodes: str
    rows: str
    duration: str
    percent: float
    colour: str


@dataclass(frozen=True, slots=True)
class Fact:
    """A number worth a glance; `bad` where it asks for another."""

    name: str
    value: str
    bad: bool = False


@dataclass(frozen=True, slots=True)
class Head:
    """All of it, as it is shown. `origin` is who made the dataset, `verdict` what checks say in short."""

    name: str
    origin: str
    what: str
    sound: bool
    verdict: str
    checks: str
    facts: tuple[Fact, ...]
    shares: tuple[Share, ...]


def head_of(subject: Subject) -> Head:
    """The head of a dataset's page. Raises Refused where a split cannot be read."""
    checked, trace = subject.checked, subject.trace
    findings = len(checked.findings)
    return Head(
        name=subject.root.name if trace is None else trace.name,
        origin="LeRobot v3.0 dataset" if trace is None else f"LeRobot v3.0 dataset, processor {trace.processor}",
        what=_what(subject),
        sound=checked.sound,
        verdict="Nothing wrong" if checked.sound else counted(findings, "finding"),
        checks=f"{counted(len(checked.checks), 'check')} looked at {counted(sum(checked.checks.values()), 'thing')}",
        facts=tuple(_facts(subject)),
        shares=tuple(_shares(subject)),
    )


def counted(number: int, what: str) -> str:
    """A number and what is counted, in the plural where it is not one."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def duration(seconds: float) -> str:
    """A span of time in the unit that suits it."""
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60:,} h {minutes % 60} min"


def _what(subject: Subject) -> str:
    """What a row of it holds, by the first split."""
    first = next(iter(subject.splits.values()))
    features: Mapping[str, Any] = first.info["features"]
    pictures: dict[str, list[str]] = {}
    for name, told in features.items():
        if told.get("dtype") == "video":
            shape = told.get("shape", ())
            pictures.setdefault("×".join(str(side) for side in (*shape[1:2], *shape[:1])), []).append(name)
    held = [f"{counted(len(cameras), 'camera')} of {size} px" for size, cameras in pictures.items()]
    vectors = [name for name, told in features.items() if name not in BOOKKEEPING and told.get("dtype") != "video"]
    sizes = {name: ", ".join(str(side) for side in features[name].get("shape", ())) for name in vectors[:MOST_NAMED]}
    held += [f"{name} ({size})" for name, size in sizes.items()]
    if len(vectors) > MOST_NAMED:
        held.append(f"{len(vectors) - MOST_NAMED} more")
    return f"{first.rate_hz} rows a second, each of {', '.join(held)}." if held else f"{first.rate_hz} rows a second."


def _facts(subject: Subject) -> Iterator[Fact]:
    episodes = sum(len(split.episodes) for split in subject.splits.values())
    seconds = sum(_seconds(split) for split in subject.splits.values())
    yield Fact("splits", f"{len(subject.splits):,}")
    yield Fact("episodes", f"{episodes:,}")
    yield Fact("rows", f"{sum(split.rows for split in subject.splits.values()):,}")
    yield Fact("duration", duration(seconds))
    if subject.trace is not None:
        refused = len(subject.trace.refused_runs)
        yield Fact("refused", f"{refused:,}", bad=refused > 0)
    yield Fact("findings", f"{len(subject.checked.findings):,}", bad=not subject.checked.sound)


def _shares(subject: Subject) -> Iterator[Share]:
    seconds = {name: _seconds(split) for name, split in subject.splits.items()}
    whole = sum(seconds.values()) or 1.0
    for name, split in subject.splits.items():
        yield Share(
            name=name,
            episodes=counted(len(split.episodes), "episode"),
            rows=counted(split.rows, "row"),
            duration=duration(seconds[name]),
            percent=round(100 * seconds[name] / whole, 2),
            colour=VARIABLES[colour_of(name, subject.splits)],
        )


def _seconds(split: SplitReader) -> float:
    """How long it is; nothing where it says no rate, which checks find."""
    return split.rows / split.rate_hz if split.rate_hz > 0 else 0.0
