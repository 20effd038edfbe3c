"""Force-matrix scales that were never written down, found out and put into the episodes' rows (contract 7.2.1).

A matrix's fz adds up to the fz of the force column, in a recording that has both; stored unscaled, it adds up to a
multiple of it, which is the scale. What that does not settle stays as it is: nothing is ever guessed. Only rows change,
no byte of data does, and a scale that is recorded is never asked about again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from quickdraw.errors import Refused
from quickdraw.formats import durable
from quickdraw.formats.pooled import exclusive, matrices
from quickdraw.formats.pooled.columns import MATRIX, arrow_type
from quickdraw.formats.pooled.data import DataFile
from quickdraw.formats.pooled.force_matrix import SPECS, Spec, spec_entry
from quickdraw.formats.pooled.layout import Layout
from quickdraw.formats.pooled.row_tables import conformed, is_shard, read_table, row_files, table_bytes
from quickdraw.formats.pooled.rows import EpisodeRow, row_of

TOLERANCE: Final = 0.03  # of a scale, either way
LEAST_FRAMES, MOST_FRAMES = 5, 200
LEAST_FORCE_MN: Final = 50.0  # below it the force is noise
MOST_UNSCALED: Final = 1.15  # unscaled int16 cuts fractions off, so that it adds up to less than the force
_BY_SCALE: Final[Mapping[int, Spec]] = {spec.scale: spec for spec in SPECS.values() if spec.dtype == "int16"}
_RAW: Final = SPECS["float32"]
SPECS_COLUMN: Final = "force_matrix_specs"

type Tell = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Measured:
    """What was found out of one column: the `spec` it is of, or None and the `reason`.

    `ratio` is the median, over `frames`, of the matrix's fz (at scale 1) to the force's, `deviation` its distance from
    the scale as a share of it; both None where nothing was measured.
    """

    column: str
    spec: Spec | None
    reason: str
    ratio: float | None = None
    deviation: float | None = None
    frames: int = 0


@dataclass(frozen=True, slots=True)
class EpisodePlan:
    """The columns of one episode that lack a scale. `number` is N, `path` the file of its row."""

    number: int
    path: Path
    columns: tuple[Measured, ...]

    @property
    def decided(self) -> dict[str, Spec]:
        """Column -> spec, of those that will be written."""
        return {each.column: each.spec for each in self.columns if each.spec is not None}


@dataclass(frozen=True, slots=True)
class Plan:
    """What `apply` would write. `skipped` are files of rows that were not looked into, each with the reason."""

    layout: Layout
    episodes: tuple[EpisodePlan, ...]
    skipped: tuple[tuple[Path, str], ...]

    @property
    def undecided(self) -> tuple[tuple[int, Measured], ...]:
        """(N, column) of what stays without a scale."""
        return tuple((each.number, column) for each in self.episodes for column in each.columns if not column.spec)


def plan(layout: Layout, tell: Tell | None = None) -> Plan:
    """Look through every per-episode row; nothing is written. `tell(done, files)` is called after each."""
    episodes, skipped = [], []
    paths = [path for path in row_files(layout) if path.name.startswith("episode-")]
    for done, path in enumerate(paths, 1):
        found = _examined(layout, path)
        if isinstance(found, str):
            skipped.append((path, found))
        elif found is not None:
            episodes.append(found)
        if tell is not None:
            tell(done, len(paths))
    return Plan(layout, tuple(episodes), tuple(skipped))


def apply(plan: Plan) -> tuple[Path, ...]:
    """Write what was decided into the rows, each whole at every moment; the files that changed.

    A row that is another one by now is left alone, as is a column that has got a scale since. Raises Refused where
    another process changes the task.
    """
    changed = []
    with exclusive.changing(plan.layout):
        for episode in plan.episodes:
            table = _single(plan.layout, episode.path)
            row = None if isinstance(table, str) else row_of(table, 0)
            if row is None or row.number != episode.number:
                continue
            missing = {name: spec for name, spec in episode.decided.items() if not _has_scale(row, name)}
            if missing:
                entries = {name: spec_entry(spec) for name, spec in missing.items()}
                fresh = _with_specs(table, {**row.force_matrix_specs, **entries})
                durable.write_aside(episode.path, [table_bytes(fresh)])
                durable.sync(episode.path.parent)
                changed.append(episode.path)
    return tuple(changed)


def _with_specs(table: Any, specs: Mapping[str, Any]) -> Any:
    """A table of one row in which nothing but its specs is another; escaped, for a name may hold half a character."""
    at = table.schema.get_field_index(SPECS_COLUMN)
    return table.set_column(at, table.schema.field(at), pa.array([json.dumps(specs)], pa.string()))


def _examined(layout: Layout, path: Path) -> EpisodePlan | str | None:
    """The plan of one row, None where it lacks nothing, or why it cannot be looked into."""
    table = _single(layout, path)
    if isinstance(table, str):
        return table
    row = row_of(table, 0)
    if not layout.data(row.number).exists():
        return f"episode {row.number} has no data"
    try:
        data = DataFile(layout.data(row.number))
    except Refused as refused:
        return f"episode {row.number}: data {refused.faults[0].found}"
    lacking = [name for name in data.names if MATRIX.fullmatch(name) and not _has_scale(row, name)]
    return EpisodePlan(row.number, path, tuple(measure(data, name) for name in lacking)) if lacking else None


def _single(layout: Layout, path: Path) -> Any:
    """The file of an episode's name as a table of one row in the contract's columns, or the words why it is none."""
    table = read_table(path)
    if table is None:
        return "unreadable"
    if is_shard(table) or table.num_rows != 1:
        return f"{table.num_rows} rows; one expected"
    try:
        table = conformed(table)
    except pa.ArrowException as error:
        return f"a cell that is not of the contract's type ({error})"
    number = row_of(table, 0).number
    if number < 1 or layout.row(number) != path:
        return f"episode_index {number}, which does not belong here"
    return table


def _has_scale(row: EpisodeRow, column: str) -> bool:
    entry = row.force_matrix_specs.get(column)
    return isinstance(entry, dict) and bool(entry.get("scale"))


def measure(data: DataFile, column: str) -> Measured:
    """The spec of a matrix column, by its type and by what it adds up to; raises nothing for what is in the file."""
    try:
        kind = matrices.value_type(data, column)
        if kind == pa.float32():
            return Measured(column, _RAW, "float32 is never scaled")
        if kind != pa.int16():
            return Measured(column, None, f"values of type {kind}")
        return decide(column, np.fromiter(_ratios(data, column), np.float64))
    except Refused as refused:
        return Measured(column, None, f"{refused.faults[0].field}: {refused.faults[0].found}")


def decide(column: str, ratios: Any) -> Measured:
    """The spec of an int16 column by `(n,)` float64 ratios of its fz, at scale 1, to the force's.

    The nearest scale, where the median is within 3 % of it; else 1, where it is positive and at most 1.15.
    """
    frames = len(ratios)
    if frames < LEAST_FRAMES:
        return Measured(column, None, f"{frames} usable frames; {LEAST_FRAMES} needed", frames=frames)
    ratio = float(np.median(ratios))
    scale = min(_BY_SCALE, key=lambda each: abs(ratio - each))
    deviation = abs(ratio - scale) / scale
    if deviation <= TOLERANCE:
        return Measured(column, _BY_SCALE[scale], "adds up to the force", ratio, deviation, frames)
    if 0 < ratio <= MOST_UNSCALED:
        return Measured(column, _BY_SCALE[1], "adds up to less, as cut fractions do", ratio, abs(ratio - 1), frames)
    return Measured(column, None, f"a ratio of {ratio:.4g} fits no scale", ratio, deviation, frames)


def _ratios(data: DataFile, column: str) -> Iterator[float]:
    """The ratio of each usable frame. Raises Refused where the force column is missing or either is damaged."""
    name = column.replace("_force_matrix", "_force")
    data.require({name: arrow_type(name)})
    force = data.column(name)
    if force.ndim != 2 or force.shape[1] != 3:
        return
    fz_mn, used = force[:, 2].astype(np.float64), 0
    for sample in matrices.samples(data, column, scale=1):
        if used < MOST_FRAMES and np.isfinite(fz_mn[sample.row]) and abs(fz_mn[sample.row]) >= LEAST_FORCE_MN:
            used += 1
            yield float(sample.mn[..., 2].sum(dtype=np.float64) / fz_mn[sample.row])
        if used == MOST_FRAMES:
            return
