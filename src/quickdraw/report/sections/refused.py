"""What is not in the dataset, and why: runs that were refused, excluded or ignored."""

from __future__ import annotations

from collections.abc import Iterable

from quickdraw.report.parts import Cell, Column, Part, Section, Table
from quickdraw.report.sections.cells import table
from quickdraw.report.subject import Subject, Trace

NOTHING_LEFT_OUT = "Nothing of the raw tree was refused, excluded or ignored."


def refused_section(subject: Subject) -> Section | None:
    """Of a dataset that says what it was built from."""
    trace = subject.trace
    if trace is None:
        return None
    parts = list[Part]()
    if trace.refused_runs:
        parts.append(_refused(trace))
    if trace.excluded_campaigns or trace.excluded_runs:
        parts.append(_names("excluded", _excluded(trace), "Left out because the configuration says so."))
    if trace.ignored:
        caption = "Folders that hold a recording under a name no recording has: not looked into."
        parts.append(_names("ignored", ((name, "no name of a run") for name in trace.ignored), caption))
    lead, most = _lead(trace), trace.config.get("max_runs_per_campaign")
    if most:
        lead = f"{lead} Of each folder no more than {most:,} were taken, by the configuration."
    return Section("refused", "What was left out", lead, tuple(parts))


def _lead(trace: Trace) -> str:
    counts = (
        (len(trace.refused_runs), "run refused for what is wrong with it", "runs refused for what is wrong with them"),
        (len(trace.excluded_runs), "run excluded by name", "runs excluded by name"),
        (len(trace.excluded_campaigns), "whole folder excluded by name", "whole folders excluded by name"),
        (len(trace.ignored), "folder ignored", "folders ignored"),
    )
    told = [f"{number:,} {one if number == 1 else more}" for number, one, more in counts if number]
    return f"Not in the dataset: {', '.join(told)}." if told else NOTHING_LEFT_OUT


def _refused(trace: Trace) -> Table:
    """A line a reason."""
    rows = [
        (Cell(run), Cell(reason.removeprefix(f"{run}: ").replace(f"{run}/", "")))
        for run, reasons in sorted(trace.refused_runs.items())
        for reason in reasons
    ]
    caption = "Every fault of every refused run."
    return table("refused-runs", caption, (Column("run"), Column("why")), rows, sortable=True)


def _excluded(trace: Trace) -> Iterable[tuple[str, str]]:
    yield from ((name, "whole folder") for name in trace.excluded_campaigns)
    yield from ((name, "single run") for name in trace.excluded_runs)


def _names(name: str, told: Iterable[tuple[str, str]], caption: str) -> Table:
    rows = [(Cell(path), Cell(what)) for path, what in told]
    return table(name, caption, (Column("name"), Column("what")), rows)
