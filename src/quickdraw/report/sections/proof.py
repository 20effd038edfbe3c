"""What was checked, what was found, the shift curves that were measured, and what is not proved by any of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from quickdraw.pipeline.amounts import counted
from quickdraw.pipeline.verify.report import ALIGNED, Curve, Report
from quickdraw.report.parts import Cell, Column, Drawing, Part, Section, Table, Words
from quickdraw.report.sections.cells import NOTHING, amount, count, table
from quickdraw.report.sections.logarithmic import plain_numbers
from quickdraw.report.subject import Subject

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ACROSS = 4
MOST_CAMERAS = 12  # that are drawn
SAMPLED = (
    "The sample above shows that clips hold the pictures the build's plan chose, through encoding, joining and "
    "numbering, not that it chose right. "
)
LEAST = 1e-2  # a difference below this is drawn there: the scale is logarithmic


def proof_section(subject: Subject) -> Section | None:
    """Of every dataset."""
    report = subject.checked
    parts: list[Part] = list(_alarms(report))
    if report.findings:
        parts.append(_findings(report))
    if report.skipped:
        parts.append(_skipped(report))
    if report.curves:
        parts += [_drawing(subject, report.curves), _curves(report.curves)]
    parts.append(_checks(report))
    parts += [Words(text) for text in _unproved(subject)]
    return Section("proof", "What was checked", _lead(report), tuple(parts))


def _lead(report: Report) -> str:
    looked = sum(report.checks.values())
    found = len(report.findings)
    verdict = counted(found, "finding") if found else "nothing is wrong"
    if not found and any(curve.verdict == "shifted" for curve in report.curves):
        verdict = "nothing is wrong but the shift curves"
    pixels = "" if report.pictures else ", no picture decoded"
    return f"{len(report.checks)} checks of {looked:,} things in {report.files:,} files{pixels}: {verdict}."


def _alarms(report: Report) -> Iterator[Words]:
    if report.findings:
        yield Words("This dataset is not what it says it is. Do not train on it before you know why.", warning=True)
    shifted = [curve for curve in report.curves if curve.verdict == "shifted"]
    if shifted:
        places = ", ".join(f"{curve.split}: {curve.camera}" for curve in shifted)
        yield Words(f"Pictures do not belong to their rows in {places}: see the shift curves.", warning=True)


def _checks(report: Report) -> Table:
    found = Counter(fault.field for fault in report.findings)
    skipped = Counter(skip.check for skip in report.skipped)
    names = dict.fromkeys([*report.checks, *found])
    rows = [
        (Cell(name), count(report.checks.get(name, 0)), count(found[name], mark=found[name] > 0), count(skipped[name]))
        for name in names
    ]
    columns = (
        Column("check"),
        Column("looked at", "", True),
        Column("findings", "", True),
        Column("left out", "", True),
    )
    return table("checks", "How many things each check looked at.", columns, rows, sortable=True)


def _findings(report: Report) -> Table:
    rows = [
        (Cell(f.where), Cell(f.field), Cell(f.found, mark=True), Cell(f.expected), Cell(f.path))
        for f in report.findings
    ]
    columns = tuple(Column(name) for name in ("where", "check", "found", "expected", "file"))
    return table("findings", "What is wrong.", columns, rows)


def _skipped(report: Report) -> Table:
    rows = [(Cell(skip.check), Cell(skip.where), Cell(skip.reason)) for skip in report.skipped]
    return table("skipped", "What could not be checked.", tuple(map(Column, ("check", "where", "why"))), rows)


def _curves(curves: Sequence[Curve]) -> Table:
    columns = (
        Column("split"),
        Column("camera"),
        Column("episode", "", True),
        Column("rows", "", True),
        Column("at 0", "levels²", True),
        Column("a row off", "levels²", True),
        Column("other camera", "levels²", True),
        Column("least at", "rows", True),
        Column("verdict"),
    )
    rows = [_row(curve) for curve in curves]
    caption = (
        "Mean squared difference of brightness (0 to 255) from the raw pictures, both shrunk to 24 x 32: at the row's "
        "own time, a row off, and from the most similar other camera. Aligned: least at 0. Flat: a still scene, which "
        "proves nothing."
    )
    return table("shift-curves", caption, columns, rows, sortable=True)


def _row(curve: Curve) -> tuple[Cell, ...]:
    at = dict(zip(curve.shifts, curve.mean_square, strict=True))
    beside = [at[shift] for shift in (-1, 1) if shift in at]
    best = min(curve.shifts, key=lambda shift: (at[shift], abs(shift)))
    wrong = curve.verdict != ALIGNED
    return (
        Cell(curve.split),
        Cell(curve.camera),
        count(curve.episode),
        count(curve.rows),
        amount(at[0], 2) if 0 in at else NOTHING,
        amount(min(beside), 2) if beside else NOTHING,
        amount(min(curve.others.values()), 2) if curve.others else NOTHING,
        Cell(f"{best:+d}" if best else "0", float(best), wrong),
        Cell(curve.verdict, mark=wrong),
    )


def _drawing(subject: Subject, curves: Sequence[Curve]) -> Drawing:
    from quickdraw.report.plots import drawing, sheet

    by_camera = dict[str, list[Curve]]()
    for curve in sorted(curves, key=lambda curve: curve.verdict == ALIGNED):  # what is wrong is drawn in any case
        by_camera.setdefault(curve.camera, []).append(curve)
    shown = list(by_camera)[:MOST_CAMERAS]
    across = min(ACROSS, len(shown))
    down = -(-len(shown) // across)
    figure, grid = sheet(down, across, height_in=0.7 + 1.9 * down)
    for number, axes in enumerate(grid.flat):
        if number >= len(shown):
            axes.set_visible(False)
            continue
        _draw(axes, by_camera[shown[number]], list(subject.splits))
        axes.set_title(shown[number], fontsize=8, loc="left")
        if number % across == 0:
            axes.set_ylabel("difference [levels²]")
        if number + across >= len(shown):
            axes.set_xlabel("shift [rows]")
    handles, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=min(6, max(1, len(names))), fontsize=8)
    left = f" {len(shown)} of {len(by_camera)} cameras." if len(by_camera) > len(shown) else ""
    caption = (
        "Each line is the liveliest seconds of a split's longest episode, held against the raw video so many rows "
        f"earlier or later. Pictures that belong to their rows make a sharp dip at 0.{left}"
    )
    verdicts = Counter(curve.verdict for curve in curves)
    told = ", ".join(f"{number} {verdict}" for verdict, number in sorted(verdicts.items()))
    return drawing(figure, name="shift-curves-drawn", caption=caption, alt=f"Shift curves by camera: {told}.")


def _draw(axes: Axes, curves: Sequence[Curve], splits: Sequence[str]) -> None:
    from quickdraw.report.plots import FAINT, WARN, colour_of

    axes.axvline(0, color=FAINT, linewidth=0.8, linestyle=(0, (4, 2)))
    labelled = set[str]()
    for curve in curves:
        values = [max(value, LEAST) for value in curve.mean_square]
        style = "-" if curve.verdict == ALIGNED else ":"
        label = None if curve.split in labelled else curve.split
        labelled.add(curve.split)
        axes.plot(curve.shifts, values, style, color=colour_of(curve.split, splits), linewidth=1.3, label=label)
        if curve.verdict == "shifted":
            best = curve.mean_square.index(min(curve.mean_square))
            axes.plot([curve.shifts[best]], [values[best]], "o", color=WARN, markersize=5)
    axes.set_yscale("log")
    plain_numbers(axes)
    axes.set_xticks([-5, 0, 5])


def _unproved(subject: Subject) -> Iterator[str]:
    """What nobody can tell from the dataset alone, and how to be told."""
    command = "quickdraw verify <dataset>"
    yield (f"Pictures were not decoded for this page. {command} decodes every one of them, and digests every file.")
    if subject.trace is not None:
        yield (
            f"That rows and pictures are those of the raw recordings cannot be told from the dataset alone. "
            f"{SAMPLED if subject.checked.curves else ''}"
            f"{command} --source <raw tree> reads every run again, compares every row to the bit, and every "
            "episode's pictures at every shift."
        )
