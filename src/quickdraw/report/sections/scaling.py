"""What a trainer divides the dimensions of a feature by, as the dataset says it: its statistics in use."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from quickdraw.core.grid import Float64
from quickdraw.core.normalization import IDENTITY
from quickdraw.errors import Refused
from quickdraw.pipeline.places import NORMALIZATION
from quickdraw.report.subject import Subject

UNITS: Final = {"mm": "mm", "m": "m", "rad": "rad", "deg": "deg", "mn": "mN", "pct": "%", "s": "s"}  # by a name's end
STATISTICS: Final = ("mean", "std", "q01", "q99")


@dataclass(frozen=True, slots=True)
class Scaling:
    """The D dimensions of a feature; `values` of `STATISTICS` are `(D,)`, NaN where the dataset does not tell.

    `identity` are the dimensions every normaliser leaves as they are.
    """

    feature: str
    names: tuple[str, ...]
    units: tuple[str, ...]
    identity: frozenset[int]
    values: dict[str, Float64]


def reference_of(subject: Subject) -> str:
    """The split whose statistics are in use: train, or else the first."""
    return "train" if "train" in subject.splits else next(iter(subject.splits))


def scalings(subject: Subject) -> dict[str, Scaling]:
    """Every feature that is a vector or a scalar of numbers and no key, by name."""
    split = subject.splits[reference_of(subject)]
    keys = ("timestamp", "frame_index", "episode_index", "index", "task_index")
    try:
        stored = split.statistics
    except Refused:
        stored = {}
    constants = _constants(subject)
    found = {}
    for feature, described in split.info["features"].items():
        if feature in keys or not _is_vector(described):
            continue
        names = split.dimensions(feature)
        values = {
            name: _numbers(({**stored.get(feature, {}), **constants.get(feature, {})}).get(name), len(names))
            for name in STATISTICS
        }
        found[feature] = Scaling(
            feature, names, _units(subject, feature, names), _identity(subject, feature, values), values
        )
    return found


def _is_vector(described: dict[str, Any]) -> bool:
    kind = str(described["dtype"])
    return kind.startswith(("float", "int", "uint", "bool")) and len(described.get("shape") or [1]) == 1


def _constants(subject: Subject) -> dict[str, dict[str, Any]]:
    """normalization_stats.json, which trumps the others where there is one."""
    try:
        document = json.loads((subject.root / NORMALIZATION).read_bytes())
        return {name: dict(each) for name, each in document.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _numbers(listed: Any, width: int) -> Float64:
    try:
        values = np.asarray(listed, np.float64).reshape(-1)
    except (TypeError, ValueError):
        values = np.zeros(0)
    return values if len(values) == width else np.full(width, np.nan)


def _units(subject: Subject, feature: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """As provenance.json tells them, or else as the names end."""
    if subject.trace is not None and feature in subject.trace.features:
        told = subject.trace.features[feature].unit
        if len(told) == len(names):
            return told
    return tuple(UNITS.get(name.rpartition("_")[2].lower(), "") if "_" in name else "" for name in names)


def _identity(subject: Subject, feature: str, values: dict[str, Float64]) -> frozenset[int]:
    if subject.trace is not None and feature in subject.trace.features:
        return frozenset(subject.trace.features[feature].identity_dims)
    alike = np.all([values[name] == IDENTITY[name] for name in STATISTICS], axis=0)
    return frozenset(np.flatnonzero(alike).tolist())
