"""lerobot's NormalizerProcessorStep on our statistics: rotation untouched, unseen values bounded, and back again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

SPLITS = ("train", "val", "eval_purple_play", "eval_purple_stack")
MODES = ("MIN_MAX", "MEAN_STD", "IDENTITY", "QUANTILES", "QUANTILE10")
VECTORS = ("observation.state", "action", "observation.objects.cube")
ROTATION = slice(3, 9)
ONE_ULP = 1.2e-7
ROWS = 300

Float32 = npt.NDArray[np.float32]


def plain(root: Path, feature: str) -> Float32:
    tables = [pq.read_table(file) for file in sorted((root / "data").glob("*/*.parquet"))]
    return np.array(pa.concat_tables(tables)[feature].to_pylist(), np.float32)


def awkward_actions(evaluation: bool) -> Float32:
    """Train: dim 0 always 5, dim 1 a 3 among zeros (q01 = q99), dim 2 5 % each of -1 and 1 (q10 = q90).

    Evaluation: values train never saw, a few units away.
    """
    rows = np.zeros((ROWS, 3), np.float32)
    rows[:, 0] = 5
    if evaluation:
        rows += np.linspace(-4, 4, ROWS, dtype=np.float32)[:, None]
    else:
        rows[7, 1] = 3
        rows[:15, 2], rows[-15:, 2] = -1, 1
    return rows


@dataclass(frozen=True)
class Normalised:
    """`of(split, mode, feature)`: what went in, what came out, what came back."""

    names: list[str]
    given: dict[str, dict[str, Float32]]
    arrays: dict[str, Float32]

    def of(self, split: str, mode: str, feature: str) -> tuple[Float32, Float32, Float32]:
        key = f"{self.names.index(split)}/{mode}"
        return self.given[split][feature], self.arrays[f"{key}/there/{feature}"], self.arrays[f"{key}/back/{feature}"]

    def all(self) -> Iterator[tuple[str, str, str]]:
        for split in self.names:
            for mode in MODES:
                yield from ((split, mode, feature) for feature in self.given[split])


@pytest.fixture(scope="module")
def normalised(
    sample_dataset: Path,
    synthetic: ModuleType,
    lerobot: Callable[..., dict[str, Any]],
    once: Callable[[str, Callable[[Path], None]], Path],
) -> Normalised:
    """The sample's splits, and rows train never saw of a split with a constant and quantiles that fell together."""
    given = {s: {f: plain(sample_dataset / s, f) for f in VECTORS} for s in SPLITS}
    unseen = np.concatenate([synthetic.state_rows(9, ROWS)[:, :9], np.full((ROWS, 1), 3.0, np.float32)], axis=1)
    given["awkward"] = {"observation.state": unseen, "action": awkward_actions(evaluation=True)}

    def make(folder: Path) -> None:
        episode = synthetic.fake_episode(0, ROWS, folder / "clips")
        episode.arrays = dict(episode.arrays) | {"action": awkward_actions(evaluation=False)}
        synthetic.pack(folder / "awkward", synthetic.dataset_spec(cameras=("scene_left",)), [episode])
        for name, rows in given.items():
            np.savez(folder / f"{name}.npz", **rows)
        roots = {name: folder if name == "awkward" else sample_dataset for name in given}
        splits = [{"root": roots[name] / name, "rows": folder / f"{name}.npz"} for name in given]
        answer = lerobot("normalise", {"splits": splits, "target": folder / "out.npz"})
        assert answer["modes"] == list(MODES)

    with np.load(once("normalised", make) / "out.npz") as file:
        return Normalised(list(given), given, {name: file[name] for name in file.files})


@pytest.mark.parametrize("mode", MODES)
def test_rotation_passes_through_unchanged(normalised: Normalised, mode: str) -> None:
    for split in normalised.names:
        given, there, back = normalised.of(split, mode, "observation.state")
        if mode in ("MEAN_STD", "IDENTITY"):
            np.testing.assert_array_equal(there[:, ROTATION], given[:, ROTATION])
            np.testing.assert_array_equal(back[:, ROTATION], given[:, ROTATION])
        assert np.abs(there - given)[:, ROTATION].max() <= ONE_ULP
        assert np.abs(back - given)[:, ROTATION].max() <= 2 * ONE_ULP


@pytest.mark.parametrize("mode", MODES)
def test_a_dimension_constant_on_train_is_scaled_by_1_around_its_value(normalised: Normalised, mode: str) -> None:
    given, there, _ = normalised.of("awkward", mode, "action")
    expected = given[:, 0] if mode == "IDENTITY" else given[:, 0] - 5
    np.testing.assert_allclose(there[:, 0], expected, atol=1e-6)
    given, there, _ = normalised.of("awkward", mode, "observation.state")
    expected = given[:, 9] if mode == "IDENTITY" else given[:, 9] - 0.25
    np.testing.assert_allclose(there[:, 9], expected, atol=1e-6)


@pytest.mark.parametrize("mode", ["QUANTILES", "QUANTILE10"])
def test_quantiles_that_fell_together_are_replaced_by_the_extremes(normalised: Normalised, mode: str) -> None:
    given, there, _ = normalised.of("awkward", mode, "action")
    np.testing.assert_allclose(there[:, 1], 2 * given[:, 1] / 3 - 1, atol=1e-6)
    np.testing.assert_allclose(there[:, 2], given[:, 2], atol=1e-6)


@pytest.mark.parametrize("mode", MODES)
def test_values_train_never_saw_stay_bounded(normalised: Normalised, mode: str) -> None:
    for feature in ("observation.state", "action"):
        _, there, _ = normalised.of("awkward", mode, feature)
        assert np.abs(there[:, 9:] if feature == "observation.state" else there).max() < 1e3
    for split in SPLITS:
        if mode != "IDENTITY":
            for feature in VECTORS:
                assert np.abs(normalised.of(split, mode, feature)[1]).max() < 1e3


def test_nothing_becomes_nan_or_infinite(normalised: Normalised) -> None:
    for split, mode, feature in normalised.all():
        for array in normalised.of(split, mode, feature):
            assert np.isfinite(array).all(), (split, mode, feature)


def test_unnormalising_gives_the_rows_back(normalised: Normalised) -> None:
    for split, mode, feature in normalised.all():
        given, _, back = normalised.of(split, mode, feature)
        reach = 4e-6 * np.maximum(np.abs(given).max(axis=0), 1.0)
        assert (np.abs(back - given).max(axis=0) <= reach).all(), (split, mode, feature)


@pytest.mark.parametrize("feature", ["observation.state", "action"])
def test_normalised_train_rows_are_centred_scaled_and_within_their_range(normalised: Normalised, feature: str) -> None:
    free = [d for d in range(normalised.of("train", "MEAN_STD", feature)[0].shape[1])
            if feature == "action" or not 3 <= d < 9]  # fmt: skip
    there = normalised.of("train", "MEAN_STD", feature)[1].astype(np.float64)[:, free]
    np.testing.assert_allclose(there.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(there.std(axis=0), 1, atol=1e-4)
    bounded = normalised.of("train", "MIN_MAX", feature)[1][:, free]
    np.testing.assert_allclose(bounded.min(axis=0), -1, atol=1e-5)
    np.testing.assert_allclose(bounded.max(axis=0), 1, atol=1e-5)


def test_mean_std_agrees_with_normalization_stats_json(normalised: Normalised, sample_dataset: Path) -> None:
    constants = json.loads((sample_dataset / "normalization_stats.json").read_text())
    for split in SPLITS:
        for feature, told in constants.items():
            given, there, _ = normalised.of(split, "MEAN_STD", feature)
            expected = (given.astype(np.float64) - told["mean"]) / told["std"]
            np.testing.assert_allclose(there, expected, atol=2e-5)
