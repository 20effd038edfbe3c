"""What each dimension of a dataset is, and what its statistics do to it: as many rows as a page bears."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from quickdraw.formats.lerobot.schema import BOOKKEEPING
from quickdraw.report.cards.markdown import code, table, words
from quickdraw.report.rotations import Rotation, rotations_of
from quickdraw.report.subject import Subject

MOST_ROWS = 150
SCALED, PINNED, TURNED = "z-scored", "unchanged", "unchanged: part of a rotation"
CONSTANT = "constant in train: shifted to 0, not scaled"
UNTOLD, UNVARIED = "", "constant"
NOT_NUMBERS = ("video", "image", "string", "language")


@dataclass(frozen=True, slots=True)
class Dim:
    """One dimension: its number in `feature`, its name, its unit ("" for none) and what is done to it."""

    feature: str
    index: int
    name: str
    unit: str
    treatment: str


def vectors(info: Mapping[str, Any]) -> dict[str, int]:
    """The features that hold numbers, bookkeeping apart, and how many of them."""
    found = {name: told for name, told in info["features"].items() if told["dtype"] not in NOT_NUMBERS}
    return {name: math.prod(told.get("shape") or [1]) for name, told in found.items() if name not in BOOKKEEPING}


def rotations(subject: Subject) -> list[Rotation]:
    """The 6D rotations that statistics leave alone, in order; none are known of a dataset of others."""
    features = {} if subject.trace is None else subject.trace.features
    found = [rotation for name, told in features.items() for rotation in rotations_of(name, told.names)]
    return [rotation for rotation in found if set(rotation.dims) <= set(features[rotation.feature].identity_dims)]


def dims_of(subject: Subject) -> list[Dim]:
    """Every dimension of every feature, in order. `statistics` of train tell which of them are constant."""
    first = next(iter(subject.splits.values()))
    reader = subject.splits.get("train", first)
    statistics = reader.statistics
    turned = {(rotation.feature, dim) for rotation in rotations(subject) for dim in rotation.dims}
    dims = []
    for name, width in vectors(reader.info).items():
        told = None if subject.trace is None else subject.trace.features.get(name)
        pinned = set() if told is None else set(told.identity_dims)
        units = ("",) * width if told is None or len(told.unit) != width else told.unit
        constant = _constant(statistics.get(name, {}), width, ours=subject.trace is not None)
        untouched = (UNTOLD, UNVARIED) if subject.trace is None else (SCALED, CONSTANT)
        treated = [
            TURNED if (name, i) in turned else PINNED if i in pinned else untouched[constant[i]] for i in range(width)
        ]
        names = _names(reader.info["features"][name].get("names"), width)
        dims += [Dim(name, i, names[i], units[i], treated[i]) for i in range(width)]
    return dims


def _names(names: Any, width: int) -> Sequence[str]:
    if isinstance(names, dict):  # {"motors": [...]}
        names = [name for part in names.values() for name in (part if isinstance(part, list) else [part])]
    fitting = isinstance(names, list) and len(names) == width
    return [str(name) for name in (names if fitting else range(width))]


def _constant(statistics: Mapping[str, Any], width: int, ours: bool) -> list[bool]:
    """Which dimensions never change: their extremes are one; in `ours` they are what `bounded` makes of that."""
    told = [_flat(statistics.get(name)) for name in ("min", "max", "std", "q10", "q90")]
    if any(len(values) != width for values in told):
        return [False] * width
    return [
        low == high or (ours and std == 1 and (q10, q90) == (low, high) and math.isclose(high - low, 2, rel_tol=1e-3))
        for low, high, std, q10, q90 in zip(*told, strict=True)
    ]


def _flat(values: Any) -> list[float]:
    if isinstance(values, list):
        return [number for value in values for number in _flat(value)]
    return [] if values is None else [float(values)]


def dims_table(dims: Sequence[Dim]) -> str:
    """One row a dimension; where they are many, like ones that follow each other share a row."""
    for alike in (_itself, _numbered, _treated, _feature):
        rows = [_row(list(group)) for _, group in groupby(dims, alike)]
        if len(rows) <= MOST_ROWS:
            break
    return table(("feature", "dim", "name", "unit", "treatment"), rows, numeric=(1,))


def _itself(dim: Dim) -> object:
    return dim


def _numbered(dim: Dim) -> object:
    return _treated(dim), re.sub(r"\d+", "#", dim.name)


def _treated(dim: Dim) -> object:
    return dim.feature, dim.unit, dim.treatment


def _feature(dim: Dim) -> object:
    return dim.feature


def _row(group: Sequence[Dim]) -> tuple[str, ...]:
    first, last = group[0], group[-1]
    several = len(group) > 1
    number = f"{first.index}–{last.index}" if several else str(first.index)
    name = f"{code(first.name)} … {code(last.name)}" if several else code(first.name)
    units = Counter(dim.unit for dim in group)
    return code(first.feature), number, name, words(", ".join(filter(None, units))), "; ".join(_counted(group))


def _counted(group: Sequence[Dim]) -> Iterator[str]:
    treatments = Counter(dim.treatment for dim in group)
    for treatment, amount in treatments.items():
        yield treatment if len(treatments) == 1 else f"{treatment or 'varies'} ({amount})"
