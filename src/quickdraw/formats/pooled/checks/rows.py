"""Rules of `meta/episodes`: one row an episode, in a file of its own, complete (contract 6)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from quickdraw.errors import Refused
from quickdraw.formats.pooled.checks.findings import Checking, listed, said
from quickdraw.formats.pooled.layout import CHUNK_FOLDER, Place
from quickdraw.formats.pooled.parquet_files import UNREADABLE, table, why
from quickdraw.formats.pooled.row_tables import ROW_FILE, SCHEMA, row_files

SPECS: Final = "force_matrix_specs"
_JSON: Final = ("drop_stats", "video_codec", "calibration", SPECS)
_OLD: Final = [name for name in SCHEMA.names if name != SPECS]


@dataclass(frozen=True, slots=True)
class CheckedRow:
    """An episode's row as it stands in `path`; `specs` is its force_matrix_specs, {} where there is none to read."""

    number: int
    path: Path
    values: Mapping[str, Any]
    specs: Mapping[str, Any]


def check_rows(checking: Checking) -> dict[int, CheckedRow]:
    """Every row of the task by N, the one a reader would take where there are two."""
    layout, rows = checking.info.layout, dict[int, CheckedRow]()
    for path, name in _files(checking):
        for row in _file(checking, path, name):
            other = rows.get(row.number)
            if other is not None:
                found = f"episode {row.number} stands in {other.path.name} too"
                checking.add("row-twice", path, found, row.number)
            if other is None or path == layout.row(row.number):
                rows[row.number] = row
    return rows


def _files(checking: Checking) -> Iterator[tuple[Path, re.Match[str]]]:
    """Files of rows, in order. What has another name is a stray, and not looked for here."""
    try:
        for path in row_files(checking.info.layout):
            if match := ROW_FILE.fullmatch(path.name):
                yield path, match
    except Refused:
        return  # told as rows-missing or folder-unreadable


def _file(checking: Checking, path: Path, name: re.Match[str]) -> Iterator[CheckedRow]:
    """The rows of one file, once each of them has a number."""
    try:
        read = table(path)
        rows = read.to_pylist()
    except UNREADABLE as error:
        checking.add("row-unreadable", path, f"unreadable ({why(error)})", _number(checking, path, name))
        return
    number = _number(checking, path, name)
    if not _is_complete(checking, path, read, number):
        return
    own = name[1] == "episode"
    if not rows:
        checking.add("row-unreadable", path, "no row in it", number)
    elif own and len(rows) > 1:
        checking.add("row-count", path, f"{len(rows)} rows", number)
        rows = [each for each in rows if each["episode_index"] == number]  # others are told by the count
    elif len(rows) > 1:
        checking.add("legacy-shard", path, f"{len(rows)} episodes in one file")
    for values in rows:
        if not _is_in_place(checking, path, name, values["episode_index"], single=len(rows) == 1):
            continue
        if not own and len(rows) == 1:
            checking.add("row-old-name", path, "a row under a v1.1.1 name", values["episode_index"])
        yield CheckedRow(values["episode_index"], path, values, _documents(checking, path, values))


def _number(checking: Checking, path: Path, name: re.Match[str]) -> int | None:
    """The N a file's name leads to; None for a shard, whose name tells its chunk."""
    return _led_to(checking, path, name) if name[1] == "episode" else None


def _led_to(checking: Checking, path: Path, name: re.Match[str]) -> int:
    match = CHUNK_FOLDER.fullmatch(path.parent.name)
    return checking.info.layout.number(Place(int(match[1]) if match else 0, int(name[2])))


def _is_complete(checking: Checking, path: Path, read: Any, number: int | None) -> bool:
    """Whether every column a row needs is there, in its type, without a null."""
    names = read.schema.names
    if read.schema.equals(SCHEMA) and not any(column.null_count for column in read.columns):
        return True
    wrong = [f"no {name}" for name in _OLD if name not in names]
    wrong += [f"{name} twice" for name in SCHEMA.names if names.count(name) > 1]
    if not wrong:
        known = {name: read.column(name) for name in SCHEMA.names if name in names}
        wrong += [f"{name} as {c.type}" for name, c in known.items() if c.type != SCHEMA.field(name).type]
        wrong += [f"null in {name}" for name, c in known.items() if c.null_count]
    if wrong:
        checking.add("row-columns", path, listed(wrong), number)
        return False
    if SPECS not in names and number is not None:
        checking.add("row-10-columns", path, f"no {SPECS}", number)
    standing = [name for name in names if name in SCHEMA.names]
    if standing != [name for name in SCHEMA.names if name in standing]:
        checking.add("row-order", path, listed(standing, most=11), number)
    return True


def _is_in_place(checking: Checking, path: Path, name: re.Match[str], number: int, *, single: bool) -> bool:
    """Whether a reader looking for episode `number` comes upon this file."""
    layout = checking.info.layout
    led = _number(checking, path, name)
    if number < 1:
        checking.add("row-number", path, f"episode_index {number}; numbers start at 1", led)
        return False
    homes = [layout.shard(number)] if name[1] == "file" else [layout.row(number)]
    if single and name[1] == "file":
        homes.append(layout.old_row(number))
    if path in homes:
        return True
    checking.add("row-number", path, f"episode_index {number}, which belongs into {homes[-1].name}", led)
    return False


def _documents(checking: Checking, path: Path, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Check the values and JSON texts of a row; its matrix specs."""
    specs: Mapping[str, Any] = {}
    for column in ("created_at", "duration_sec"):
        if not 0 <= values[column] < float("inf"):
            checking.add("row-value", path, f"{column} {values[column]}", values["episode_index"])
    for column in _JSON:
        text = values.get(column, "{}")
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            found = f"{column} is {said(text)}, no JSON object"
            checking.add("row-json", path, found, values["episode_index"])
        elif column == SPECS:
            specs = document
    return specs
