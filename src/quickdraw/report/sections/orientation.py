"""The section on orientation: what the 6D rotations of the state do, and why they are not to be scaled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from quickdraw.core.grid import Float64, Int64
from quickdraw.report.parts import Cell, Column, Drawing, Part, Section, Table, Words
from quickdraw.report.plots import FAINT, LINE, SERIES, TEXT_PT, colour_of, drawing, sheet
from quickdraw.report.rotations import Rotation, rotations_of
from quickdraw.report.sections.attitude import AZIMUTH_BINS, TILT_BINS, Attitude, attitude
from quickdraw.report.sections.scaling import reference_of
from quickdraw.report.subject import Subject

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_ROTATIONS, MOST_SPLITS, BARS = 4, len(SERIES), 60
UNEVEN, LEAST = 1e-3, 1e-4
NARROWEST_BINS: Final = 40  # of tilt, so that noise is not drawn as wide as a turn: 2 deg


def shown_of(subject: Subject) -> list[Rotation]:
    """The 6D rotations of the state, or where it has none, of other observations."""
    split = subject.splits[reference_of(subject)]
    found: list[Rotation] = []
    for feature, described in split.info["features"].items():
        if str(described["dtype"]).startswith("float") and feature.startswith("observation."):
            found += rotations_of(feature, split.dimensions(feature))
    return [each for each in found if each.feature == "observation.state"] or found


def orientation_section(subject: Subject) -> Section | None:
    """Per rotation: tilt and azimuth in each split, singular values of the cloud, and what a yaw alone would miss."""
    rotations = shown_of(subject)
    parts: list[Part] = []
    for rotation in rotations[:MOST_ROTATIONS]:
        measured, without = _measured(subject, rotation)
        if without and measured:
            words = f"{rotation.name}: no row of {', '.join(without)} holds a rotation."
            parts.append(Words(words, warning=True))
        parts += _parts(rotation, measured, tuple(subject.splits), reference_of(subject))
    if not parts:
        return None
    if len(rotations) > MOST_ROTATIONS:
        names = ", ".join(rotation.name for rotation in rotations[MOST_ROTATIONS:])
        parts.append(Words(f"Not shown: {names}."))
    lead = (
        "Which way the tool points, and how little of the six numbers of a rotation is free to move. They hold one "
        "geometric object together, and pass through every normaliser unchanged: scaled one by one they would be none."
    )
    if not any(rotation.tool for rotation in rotations):
        lead = lead.replace("the tool", "each pose", 1)
    return Section("orientation", "Orientation", lead, tuple(parts))


def _measured(subject: Subject, rotation: Rotation) -> tuple[dict[str, Attitude], list[str]]:
    """By split, and the splits that have none."""
    measured: dict[str, Attitude] = {}
    without = []
    for name in tuple(subject.splits)[:MOST_SPLITS]:
        split = subject.splits[name]
        known = rotation.feature in split.info["features"]
        names = split.dimensions(rotation.feature) if known else ()
        heading = next((each.heading for each in measured.values()), None)
        alike = len(names) > max(rotation.dims) and names[rotation.dims[0]] == f"{rotation.name}_0"
        found = attitude(split, rotation.feature, rotation.dims, heading) if alike else None
        if found is None:
            without.append(name)
        else:
            measured[name] = found
    return measured, without


def _parts(rotation: Rotation, measured: dict[str, Attitude], splits: tuple[str, ...], reference: str) -> list[Part]:
    if not measured:
        return [Words(f"{rotation.name}: no row of any split holds a rotation.", warning=True)]
    parts: list[Part] = [Words(_told(rotation, measured, reference))]
    for split, found in measured.items():
        if found.sound < found.rows:
            words = f"{rotation.name} in {split}: {found.rows - found.sound} of {found.rows} rows hold no rotation."
            parts.append(Words(words, warning=True))
        if found.uneven > UNEVEN:
            words = (
                f"{rotation.name} in {split}: columns are up to {found.uneven:.2g} off unit length or a right angle."
            )
            parts.append(Words(words, warning=True))
    return [*parts, _drawn(rotation, measured, splits), _table(rotation, measured)]


def _axis(rotation: Rotation) -> str:
    return "tool axis" if rotation.tool else "third axis"


def _heading(rotation: Rotation, measured: dict[str, Attitude]) -> str:
    """Whose azimuth it is: the first axis' where the third is upright."""
    return "first axis" if next(iter(measured.values())).heading == 0 else _axis(rotation)


def _down(rotation: Rotation) -> str:
    return "straight down" if rotation.tool else "−z of the frame it is told in"


def _told(rotation: Rotation, measured: dict[str, Attitude], reference: str) -> str:
    split, found = reference, measured.get(reference)
    if found is None:
        split, found = next(iter(measured.items()))
    low, high, _, std = found.tilt_deg
    whose = "its" if found.heading == 2 else "the first axis'"
    mean, most = found.yaw_error_deg
    tilts = f"{low:.1f}°" if high - low < 0.1 else f"{low:.1f}° to {high:.1f}°"
    return (
        f"{rotation.name} in {split}, over all {found.sound} rows: the {_axis(rotation)} (third column) stays "
        f"{tilts} from {_down(rotation)}, std {_short(std)}°; {whose} azimuth covers "
        f"{found.azimuth_range_deg:.1f}°. Singular values of the centred 6D cloud, relative to the first: "
        f"[{_singular_values(found)}]; a turn about one axis alone fills two of the six. A rotation about the vertical "
        f"alone, R = Rz(θ) R0, would be off by {_short(mean)}° on average, {_short(most)}° at most."
    )


def _short(value: float) -> str:
    """Two digits, but for what float32 alone may make."""
    return f"{value:.2g}" if value >= LEAST else f"<{LEAST}"


def _singular_values(found: Attitude) -> str:
    told = [_short(value) for value in found.singular.tolist() if value >= LEAST]
    if not told:
        return f"all {_short(0)}"
    return ", ".join([*told, f"others {_short(0)}"] if len(told) < len(found.singular) else told)


def _drawn(rotation: Rotation, measured: dict[str, Attitude], splits: tuple[str, ...]) -> Drawing:
    figure, grid = sheet(1, 3, height_in=2.5)
    tilt, azimuth, singular = grid[0]
    taken = np.flatnonzero(sum(each.tilts for each in measured.values()))
    spare = max(0, NARROWEST_BINS - int(taken[-1] - taken[0] + 1))
    first = min(max(0, int(taken[0]) - spare // 2), TILT_BINS - NARROWEST_BINS)
    last = max(int(taken[-1]) + 1, first + NARROWEST_BINS)
    counts = {split: each.tilts[first:last] for split, each in measured.items()}
    _bars(tilt, counts, first * 180 / TILT_BINS, last * 180 / TILT_BINS, splits)
    tilt.set_xlabel(f"{_axis(rotation)} from {_down(rotation)} [deg]")
    _azimuths(azimuth, measured, splits)
    heading = _heading(rotation, measured)
    azimuth.set_xlabel(f"azimuth of the {heading} [deg]")
    for axes in (tilt, azimuth):
        axes.set_ylabel("√ share of rows")
        axes.set_yticks([])
    _singular(singular, measured, splits)
    handles, labels = singular.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=len(labels), fontsize=TEXT_PT)
    caption = (
        f"{rotation.name}: angle of the {_axis(rotation)} from {_down(rotation)}, azimuth of the {heading} (0 along x, "
        "90 along y), and the singular values of the centred 6D cloud relative to the first, none drawn below "
        f"{LEAST}."
    )
    alt = f"Tilt, azimuth and singular values of {rotation.name} in {', '.join(measured)}."
    name = f"orientation-{rotation.feature}-{rotation.name}"
    return drawing(figure, name=name, caption=caption, alt=alt)


def _azimuths(axes: Axes, measured: dict[str, Attitude], splits: tuple[str, ...]) -> None:
    """All on one arc that begins where all of them leave the widest gap, so that none is cut at 180 deg."""
    together = sum((each.azimuths for each in measured.values()), np.zeros(AZIMUTH_BINS, np.int64))
    taken = np.flatnonzero(together)
    if not len(taken):
        axes.text(0.5, 0.5, "vertical in every row", transform=axes.transAxes, ha="center", color=FAINT)
        return
    gaps = np.diff(np.append(taken, taken[0] + AZIMUTH_BINS))
    start = int(taken[(int(gaps.argmax()) + 1) % len(taken)])
    bins = AZIMUTH_BINS - int(gaps.max()) + 1
    counts = {split: np.roll(each.azimuths, -start)[:bins] for split, each in measured.items()}
    low = start * 360 / AZIMUTH_BINS - 180
    _bars(axes, counts, low, low + bins * 360 / AZIMUTH_BINS, splits)


def _bars(axes: Axes, counts: dict[str, Int64], low: float, high: float, splits: tuple[str, ...]) -> None:
    """Outlines of at most `BARS` bars a split, the first one filled."""
    bins = len(next(iter(counts.values())))
    starts = np.arange(0, bins, -(-bins // BARS))
    edges: Float64 = low + np.append(starts, bins) * ((high - low) / bins)
    for number, (split, each) in enumerate(counts.items()):
        heights = np.sqrt(np.add.reduceat(each, starts) / max(1, int(each.sum())))
        if number == 0:
            axes.stairs(heights, edges, fill=True, color=colour_of(split, splits), alpha=0.28)
        axes.stairs(heights, edges, color=colour_of(split, splits), linewidth=1.1)
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(bottom=0)


def _singular(axes: Axes, measured: dict[str, Attitude], splits: tuple[str, ...]) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    numbers = np.arange(1, 7)
    for split, each in measured.items():
        axes.plot(
            numbers, np.maximum(each.singular, LEAST), color=colour_of(split, splits), marker="o", markersize=3.5,
            linewidth=1, label=split,
        )  # fmt: skip
    axes.set_yscale("log")
    axes.set_ylim(top=1.6, bottom=0.6 * LEAST)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xticks(numbers)
    axes.set_xlabel("singular value")
    axes.set_ylabel("relative to the first")
    axes.axhline(1, color=LINE, linewidth=0.8)


def _table(rotation: Rotation, measured: dict[str, Attitude]) -> Table:
    columns = (
        Column("split"), Column("rows", numeric=True),
        *(Column(f"tilt, {name}", "deg", numeric=True) for name in ("least", "most", "mean", "std")),
        Column("azimuth range", "deg", numeric=True), Column("singular values, relative to the first"),
        Column("yaw alone off, mean", "deg", numeric=True), Column("yaw alone off, most", "deg", numeric=True),
        Column("worst error of unit length or right angle", numeric=True),
    )  # fmt: skip
    rows = []
    for split, found in measured.items():
        cells = [Cell(split), Cell(f"{found.sound:,}")]
        cells += [*(_number(value, ".2f") for value in found.tilt_deg[:3]), Cell(_short(found.tilt_deg[3]))]
        cells += [_number(found.azimuth_range_deg, ".1f"), Cell(_singular_values(found))]
        cells += [Cell(_short(value)) for value in (*found.yaw_error_deg, found.uneven)]
        rows.append(tuple(cells))
    caption = f"{rotation.name}: tilt is the angle of the {_axis(rotation)} from {_down(rotation)}."
    return Table(f"orientation-table-{rotation.feature}-{rotation.name}", caption, columns, tuple(rows))


def _number(value: float, form: str) -> Cell:
    return Cell(format(value, form) if np.isfinite(value) else "–")
