"""Statistics of pictures, computed again from the decoded ones: whole splits and every episode."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from quickdraw.core.grid import Float64, Int64
from quickdraw.core.normalization import for_training
from quickdraw.core.statistics import Statistics, of_histogram
from quickdraw.formats.lerobot.depth import MM_PER_UNIT, MOST_M
from quickdraw.pipeline.verify.dataset_view import DatasetView, Provenance
from quickdraw.pipeline.verify.depth_pictures import ShownDepth
from quickdraw.pipeline.verify.ledger import Ledger
from quickdraw.pipeline.verify.pictures import Shown, SplitPictures
from quickdraw.pipeline.verify.split_view import SplitView
from quickdraw.pipeline.verify.stored_statistics import differences, numbers
from quickdraw.pipeline.verify.vector_statistics import (
    EPISODE_STATISTICS,
    STATISTICS,
    TRAIN,
    of_episode,
    report,
    report_episodes,
)

# Of 1, or of an episode's depth: what encoding may change of its mean; the exact ones of a build are compared exactly.
LOSS = 0.03
ROUNDED_MM = 2.0  # half a step of lerobot's codes at 10 m
MOST_MM = 1000 * MOST_M


def check_picture_statistics(
    dataset: DatasetView, shown: Mapping[str, SplitPictures], provenance: Provenance, ledger: Ledger
) -> None:
    """stats.json and meta/episodes of every split that can be read, exactly."""
    for name in shown:
        split = dataset.splits[name]
        for key in split.info.cameras:
            with ledger.checking(STATISTICS, name):
                measured = TRAIN if provenance.pins else name
                plain = _of_split(dataset.splits[measured], shown[measured], key) if measured in shown else None
                if plain is None:
                    ledger.skip(STATISTICS, name, f"{key}: not all its pictures could be decoded")
                    continue
                ledger.saw(STATISTICS)
                expected = for_training(plain, ()) if provenance.pins else plain
                report(split, key, split.statistics.get(key), expected, ledger)
        for key in split.info.cameras:
            with ledger.checking(EPISODE_STATISTICS, name):
                wrong: list[tuple[str, str]] = []
                for episode, seen, stored in _told(split, shown[name], key):
                    ledger.saw(EPISODE_STATISTICS)
                    told = list(differences(stored, _of_episode(split, key, seen), picture=True))
                    wrong += of_episode(episode, key, told)
                report_episodes(split, wrong, ledger)


def _told(split: SplitView, shown: SplitPictures, key: str) -> Iterator[tuple[int, Shown | ShownDepth, Any]]:
    """Every episode that a camera shows, with what meta/episodes says of its pictures."""
    episodes = shown.episodes(key)
    for episode, stored in enumerate(split.stored_statistics(key)):
        if (seen := episodes.get(episode)) is not None:
            yield episode, seen, stored


def _of_episode(split: SplitView, key: str, seen: Shown | ShownDepth) -> Statistics:
    """Plain statistics of an episode of a camera, depth in mm."""
    return of_histogram(seen.counts, seen.sampled, split.info.features[key].levels())


def _of_split(split: SplitView, shown: SplitPictures, key: str) -> Statistics | None:
    """Plain statistics of a camera over all episodes; None where one of them is missing."""
    counts: Int64 = np.zeros((1, 1), np.int64)
    sampled = 0
    for entry in split.entries:
        if (seen := shown.shown.get(entry.number, {}).get(key)) is None:
            return None
        counts = counts + seen.counts
        sampled += seen.sampled
    return of_histogram(counts, sampled, split.info.features[key].levels())


def check_foreign_picture_statistics(split: SplitView, shown: SplitPictures, ledger: Ledger) -> None:
    """An episode's mean colours and depth are about those of its pictures: others measure before they encode."""
    for key in split.info.cameras:
        with ledger.checking(EPISODE_STATISTICS, split.name):
            wrong: list[tuple[str, str]] = []
            for episode, seen, stored in _told(split, shown, key):
                ledger.saw(EPISODE_STATISTICS)
                told = numbers((stored or {}).get("mean"))  # where there is none, that is a finding already
                low, high = _about(split, key, seen)
                if told is not None and told.size == low.size and not _within(told.ravel(), low, high):
                    right = f"about {_three((low + high) / 2)}, the mean of its pictures"
                    wrong += of_episode(episode, key, [(f"mean {_three(told.ravel())}", right)])
            report_episodes(split, wrong, ledger)


def _about(split: SplitView, key: str, seen: Shown | ShownDepth) -> tuple[Float64, Float64]:
    """The least and the most, `(C,)` each, that an episode's mean may have been before its pictures were encoded.

    Depth may have lain anywhere below its lowest code and above its highest; it is in the unit info.json tells.
    """
    mean = _of_episode(split, key, seen).mean
    if isinstance(seen, Shown):
        return mean - LOSS, mean + LOSS
    feature = split.info.features[key]
    levels = feature.levels()
    shares = seen.counts[0] / seen.counts[0].sum()
    low = mean - shares[0] * levels[0] - LOSS * mean - ROUNDED_MM
    high = mean + shares[-1] * (MOST_MM - levels[-1]) + LOSS * mean + ROUNDED_MM
    unit_mm = MM_PER_UNIT[feature.video["depth_unit"]]
    return low / unit_mm, high / unit_mm


def _within(told: Float64, low: Float64, high: Float64) -> bool:
    return bool(((told >= low) & (told <= high)).all())


def _three(values: Float64) -> str:
    return ", ".join(f"{value:.3f}" for value in values)
