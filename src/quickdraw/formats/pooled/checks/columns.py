"""Rules of a data file's columns: types, pairs, what must be there and what no reader knows (contract 7.1, 7.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from quickdraw.formats.pooled.checks.findings import Checking, listed
from quickdraw.formats.pooled.columns import (
    FORCE,
    GLOVE_QUAT,
    GLOVE_VALID,
    GLOVE_VALUES,
    HAND_POSES,
    IMU,
    IMU_STAMPS,
    KEYS,
    MATRIX,
    OLD_POSE,
    TRAJECTORY,
    arrow_type,
    is_glove,
)
from quickdraw.formats.pooled.stats import Counting

MOST_VALUES: Final = 1 << 16  # of a glove: Arrow has no list of any length

type Breach = tuple[str, str]


def check_columns(checking: Checking, number: int, path: Path, schema: Any) -> None:
    """Rules of a file's Arrow schema."""
    for name in known_types(checking, schema):
        if name.startswith("observation.") and name not in HAND_POSES:
            checking.columns.setdefault(name, number)
    for rule, found in checking.breaches:
        checking.add(rule, path, found, number)


def known_types(checking: Checking, schema: Any) -> Mapping[str, Any]:
    """The types of the columns the contract knows. Nearly all files of a task have the schema of the file before."""
    if checking.schema is None or not schema.equals(checking.schema):
        checking.schema, checking.breaches = schema, tuple(_breaches(checking, schema))
        every = zip(schema.names, schema.types, strict=True)
        checking.types = {name: kind for name, kind in every if _is_known(checking, name, kind)}
    return checking.types


def _is_known(checking: Checking, name: str, kind: Any) -> bool:
    """Whether a column is one of the contract's; all others readers pass over, whatever is in them.

    A later version may have an `observation.` column that is a glove only because it is nothing else. It is one where
    it has a glove's type, or where info.json lists its sensor.
    """
    wanted = _wanted(checking, name, kind)
    return wanted is not None and (kind == wanted or not is_glove(name) or name in _gloves(checking).sensors)


def _breaches(checking: Checking, schema: Any) -> Iterator[Breach]:
    names = schema.names
    types = dict(zip(names, schema.types, strict=True))
    missing = [name for name in KEYS if name not in types]
    if missing:
        yield "data-key", f"no {listed(missing, most=7)}"
    if len(types) != len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        yield "data-type", f"{listed(twice)} more than once"
    for name, kind in types.items():
        yield from _type_breach(checking, name, kind)
    poses = [name for name in HAND_POSES if name not in types]
    if poses:
        yield "data-hand-pose", f"no {listed(poses)}"
    for name, partner in _partners(types):
        if partner not in types:
            yield "data-pair", f"{name} without {partner}"


def _type_breach(checking: Checking, name: str, kind: Any) -> Iterator[Breach]:
    if OLD_POSE.fullmatch(name):
        yield "data-old-pose", name
    elif not _is_known(checking, name, kind):
        yield "data-column", f"{name} of {kind}"
    elif kind != (wanted := _wanted(checking, name, kind)):
        yield "data-type", f"{name} of {kind}, not {wanted}"


def _wanted(checking: Checking, name: str, kind: Any) -> Any:
    """The type a column should have; a matrix may be of either, and a glove has the width info.json tells."""
    told = _gloves(checking).values
    width = told if told < MOST_VALUES else GLOVE_VALUES
    is_raw = MATRIX.fullmatch(name) and kind == pa.list_(pa.float32())
    return arrow_type(name, matrix_dtype="float32" if is_raw else "int16", glove_values=width)


def _gloves(checking: Checking) -> Counting:
    return Counting.of(checking.info.document)


def _partners(types: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Each column that is nothing without another, and that other. Older recorders wrote values without stamps."""
    found = []
    for name in types:
        bare = name.removesuffix("_ns")
        if name == IMU:
            found.append((name, IMU_STAMPS))
        elif name == IMU_STAMPS:
            found.append((name, IMU))
        elif GLOVE_QUAT.fullmatch(name):
            found.append((name, name.removesuffix("quat") + "valid"))
        elif GLOVE_VALID.fullmatch(name):
            found.append((name, name.removesuffix("valid") + "quat"))
        elif bare != name and any(form.fullmatch(bare) for form in (TRAJECTORY, MATRIX, FORCE)):
            found.append((name, bare))
    return found
