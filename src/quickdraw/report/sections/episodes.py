"""Every episode, a table a split: where it comes from, how long it is, how far resampling moved it, what it shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from quickdraw.report.parts import Cell, Column, Section, Table
from quickdraw.report.sections.cells import NOTHING, amount, count, percent, table
from quickdraw.report.subject import Subject, TracedEpisode

MS = 1e3
MOVED = (
    " Moved is the farthest that a sample lies from its row's time, and in which stream; past bound is the share of "
    "rows whose sample lies beyond the bound, in the stream that has most of them."
)


@dataclass(frozen=True, slots=True)
class Line:
    """One episode: its number, rows, seconds and tasks, and what provenance.json says of it, where there is any."""

    number: int
    rows: int
    seconds: float
    tasks: str
    traced: TracedEpisode | None


def episodes_section(subject: Subject) -> Section | None:
    """Of every dataset; of others' with less in it."""
    tables = [_table(subject, split) for split in subject.splits]
    moved = any(column.name == "moved" for each in tables for column in each.columns)
    lead = "Where each comes from and how long it is. A click on a column's head sorts a table."
    return Section("episodes", "Episodes", lead + (MOVED if moved else ""), tuple(tables))


def lines_of(subject: Subject, split: str) -> list[Line]:
    """The episodes of a split, in order."""
    reader = subject.splits[split]
    traced = {episode.episode_index: episode for episode in subject.episodes(split)}
    return [
        Line(
            number=(number := int(told["episode_index"])),
            rows=(rows := int(told["length"])),
            seconds=rows / reader.rate_hz,
            tasks=", ".join(map(str, told.get("tasks") or ())),
            traced=traced.get(number),
        )
        for told in reader.episodes
    ]


def _table(subject: Subject, split: str) -> Table:
    lines = lines_of(subject, split)
    known = any(line.traced for line in lines)
    moved = any(line.traced and line.traced.displacement for line in lines)
    cubes = any(line.traced and line.traced.cubes for line in lines)
    # A campaign's name is the task, where no other is told: it stands there already.
    tasks = any(line.tasks and not (line.traced and line.tasks == line.traced.campaign) for line in lines)
    columns = [Column("episode", "", True), *([Column("campaign"), Column("run")] if known else [])]
    columns += [Column("rows", "", True), Column("duration", "s", True)]
    if moved:
        columns += [Column("moved", "ms", True), Column("stream"), Column("past bound", "%", True)]
    columns += [*([Column("cubes")] if cubes else []), *([Column("task")] if tasks else [])]
    rows = []
    for line in lines:
        cells = [count(line.number), *(_names(line) if known else ())]
        cells += [count(line.rows), amount(line.seconds, 2)]
        cells += [*(_moved(line) if moved else ()), *([_cubes(line)] if cubes else ())]
        rows.append((*cells, *([Cell(line.tasks)] if tasks else ())))
    palette = subject.trace.palette.get(split) if subject.trace else None
    return table(f"episodes-{split}", f"{split}{_palette(palette)}.", columns, rows, sortable=True)


def _palette(colours: Sequence[str] | None) -> str:
    if colours is None:
        return ""
    return f"; cubes of {', '.join(colours)}" if colours else "; no cubes"


def _names(line: Line) -> tuple[Cell, Cell]:
    return (Cell(line.traced.campaign), Cell(line.traced.run)) if line.traced else (Cell("–"), Cell("–"))


def _moved(line: Line) -> tuple[Cell, Cell, Cell]:
    """How far the stream that was moved farthest was, which one, and the share past its bound where that is most."""
    streams = line.traced.displacement if line.traced else {}
    if not streams:
        return NOTHING, Cell("–"), NOTHING
    name, worst = max(streams.items(), key=lambda stream: stream[1].max_s)
    past = max(moved.past_bound for moved in streams.values())
    return amount(worst.max_s * MS, 2), Cell(name), percent(past)


def _cubes(line: Line) -> Cell:
    """The colours any view saw, in the order they are told."""
    views = line.traced.cubes.values() if line.traced else ()
    seen = dict.fromkeys(colour for view in views for colour, share in view.visible_share.items() if share > 0)
    return Cell(", ".join(seen) or "–", float(len(seen)))
