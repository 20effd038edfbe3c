"""The head of a page: what the dataset is, and the answers to whether it is right, at a glance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quickdraw.formats.lerobot.schema import BOOKKEEPING
from quickdraw.pipeline.amounts import MB, counted, duration
from quickdraw.pipeline.inventory import files_of, read_inventory
from quickdraw.report.answers import Answer, answers_of
from quickdraw.report.plots import VARIABLES, colour_of
from quickdraw.report.subject import Subject

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
    """A number worth a glance."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Head:
    """All of it, as it is shown. `origin` is who made the dataset."""

    name: str
    origin: str
    what: str
    answers: tuple[Answer, ...]
    facts: tuple[Fact, ...]
    shares: tuple[Share, ...]


def head_of(subject: Subject) -> Head:
    """The head of a dataset's page. Raises Refused where a split cannot be read."""
    trace = subject.trace
    return Head(
        name=subject.root.name if trace is None else trace.name,
        origin="LeRobot v3.0 dataset" if trace is None else f"LeRobot v3.0 dataset, processor {trace.processor}",
        what=_what(subject),
        answers=tuple(answers_of(subject)),
        facts=tuple(_facts(subject)),
        shares=tuple(_shares(subject)),
    )


def sizes_of(root: Path) -> dict[str, int]:
    """Bytes of every file of a dataset, by its place, as listed or, where nothing is, as found; views are left out."""
    listed = {name: digest.bytes for name, digest in read_inventory(root).items()}
    return listed or {name: (root / name).stat().st_size for name in files_of(root)}


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
    seconds = sum(split.rows / split.rate_hz for split in subject.splits.values())
    yield Fact("splits", f"{len(subject.splits):,}")
    yield Fact("episodes", f"{episodes:,}")
    yield Fact("rows", f"{sum(split.rows for split in subject.splits.values()):,}")
    yield Fact("duration", duration(seconds))
    yield Fact("size", f"{sum(sizes_of(subject.root).values()) / MB:,.1f} MB")


def _shares(subject: Subject) -> Iterator[Share]:
    seconds = {name: split.rows / split.rate_hz for name, split in subject.splits.items()}
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
