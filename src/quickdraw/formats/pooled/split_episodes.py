"""Legacy shards parted into one file an episode, as today's recorder writes them (contract 6.1).

All of it is one transaction, so that a kill leaves the shard or its pieces. What stands under an episode's own name
is the authority: its bytes are never touched, and the shard's row of that episode goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from quickdraw.errors import Fault, Refused
from quickdraw.formats.pooled import exclusive, info_merge, journal, row_tables, shards
from quickdraw.formats.pooled.info import read_document
from quickdraw.formats.pooled.layout import EPISODES_PATH, Layout


@dataclass(frozen=True, slots=True)
class Shard:
    """One file to part: `pieces` is N -> the file its row gets, `kept` N -> the file that already is its authority."""

    path: Path
    pieces: dict[int, Path]
    kept: dict[int, Path]


@dataclass(frozen=True, slots=True)
class Plan:
    """What parting the shards of a task will change; `template` tells whether info.json's `episodes_path` does."""

    layout: Layout
    shards: tuple[Shard, ...]
    template: bool

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.shards) or self.template


def plan(layout: Layout) -> Plan:
    """What there is to part. Changes nothing; files of one row or none are left as they are, whatever their name.

    Raises Refused, with every fault: a row without a valid N, which would be lost with its shard; two different rows of
    one N; an unreadable `file-`; a place taken by a file that does not hold the episode.
    """
    faults: list[Fault] = []
    found: list[Shard] = []
    pieces: dict[int, Any] = {}
    for path in row_tables.row_files(layout):
        table = row_tables.read_table(path)
        if table is None and path.name.startswith("file-"):  # it may be a shard
            faults.append(_fault(layout, path, "unreadable", "a Parquet file of episode rows"))
        elif table is not None and row_tables.is_shard(table):
            faults += _row_faults(layout, path, table, pieces)
            found.append(_shard(layout, path, table, {n for each in found for n in each.pieces}))
    faults += [fault for shard in found for fault in _taken(layout, shard)]
    if faults:
        raise Refused(faults)
    return Plan(layout, tuple(found), _is_template_old(layout, {each.path for each in found}))


def apply(planned: Plan) -> Plan:
    """Do what was `planned`, looked at anew once the task is held, for it may have changed since; return what was done.

    A plan of no changes is none to do. Raises Refused as `plan` does, or where the task is being recorded to.
    """
    if not planned.changes:
        return planned
    layout = planned.layout
    with exclusive.changing(layout), shards.rewriting(layout):
        current = plan(layout)
        renames = [*_write_pieces(current), *_write_template(current)]
        places = {place for _, place in renames}
        if current.changes:
            journal.commit(layout, renames, [each.path for each in current.shards if each.path not in places])
    return current


def _fault(layout: Layout, path: Path, found: str, expected: str) -> Fault:
    return Fault(layout.task, "episode_index", found, expected, path=str(path))


def _is_template_old(layout: Layout, shards: set[Path]) -> bool:
    """Whether info.json names shards, and none of the files it names so will be left."""
    left = (path for path in row_tables.row_files(layout) if path.name.startswith("file-") and path not in shards)
    named = read_document(layout.info, layout.root).get("episodes_path", EPISODES_PATH)
    return named != layout.row_template and not any(left)


def _row_faults(layout: Layout, path: Path, table: Any, seen: dict[int, Any]) -> Iterator[Fault]:
    try:
        row_tables.conformed(table)
    except pa.ArrowException as error:
        yield _fault(layout, path, str(error), "the contract's columns in their types")
    for at, number in enumerate(row_tables.numbers_in(table)):
        row = table.slice(at, 1)
        if number < 1:
            yield _fault(layout, path, f"row {at} with none, or one below 1", "N from 1 on, else the row would be lost")
        elif not _are_alike(seen.setdefault(number, row), row):
            yield _fault(layout, path, f"two different rows of {number}", "one; remove the wrong one first")


def _are_alike(row: Any, other: Any) -> bool:
    """Whether two rows have one and the same cells, in whatever order; compared by Arrow, which knows all of them."""
    cells, others = (sorted(zip(each.column_names, each.columns, strict=True), key=_name) for each in (row, other))
    return len(cells) == len(others) and all(
        a == b and x.equals(y) for (a, x), (b, y) in zip(cells, others, strict=True)
    )


def _name(cell: tuple[str, Any]) -> str:
    return cell[0]


def _shard(layout: Layout, path: Path, table: Any, before: set[int]) -> Shard:
    places = {number: layout.row(number) for number in row_tables.numbers_in(table) if number > 0}
    free = {n: place for n, place in places.items() if n not in before and (place == path or not place.exists())}
    taken = {n: place for n, place in places.items() if n not in free}
    return Shard(path, free, taken)


def _taken(layout: Layout, shard: Shard) -> Iterator[Fault]:
    for number, place in shard.kept.items():
        if not place.exists():  # the piece of another shard with the same row
            continue
        table = row_tables.read_table(place)
        if table is None or number not in row_tables.numbers_in(table):
            yield _fault(layout, place, "another episode, or nothing readable", f"the row of {number}, which is there")


def _write_pieces(current: Plan) -> Iterator[tuple[Path, Path]]:
    for shard in current.shards:
        table = row_tables.read_table(shard.path)
        numbers = row_tables.numbers_in(table)
        for number, place in shard.pieces.items():
            row = row_tables.conformed(table.slice(numbers.index(number), 1))
            yield _ready(place, row_tables.table_bytes(row))


def _write_template(current: Plan) -> Iterator[tuple[Path, Path]]:
    if current.template:
        layout = current.layout
        document = read_document(layout.info, layout.root)
        yield _ready(layout.info, info_merge.document_bytes({**document, "episodes_path": layout.row_template}))


def _ready(place: Path, content: bytes) -> tuple[Path, Path]:
    return journal.prepare(place, content), place
