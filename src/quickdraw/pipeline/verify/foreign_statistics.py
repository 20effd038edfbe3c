"""Statistics of a dataset that others wrote or edited: of the right form, and of these rows as far as can be told.

lerobot averages its episodes' quantiles, sums in float32, samples pictures before they are encoded, and carries on
whatever statistics it was handed when it merges; so what a whole split says is only held against its rows' range, and
an episode's own numbers within what float32 loses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from quickdraw.core.statistics import Statistics, of_rows
from quickdraw.formats.lerobot import schema
from quickdraw.formats.lerobot.tables import Column
from quickdraw.pipeline.verify.ledger import Ledger, first_of
from quickdraw.pipeline.verify.metadata import Entry
from quickdraw.pipeline.verify.split_view import DataPart, SplitView
from quickdraw.pipeline.verify.stored_statistics import Numbers, malformed
from quickdraw.pipeline.verify.vector_statistics import EPISODE_STATISTICS, STATISTICS, of_episode, report_episodes

# lerobot's tools renumber rows and leave statistics of these as they were, of episodes and so of what these add up to.
RENUMBERED = ("episode_index", "index", "task_index")
ROUNDING = 1e-3  # of a dimension's largest number: what float32 sums of squares may lose of its spread


def check_foreign_statistics(split: SplitView, ledger: Ledger) -> None:
    """stats.json."""
    path = split.root / schema.STATS_PATH
    for feature in _measured(split):
        with ledger.checking(STATISTICS, split.name):
            ledger.saw(STATISTICS)
            wrong = list(malformed(split.statistics.get(feature), _width(split, feature), picture=_is_picture(feature)))
            if not wrong and not _is_picture(feature):
                wrong += _of_other_rows(_arrays(split.statistics[feature]), split.measured(feature), feature)
            for found, expected in first_of(wrong, "more statistics"):
                ledger.fault(STATISTICS, split.name, found=f"{feature}: {found}", expected=expected, path=path)


def check_foreign_episode_statistics(split: SplitView, part: DataPart, ledger: Ledger) -> None:
    """What meta/episodes says of each episode of a data file."""
    for feature in _measured(split):
        with ledger.checking(EPISODE_STATISTICS, split.name):
            found: list[tuple[str, str]] = []
            pins = [dim for dims in split.info.features[feature].rotations() for dim in dims]
            names = () if feature in RENUMBERED else ("min", "max", "mean", "std")
            told_of = split.stored_beside(part, feature)
            for (entry, rows), stored in zip(_rows_of(part, feature), told_of, strict=True):
                ledger.saw(EPISODE_STATISTICS)
                wrong = list(malformed(stored, _width(split, feature), picture=rows is None))
                if stored is not None and not wrong and rows is not None:
                    wrong += _unlike(_arrays(stored), of_rows(rows), names, pins)
                found += of_episode(entry.number, feature, wrong)
            report_episodes(split, found, ledger)


def _rows_of(part: DataPart, feature: str) -> Iterator[tuple[Entry, Column | None]]:
    """Each episode with its rows of a feature, of pictures with none."""
    return ((entry, None) for entry in part.entries) if _is_picture(feature) else part.episodes(feature)


def _measured(split: SplitView) -> list[str]:
    """The features that have statistics we know how to compare: pictures', and rows of numbers."""
    return [name for name, f in split.info.features.items() if f.is_vector or f.dtype in ("video", "image")]


def _arrays(stored: Mapping[str, Any]) -> dict[str, Numbers]:
    """Statistics that are not malformed."""
    return {name: np.asarray(stored[name], np.float64) for name in schema.STATISTICS}


def _is_picture(feature: str) -> bool:
    return "image" in feature  # as lerobot itself tells them


def _width(split: SplitView, feature: str) -> int:
    described = split.info.features[feature]
    return described.channels if _is_picture(feature) else described.shape[-1]


def _of_other_rows(stored: Mapping[str, Numbers], own: Statistics, feature: str) -> Iterator[tuple[str, str]]:
    """What cannot be of these rows: a range that does not meet theirs, another number of rows."""
    count = int(stored["count"][0])
    if feature in schema.BOOKKEEPING and count != own.count:
        yield f"count {count}", f"{own.count} rows"
    if feature in RENUMBERED:
        return
    low, high = stored["min"], stored["max"]
    apart = np.flatnonzero((low > own.max + _rounding(own)) | (high < own.min - _rounding(own)))
    if 2 * apart.size > low.size:  # in one or the other a split that carries train's may well have another range
        at = apart[0]
        yield f"[{at}] from {low[at]:.6g} to {high[at]:.6g}", f"a range that meets {own.min[at]:.6g}..{own.max[at]:.6g}"


def _unlike(
    stored: Mapping[str, Numbers], own: Statistics, names: Sequence[str], pins: list[int]
) -> Iterator[tuple[str, str]]:
    """What of the statistics `names` is not of an episode's own rows; pinned dimensions are none's."""
    count = int(stored["count"][0])
    if count != own.count:
        yield f"count {count}", f"{own.count} rows"
    for name in names:
        right: Numbers = getattr(own, name)
        found = stored[name]
        off = np.abs(found - right) > _rounding(own)
        off[pins] = False
        if off.any():
            at = int(np.flatnonzero(off)[0])
            yield f"{name}[{at}] {found[at]:.6g}", f"about {right[at]:.6g}"


def _rounding(own: Statistics) -> Numbers:
    largest: Numbers = np.maximum(np.abs(own.min), np.abs(own.max))
    return ROUNDING * largest + 1e-6
