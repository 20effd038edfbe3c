"""The section on how state, action and other vectors spread, train against the others, and what they are scaled by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from quickdraw.core.cubes import CUBE
from quickdraw.core.grid import Float64
from quickdraw.formats.lerobot.reader import SplitReader
from quickdraw.report.parts import Cell, Column, Part, Section, Table, Words
from quickdraw.report.plots import SERIES
from quickdraw.report.sections.scaling import Scaling, reference_of, scalings
from quickdraw.report.sections.small_multiples import panels
from quickdraw.report.sections.spread import Extent, Spread, extents, spreads
from quickdraw.report.subject import Subject

FIRST: Final = ("observation.state", "action")
# As many dimensions of one feature, and of all drawn together, as a person looks at.
MOST_OF_FIRST, MOST_OF_OTHERS, MOST_PANELS = 40, 16, 90
MOST_SPLITS: Final = len(SERIES)
STATISTICS: Final = ("mean", "std", "q01", "q99")
type Measured = dict[str, dict[str, Spread]]  # split -> feature -> spread
type Ranges = dict[str, tuple[Float64, Float64]]


def distributions_section(subject: Subject) -> Section | None:
    """Small multiples of state, action and other small vectors, a table of their dimensions, and one of the rest."""
    known = scalings(subject)
    drawn, rest = _chosen(known, subject)
    if not known:
        return None
    shown = tuple(subject.splits)[:MOST_SPLITS]
    measured, ranges = _measured(subject, shown, drawn) if drawn else ({}, {})
    parts: list[Part] = []
    if len(subject.splits) > len(shown):
        others = ", ".join(list(subject.splits)[len(shown) :])
        parts.append(Words(f"Of {len(subject.splits)} splits the first {len(shown)} are shown; not shown: {others}."))
    for scaling in drawn:
        lacking = [split for split in shown if scaling.feature not in measured[split]]
        if lacking:
            words = f"{scaling.feature}: not there, or with other dimensions, in {', '.join(lacking)}."
            parts.append(Words(words, warning=True))
        parts += _words(
            scaling, {split: each[scaling.feature] for split, each in measured.items() if scaling.feature in each}
        )
    sheets = {f"distribution-{name}": [each for each in drawn if each.feature == name] for name in FIRST}
    sheets["distribution-others"] = [each for each in drawn if each.feature not in FIRST]
    for name, some in sheets.items():
        if some:
            parts.append(panels(some, measured, ranges, name=name, splits=tuple(subject.splits)))
    if drawn:
        parts.append(_statistics(drawn, measured[reference_of(subject)], reference_of(subject)))
        if len(measured) > 1:
            parts.append(_agreement(drawn, measured, reference_of(subject)))
    if rest:
        parts.append(_others(rest, reference_of(subject)))
    lead = (
        "What each dimension of state and action does in each split: val and eval should lie within train, or be held "
        f"out on purpose. The statistics in use are those of {reference_of(subject)}."
    )
    return Section("distributions", "State and action", lead, tuple(parts))


def _chosen(known: Mapping[str, Scaling], subject: Subject) -> tuple[list[Scaling], list[tuple[Scaling, str]]]:
    """What is drawn, state and action first, and the others with the reason."""
    state = set(known["observation.state"].names) if "observation.state" in known else set()
    order = [*(name for name in FIRST if name in known), *(name for name in known if name not in FIRST)]
    drawn: list[Scaling] = []
    rest: list[tuple[Scaling, str]] = []
    panels_left = MOST_PANELS
    for feature in order:
        scaling, width = known[feature], len(known[feature].names)
        short = feature.removeprefix("observation.")
        if feature == CUBE.name:
            rest.append((scaling, "shown with the cubes"))
        elif feature not in FIRST and {f"{short}.{name}" for name in scaling.names} <= state:
            rest.append((scaling, "part of the state"))
        elif width > (MOST_OF_FIRST if feature in FIRST else MOST_OF_OTHERS):
            rest.append((scaling, f"{width} dimensions are too many to look at"))
        elif width > panels_left:
            rest.append((scaling, f"only {MOST_PANELS} dimensions are drawn"))
        else:
            panels_left -= width
            drawn.append(scaling)
    return drawn, rest


def _is_alike(split: SplitReader, scaling: Scaling) -> bool:
    """Whether a split has the feature, with the same dimensions."""
    return scaling.feature in split.info["features"] and split.dimensions(scaling.feature) == scaling.names


def _measured(subject: Subject, shown: Sequence[str], drawn: list[Scaling]) -> tuple[Measured, Ranges]:
    """Every shown split's spreads of features, over the range that all of them take together."""
    known: dict[str, dict[str, Extent]] = {}
    for split in shown:
        there = [scaling.feature for scaling in drawn if _is_alike(subject.splits[split], scaling)]
        known[split] = extents(subject.splits[split], there)
    ranges = {}
    for name in (scaling.feature for scaling in drawn):
        found = [each[name] for each in known.values() if name in each]
        ranges[name] = (
            np.min([each.low for each in found], axis=0),
            np.max([each.high for each in found], axis=0),
        )
    beside = known.get(reference_of(subject), {})
    return {split: spreads(subject.splits[split], known[split], ranges, beside) for split in shown}, ranges


def _words(scaling: Scaling, spreads_of: Mapping[str, Spread]) -> list[Part]:
    """What of a feature has no value, or none that varies, in words."""
    said: list[Part] = []
    for split, spread in spreads_of.items():
        extent = spread.extent
        for words, dims in (
            ("without a finite value in any row", extent.finite == 0),
            ("not finite in some rows", (extent.finite > 0) & (extent.finite < extent.rows)),
        ):
            if dims.any():
                said.append(Words(f"{scaling.feature} in {split}: {words}: {_list(scaling, dims)}.", warning=True))
    constant = np.all([each.extent.constant for each in spreads_of.values()], axis=0)
    values = {float(each.extent.low[dim]) for each in spreads_of.values() for dim in np.flatnonzero(constant)}
    if constant.any() and len(values):
        said.append(Words(f"{scaling.feature}: the same in every row of a split: {_list(scaling, constant)}."))
    return said


def _list(scaling: Scaling, dims: npt.NDArray[np.bool_]) -> str:
    names = [f"dimension {name}" if name.isdecimal() else name for name in scaling.names]
    return ", ".join(np.array(names)[dims].tolist())


def _statistics(drawn: list[Scaling], base: Mapping[str, Spread], reference: str) -> Table:
    """A row a dimension: what it is scaled by."""
    columns = (
        Column("feature"), Column("dimension"), Column("unit"), Column("treatment"),
        *(Column(name, numeric=True) for name in STATISTICS),
    )  # fmt: skip
    rows = []
    for scaling in drawn:
        for dim, name in enumerate(scaling.names):
            cells = [Cell(scaling.feature), Cell(name), Cell(scaling.units[dim])]
            cells.append(Cell(_treatment(scaling, base[scaling.feature], dim)))
            rows.append((*cells, *(_number(float(scaling.values[told][dim])) for told in STATISTICS)))
    caption = (
        f"What each dimension is scaled by: the statistics in use, of {reference}, in its own unit. Identity is with "
        "statistics that let every normaliser leave a dimension as it is."
    )
    return Table("dimensions", caption, columns, tuple(rows), sortable=True)


def _treatment(scaling: Scaling, base: Spread, dim: int) -> str:
    if dim in scaling.identity:
        return "identity"
    if not base.extent.finite[dim]:
        return "no value"
    return "constant" if base.extent.constant[dim] else "scaled"


def _agreement(drawn: list[Scaling], measured: Measured, reference: str) -> Table:
    """A row a dimension: where the other splits lie relative to train."""
    others = [split for split in measured if split != reference]
    columns = [Column("feature"), Column("dimension")]
    for split in others:
        columns += [Column(f"{split}: mean off by", "std", numeric=True)]
        columns += [Column(f"{split}: outside", "%", numeric=True)]
    rows = [
        (
            Cell(scaling.feature),
            Cell(name),
            *(
                cell
                for split in others
                for cell in _apart(measured[split].get(scaling.feature), measured[reference][scaling.feature], dim)
            ),
        )
        for scaling in drawn
        for dim, name in enumerate(scaling.names)
    ]
    caption = (
        f"How far each split's mean is from that of {reference}, in {reference}'s own standard deviations, and the "
        f"share of its rows outside the range of {reference}. Marked: more than 1 std, more than 10 %."
    )
    return Table("agreement", caption, tuple(columns), tuple(rows), sortable=True)


def _apart(spread: Spread | None, base: Spread, dim: int) -> tuple[Cell, Cell]:
    if spread is None or not spread.extent.finite[dim] or not base.extent.finite[dim]:
        return Cell("–"), Cell("–")
    std = float(base.std[dim])
    off = (float(spread.extent.mean[dim]) - float(base.extent.mean[dim])) / std if std else float("nan")
    share = float(spread.outside[dim]) / float(spread.extent.finite[dim])
    shown = Cell(f"{off:+.2f}", off, abs(off) > 1) if np.isfinite(off) else Cell("–")
    return shown, Cell(f"{100 * share:.1f}", share, share > 0.1)


def _number(value: float) -> Cell:
    return Cell(f"{value:.5g}", value) if np.isfinite(value) else Cell("–")


def _others(rest: list[tuple[Scaling, str]], reference: str) -> Table:
    """A row a feature that is not drawn: how wide it is, and what its statistics say of it all."""
    columns = (
        Column("feature"), Column("dimensions", numeric=True), Column("why it is not drawn"),
        Column("identity", numeric=True), Column("least q01", numeric=True), Column("most q99", numeric=True),
        Column("least std", numeric=True), Column("most std", numeric=True),
    )  # fmt: skip
    rows = []
    for scaling, why in rest:
        width, values = len(scaling.names), scaling.values
        ends = (
            np.min(values["q01"], initial=np.inf), np.max(values["q99"], initial=-np.inf),
            np.min(values["std"], initial=np.inf), np.max(values["std"], initial=-np.inf),
        )  # fmt: skip
        counts = (Cell(str(width), width), Cell(why), Cell(str(len(scaling.identity)), len(scaling.identity)))
        rows.append((Cell(scaling.feature), *counts, *(_number(float(value)) for value in ends)))
    caption = f"Features that are not drawn, by the statistics in use ({reference}, meta/stats.json)."
    return Table("other-features", caption, columns, tuple(rows), sortable=True)
