"""Statistics of rows, all of them computed again: stats.json, each episode's own, and what trainers divide by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quickdraw.core.normalization import for_training, pinned
from quickdraw.core.statistics import Statistics, of_rows
from quickdraw.formats.lerobot import schema
from quickdraw.pipeline.places import NORMALIZATION, SUMMARY
from quickdraw.pipeline.verify.dataset_view import DatasetView, Provenance
from quickdraw.pipeline.verify.json_reading import object_in, read_object
from quickdraw.pipeline.verify.ledger import Ledger, first_of
from quickdraw.pipeline.verify.metadata import Info
from quickdraw.pipeline.verify.split_view import DataPart, SplitView
from quickdraw.pipeline.verify.stored_statistics import differences

STATISTICS, EPISODE_STATISTICS, CONSTANTS = "statistics", "episode statistics", "normalization"
TRAIN = "train"


def identity_dims(info: Info, feature: str, provenance: Provenance) -> tuple[int, ...]:
    """The dimensions of a feature no normaliser may scale: what provenance says, else its rotations by name."""
    told, width = provenance.features.get(feature), info.features[feature].shape[0]
    if told is not None and told.identity_dims is not None:
        return tuple(dim for dim in told.identity_dims if 0 <= dim < width)  # names are checked where they are told
    return tuple(sorted(dim for dims in info.features[feature].rotations() for dim in dims))


def trainer(train: SplitView, feature: str, provenance: Provenance) -> Statistics:
    """Train's statistics of a vector as trainers shall use them. Raises Refused where its rows cannot be read."""
    return for_training(train.measured(feature), identity_dims(train.info, feature, provenance))


def check_statistics(dataset: DatasetView, split: SplitView, provenance: Provenance, ledger: Ledger) -> None:
    """A split's stats.json: train's where it shall carry train's, but for the bookkeeping; else its own."""
    train = dataset.splits.get(TRAIN)
    for feature in (*split.info.vectors, *schema.BOOKKEEPING):
        with ledger.checking(STATISTICS, split.name):
            ledger.saw(STATISTICS)
            own = feature in schema.BOOKKEEPING or not provenance.pins
            if not own and train is None:
                ledger.skip(STATISTICS, split.name, f"{feature}: there is no train split")
                continue
            expected = split.measured(feature) if own or train is None else trainer(train, feature, provenance)
            told = split.statistics.get(feature)
            report(split, feature, told, expected, ledger)
    with ledger.checking(STATISTICS, split.name):
        unknown = sorted(split.statistics.keys() - split.info.features.keys())
        if unknown:
            expected_names = "only features of info.json"
            path = split.root / schema.STATS_PATH
            ledger.fault(STATISTICS, split.name, found=", ".join(unknown), expected=expected_names, path=path)


def check_episode_statistics(split: SplitView, part: DataPart, provenance: Provenance, ledger: Ledger) -> None:
    """What meta/episodes says of the own rows of each episode of a data file."""
    for feature in (*split.info.vectors, *schema.BOOKKEEPING):
        with ledger.checking(EPISODE_STATISTICS, split.name):
            vector = feature not in schema.BOOKKEEPING
            dims = identity_dims(split.info, feature, provenance) if vector and provenance.pins else ()
            wrong: list[tuple[str, str]] = []
            told_of = split.stored_beside(part, feature)
            for (entry, rows), stored in zip(part.episodes(feature), told_of, strict=True):
                ledger.saw(EPISODE_STATISTICS)
                expected = pinned(of_rows(rows), dims)
                told = list(differences(stored, expected, picture=False))
                wrong += of_episode(entry.number, feature, told)
            report_episodes(split, wrong, ledger)


def of_episode(number: int, feature: str, wrong: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """What is wrong with an episode's statistics of a feature, as one thing."""
    return [(f"episode {number}, {feature}: {found}", right) for found, right in first_of(wrong, "more statistics")]


def report_episodes(split: SplitView, wrong: Sequence[tuple[str, str]], ledger: Ledger) -> None:
    """A finding where episodes' statistics of a feature are wrong."""
    path = split.root / "meta/episodes"
    for found, right in first_of(wrong, "more episodes"):
        ledger.fault(EPISODE_STATISTICS, split.name, found=found, expected=right, path=path)


def report(split: SplitView, feature: str, stored: Any, expected: Statistics, ledger: Ledger) -> None:
    """A finding where a split's statistics of a feature are not as expected."""
    wrong = list(differences(stored, expected, picture=feature in split.info.cameras))
    for found, right in first_of(wrong, "more statistics"):
        path = split.root / schema.STATS_PATH
        ledger.fault(STATISTICS, split.name, found=f"{feature}: {found}", expected=right, path=path)


def check_constants(dataset: DatasetView, provenance: Provenance, ledger: Ledger) -> None:
    """normalization_stats.json, and summary.json's copy of it, are mean and std of train."""
    if (train := dataset.splits.get(TRAIN)) is None:
        ledger.skip(CONSTANTS, NORMALIZATION, "there is no train split")
        return
    with ledger.checking(CONSTANTS, NORMALIZATION):
        path = dataset.root / NORMALIZATION
        _compare_constants(train, read_object(path), path, provenance, ledger)
    with ledger.checking(CONSTANTS, SUMMARY):
        path = dataset.root / SUMMARY
        _compare_constants(train, object_in(read_object(path), "normalization_stats", path), path, provenance, ledger)


def _compare_constants(
    train: SplitView, told: Mapping[str, Any], path: Path, provenance: Provenance, ledger: Ledger
) -> None:
    vectors = train.info.vectors
    if list(told) != vectors:
        found, wanted = ", ".join(told) or "no feature", ", ".join(vectors)
        ledger.fault(CONSTANTS, path.name, found=found, expected=wanted, path=path)
    for feature in set(vectors) & set(told):
        ledger.saw(CONSTANTS)
        expected = trainer(train, feature, provenance)
        for found, right in differences(told[feature], expected, picture=False, names=("mean", "std")):
            ledger.fault(CONSTANTS, path.name, found=f"{feature}: {found}", expected=right, path=path)
