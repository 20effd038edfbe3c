"""Statistics made anew from the data files, when stats.json cannot be added to (contract 4).

A file is read batch by batch and only in the columns that count, so memory does not grow with its length.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from quickdraw.core.grid import Float64
from quickdraw.errors import Refused
from quickdraw.formats import durable
from quickdraw.formats.pooled import columns, exclusive, stats
from quickdraw.formats.pooled.arrow_arrays import is_list
from quickdraw.formats.pooled.data import DataFile
from quickdraw.formats.pooled.documents import read_regular, refuse_folders
from quickdraw.formats.pooled.layout import Layout
from quickdraw.formats.pooled.scan import scan

SAME = 1e-6  # of how far values reach: a sum of squares, as the contract has it, differs by less where it is of use
ROUNDING = 1e-12  # of the largest value


def rescan(
    layout: Layout, *, exclude: int | None = None, tell: Callable[[int, int], None] | None = None
) -> tuple[stats.Stats, list[str]]:
    """The blocks of all data files but that of episode `exclude`, by N, and what was left out or looked wrong.

    An unreadable file is told of and passed over. `tell` gets (files done, files in all).
    """
    files = [(number, each.data) for number, each in scan(layout).items() if each.data and number != exclude]
    counting = stats.Counting.in_task(layout)
    total: stats.Stats = {}
    notes: list[str] = []
    for done, (number, path) in enumerate(files, 1):
        found, told = of_file(path, counting)
        total, warnings = stats.merged(total, found)
        notes += [f"episode {number}: {each}" for each in (*told, *warnings)]
        if tell:
            tell(done, len(files))
    return dict(sorted(total.items(), key=lambda item: columns.order(item[0]))), notes


def of_file(path: Path, counting: stats.Counting) -> tuple[stats.Stats, list[str]]:
    """The blocks of one data file, whatever its name, and what was left out of them: rows that are not finite or null.

    A column whose cells are of several lengths is left out whole. Unreadable, the file has no block and one note.
    """
    try:
        data = DataFile(path)
        names = [name for name, kind in data.types.items() if _may_count(name, kind, counting)]
        return _of_columns(data.batches(names), counting)
    except Refused as refused:
        return {}, [f"not counted, {refused.faults[0].found}"]


def _may_count(name: str, kind: Any, counting: stats.Counting) -> bool:
    """Whether a column is to be read: cells of variable length tell their width only then."""
    width = kind.list_size if pa.types.is_fixed_size_list(kind) else counting.values
    return counting.counts(name, width, float32=is_list(kind) and kind.value_type == pa.float32())


def rebuild(
    layout: Layout, *, apply: bool, tell: Callable[[int, int], None] | None = None
) -> tuple[stats.Stats, list[str], bool]:
    """Make stats.json anew from the data files there are: the blocks, the notes, and whether the file changes.

    What deleted episodes had added is gone from it then. Without `apply` nothing is written. Raises Refused where a
    folder stands in its place, or where the task cannot be scanned.
    """
    refuse_folders(layout.task, layout.stats, durable.aside(layout.stats))
    if not apply:
        blocks, notes = rescan(layout, tell=tell)
        return blocks, notes, _differs(layout, blocks)
    with exclusive.changing(layout):
        blocks, notes = rescan(layout, tell=tell)
        differs = _differs(layout, blocks)
        if differs:
            durable.write_aside(layout.stats, [stats.stats_bytes(blocks)])
            durable.sync(layout.meta)
    return blocks, notes, differs


def _differs(layout: Layout, blocks: stats.Stats) -> bool:
    """Whether stats.json tells other numbers; another writer's last digits and line ends are none."""
    there = stats.read_stats(layout)
    if there is None or there.keys() != blocks.keys():
        return True
    document = json.loads(read_regular(layout.stats))
    if document.keys() != {*blocks, "action"} or document["action"] != stats.ACTION:
        return True
    return any(not _alike(there[name], block) for name, block in blocks.items())


def _alike(there: stats.Block, block: stats.Block) -> bool:
    if there.count != block.count or there.mean.shape != block.mean.shape:
        return False
    largest = np.maximum(np.abs(block.max), np.abs(block.min))
    allowed = SAME * (block.max - block.min) + ROUNDING * largest
    pairs = ((there.mean, block.mean), (there.std, block.std), (there.min, block.min), (there.max, block.max))
    return all(bool((np.abs(one - other) <= allowed).all()) for one, other in pairs)


def _of_columns(batches: Iterator[Any], counting: stats.Counting) -> tuple[stats.Stats, list[str]]:
    found: stats.Stats = {}
    skipped: dict[str, int] = {}
    odd: dict[str, str] = {}
    for batch in batches:
        for name, array in zip(batch.schema.names, batch.columns, strict=True):
            try:
                block, left_out = _of_cells(name, array)
                found[name] = stats.join(found[name], block) if name in found else block
                skipped[name] = skipped.get(name, 0) + left_out
            except ValueError as error:
                odd[name] = f"{name}: {error}; the column is not counted"
    wrong = {*odd, *(name for name, block in found.items() if not counting.counts(name, block.mean.size))}
    blocks = {name: block for name, block in found.items() if block.count and name not in wrong}
    return blocks, [*odd.values(), *_told(skipped, wrong)]


def _told(skipped: dict[str, int], wrong: set[str]) -> Iterator[str]:
    for name, count in skipped.items():
        if count and name not in wrong:
            yield f"{name}: {count} {'samples' if name == columns.IMU else 'rows'} not finite or null, not counted"


def _of_cells(name: str, array: Any) -> tuple[stats.Block, int]:
    cells = array.drop_null()
    nulls = len(array) - len(cells)
    if name == columns.IMU and is_list(cells.type):
        cells = cells.flatten()
        nulls += cells.null_count
        cells = cells.drop_null()
    block, left_out = stats.of(_matrix(name, cells))
    return block, nulls + left_out


def _matrix(name: str, cells: Any) -> Float64:
    """Cells of one length as (n, D) float64. Raises ValueError where they are of several, or no numbers."""
    kind = cells.type
    if not is_list(kind) or not (pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type)):
        raise ValueError(f"cells of type {kind}")
    lengths = (
        [kind.list_size] if pa.types.is_fixed_size_list(kind) else pc.list_value_length(cells).unique().to_pylist()
    )
    if name == columns.IMU and any(each != columns.IMU_AXES for each in lengths):
        raise ValueError(f"samples of {sorted(lengths)} values")
    if len(lengths) > 1:
        raise ValueError(f"cells of {len(lengths)} lengths")
    width = lengths[0] if lengths else 0
    values = cells.flatten().to_numpy(zero_copy_only=False)
    return np.asarray(values, np.float64).reshape(len(cells), width)
