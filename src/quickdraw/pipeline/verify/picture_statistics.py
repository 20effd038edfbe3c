"""Statistics of pictures, computed again from the decoded ones: whole splits and every episode."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from quickdraw.core.grid import Float64
from quickdraw.core.normalization import for_training
from quickdraw.core.statistics import LEVELS, Statistics, of_histogram
from quickdraw.pipeline.verify.dataset_view import DatasetView, Provenance
from quickdraw.pipeline.verify.ledger import Ledger
from quickdraw.pipeline.verify.pictures import SplitPictures
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

LOSS = (
    0.03  # of 1: what encoding may change of an episode's mean colour; the exact ones of a build are compared exactly
)


def check_picture_statistics(
    dataset: DatasetView, shown: Mapping[str, SplitPictures], provenance: Provenance, ledger: Ledger
) -> None:
    """stats.json and meta/episodes of every split that can be read, exactly."""
    for name in shown:
        split = dataset.splits[name]
        with ledger.checking(STATISTICS, name):
            for key in split.info.cameras:
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
                episodes = shown[name].episodes(key)
                for episode, stored in enumerate(split.stored_statistics(key)):
                    if (seen := episodes.get(episode)) is None:
                        continue
                    ledger.saw(EPISODE_STATISTICS)
                    expected = of_histogram(seen.counts, seen.sampled)
                    told = list(differences(stored, expected, picture=True))
                    wrong += of_episode(episode, key, told)
                report_episodes(split, wrong, ledger)


def _of_split(split: SplitView, shown: SplitPictures, key: str) -> Statistics | None:
    """Plain statistics of a camera over all episodes; None where one of them is missing."""
    counts, sampled = np.zeros((3, LEVELS), np.int64), 0
    for entry in split.entries:
        if (seen := shown.cameras(entry.number).get(key)) is None:
            return None
        counts += seen.counts
        sampled += seen.sampled
    return of_histogram(counts, sampled)


def check_foreign_picture_statistics(split: SplitView, shown: SplitPictures, ledger: Ledger) -> None:
    """An episode's mean colours are about those of its pictures: others measure pictures before they are encoded."""
    for key in split.info.cameras:
        with ledger.checking(EPISODE_STATISTICS, split.name):
            wrong: list[tuple[str, str]] = []
            episodes = shown.episodes(key)
            for episode, stored in enumerate(split.stored_statistics(key)):
                if (seen := episodes.get(episode)) is None:
                    continue
                ledger.saw(EPISODE_STATISTICS)
                told = numbers((stored or {}).get("mean"))  # where there is none, that is a finding already
                mean = of_histogram(seen.counts, seen.sampled).mean
                if told is not None and told.size == mean.size and np.abs(told.ravel() - mean).max() > LOSS:
                    right = f"about {_three(mean)}, the mean of its pictures"
                    wrong += of_episode(episode, key, [(f"mean {_three(told.ravel())}", right)])
            report_episodes(split, wrong, ledger)


def _three(values: Float64) -> str:
    return ", ".join(f"{value:.3f}" for value in values)
