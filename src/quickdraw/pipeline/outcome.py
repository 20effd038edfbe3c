"""What a build came to, for people and for programs: read from what is published, or planned in a dry run."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from shutil import which
from typing import Any

from quickdraw.pipeline.amounts import counted, duration, size
from quickdraw.pipeline.inventory import read_inventory
from quickdraw.pipeline.places import PROVENANCE, REPORT, SUMMARY
from quickdraw.pipeline.plan import BuildPlan
from quickdraw.pipeline.settings import Settings
from quickdraw.pipeline.tables import Table
from quickdraw.pipeline.trace import fingerprint_of

DRY_RUN = "dry run: nothing was touched"


@dataclass(frozen=True, slots=True)
class SplitCount:
    """How much is in a split."""

    name: str
    episodes: int
    frames: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """A dataset as it is published now; as it would be, with neither fingerprint nor size, where `dry_run`.

    `up_to_date`: it was there already. `refused_runs` is run -> why it is not in it. `report` is its page, where there
    is one. `seconds` is what the command took.
    """

    dataset: Path
    dry_run: bool
    up_to_date: bool
    fingerprint: str | None
    splits: tuple[SplitCount, ...]
    refused_runs: Mapping[str, Sequence[str]]
    warnings: tuple[str, ...]
    report: Path | None
    bytes: int
    seconds: float

    def document(self) -> dict[str, Any]:
        """JSON-ready."""
        shown = {name: getattr(self, name) for name in self.__slots__}
        report = None if self.report is None else str(self.report)
        splits = [asdict(split) for split in self.splits]
        return {**shown, "dataset": str(self.dataset), "splits": splits, "report": report}


def published(settings: Settings, *, up_to_date: bool, warnings: Iterable[str], seconds: float) -> Outcome:
    """What is published where the build put it. Raises Refused where that is no dataset of ours."""
    dataset = settings.output
    told = json.loads((dataset / SUMMARY).read_bytes())
    report = dataset / REPORT
    return Outcome(
        dataset=dataset,
        dry_run=False,
        up_to_date=up_to_date,
        fingerprint=fingerprint_of(dataset),
        splits=tuple(
            SplitCount(name, counts["episodes"], counts["frames"], counts["frames"] / told["fps"])
            for name, counts in told["counts"].items()
        ),
        refused_runs=told.get("refused_runs", {}),
        warnings=tuple(warnings),
        report=report if report.is_file() else None,
        bytes=sum(file.bytes for file in read_inventory(dataset).values()),
        seconds=seconds,
    )


def planned(plan: BuildPlan, settings: Settings, warnings: Iterable[str], seconds: float) -> Outcome:
    """What a dry run found."""
    rate_hz = settings.source.rate_hz
    return Outcome(
        dataset=settings.output,
        dry_run=True,
        up_to_date=False,
        fingerprint=None,
        splits=tuple(
            SplitCount(split.name, len(split.episodes), plan.frames(split), plan.frames(split) / rate_hz)
            for split in plan.splits
        ),
        refused_runs={str(r.key): [str(fault) for fault in r.faults] for r in plan.rejected},
        warnings=tuple(warnings),
        report=None,
        bytes=0,
        seconds=seconds,
    )


def summary(outcome: Outcome, settings: Settings) -> Iterator[str | Table]:
    """One screen: what is there now and what is not, how large it is, what to do next, and last the dataset's place."""
    if outcome.dry_run:
        yield DRY_RUN
        return
    if not outcome.up_to_date:
        yield ""
        yield _splits(outcome.splits)
        yield ""
    yield from _left_out(outcome, settings)
    took = duration(outcome.seconds)
    yield f"{size(outcome.bytes)}, {'unchanged; looked at' if outcome.up_to_date else 'built'} in {took}"
    if outcome.report:
        yield f"look at it:  {outcome.report}"
    if not outcome.up_to_date:
        dataset, tree = shlex.quote(str(outcome.dataset)), shlex.quote(str(settings.source.tree))
        yield f"prove it:    {_command()} verify {dataset} --source {tree}"
    yield f"{'up to date' if outcome.up_to_date else 'dataset'}: {outcome.dataset}"


def _command() -> str:
    """`quickdraw` as one can type it here: its name where the shell finds it, else where it is."""
    beside = Path(sys.executable).with_name("quickdraw")
    return "quickdraw" if which("quickdraw") or not beside.is_file() else shlex.quote(str(beside))


def _splits(splits: Sequence[SplitCount]) -> Table:
    """A row a split, and all together."""
    every = SplitCount("all", *(sum(getattr(s, name) for s in splits) for name in ("episodes", "frames", "seconds")))
    rows = [(s.name, f"{s.episodes:,}", f"{s.frames:,}", duration(s.seconds)) for s in (*splits, every)]
    headings = ("split", "episodes", "frames", "long")
    return Table.of(headings, rows, headings[1:])


def _left_out(outcome: Outcome, settings: Settings) -> Iterator[str]:
    bad = len(outcome.refused_runs)
    if bad:
        every = bad + sum(split.episodes for split in outcome.splits)
        yield f"left out: {bad:,} of {counted(every, settings.source.words.one)}; refused_runs in {PROVENANCE} says why"
