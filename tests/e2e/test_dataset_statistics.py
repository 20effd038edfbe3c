"""Statistics of the built sample, recomputed from the published files by plain pyarrow, PyAV and numpy."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import av
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

SPLITS = ("train", "val", "eval_purple_play", "eval_purple_stack")
CAMERAS = ("scene_left", "scene_right", "gripper_right_bottom", "gripper_right_top")
VECTORS = ("observation.state", "action", "observation.objects.cube")
BOOKKEEPING = ("timestamp", "frame_index", "episode_index", "index", "task_index")
QUANTILES = {"q01": 0.01, "q10": 0.1, "q50": 0.5, "q90": 0.9, "q99": 0.99}
PAIRS = (("min", "max"), ("q01", "q99"), ("q10", "q90"))
ROTATION = range(3, 9)
PIN = {"mean": 0.0, "std": 1.0, "min": -1.0, "max": 1.0, "q01": -1.0, "q10": -1.0, "q50": 0.0, "q90": 1.0, "q99": 1.0}
Numbers = npt.NDArray[np.float64]


def table(root: Path, kind: str) -> pa.Table:
    return pa.concat_tables([pq.read_table(file) for file in sorted((root / kind).glob("*/*.parquet"))])


def rows(root: Path, feature: str) -> Numbers:
    """A column as `(T, D)` float64."""
    return np.array(table(root, "data")[feature].to_pylist(), np.float64).reshape(table(root, "data").num_rows, -1)


def plain(x: Numbers, count: int | None = None) -> dict[str, Any]:
    """All ten statistics of `(N, D)` by numpy."""
    statistics: dict[str, Any] = {"min": x.min(0), "max": x.max(0), "mean": x.mean(0), "std": x.std(0, ddof=0)}
    statistics |= {name: np.quantile(x, q, axis=0) for name, q in QUANTILES.items()}
    return statistics | {"count": [len(x) if count is None else count]}


def sampled(length: int) -> list[int]:
    """lerobot 0.6's frame sample (`compute_stats.py`: `estimate_num_samples`, `sample_indices`), written out anew."""
    wanted = length if length < 100 else max(100, min(int(length**0.75), 10_000))
    return [round(x) for x in np.linspace(0, length - 1, wanted).tolist()]


@cache
def published(root: Path, camera: str) -> list[npt.NDArray[np.uint8]]:
    """Sampled pictures of each episode, decoded from the split's own files."""
    episodes = table(root, "meta/episodes").to_pylist()
    key = f"videos/observation.images.{camera}"
    samples: list[npt.NDArray[np.uint8]] = []
    for row in episodes:
        file = root / f"{key}/chunk-{row[f'{key}/chunk_index']:03d}/file-{row[f'{key}/file_index']:03d}.mp4"
        first = round(row[f"{key}/from_timestamp"] * 30)
        wanted = {first + k for k in sampled(row["length"])}
        samples.append(np.stack([rgb for number, rgb in enumerate(pictures(file)) if number in wanted]))
    return samples


def pictures(file: Path) -> Iterator[npt.NDArray[np.uint8]]:
    with av.open(str(file)) as container:
        yield from (frame.to_ndarray(format="rgb24") for frame in container.decode(video=0))


def of_pictures(samples: list[npt.NDArray[np.uint8]]) -> dict[str, Any]:
    """Statistics over every pixel, a channel at a time (a histogram's worth of numbers is sorted only once)."""
    whole = np.concatenate([sample.reshape(-1, 3) for sample in samples])
    channels = []
    for channel in range(3):
        level = np.sort(whole[:, channel]).astype(np.float64)
        statistics: dict[str, Any] = {"min": level[0], "max": level[-1], "mean": level.mean(), "std": level.std()}
        for name, q in QUANTILES.items():
            position = (len(level) - 1) * q
            below, above = level[int(np.floor(position))], level[int(np.ceil(position))]
            statistics[name] = below + (above - below) * (position % 1)
        channels.append(statistics)
    told = {name: np.array([c[name] for c in channels]).reshape(3, 1, 1) / 255 for name in channels[0]}
    return told | {"count": [sum(map(len, samples))]}


def for_trainers(statistics: dict[str, Any], identity: range) -> dict[str, Any]:
    """The issue's three rules, dimension by dimension, in plain Python."""
    told = {name: np.array(value, np.float64) for name, value in statistics.items()}
    low, high = told["min"].copy().ravel(), told["max"].copy().ravel()
    for dim in range(len(low)):
        if low[dim] == high[dim]:
            told["std"].ravel()[dim] = 1.0
        for a, b in PAIRS:
            if low[dim] == high[dim]:
                told[a].ravel()[dim], told[b].ravel()[dim] = low[dim] - 1, low[dim] + 1
            elif told[a].ravel()[dim] == told[b].ravel()[dim]:
                told[a].ravel()[dim], told[b].ravel()[dim] = low[dim], high[dim]
        if dim in identity:
            for name, value in PIN.items():
                told[name].ravel()[dim] = value
    return told


def identity_of(feature: str) -> range:
    return ROTATION if feature == "observation.state" else range(0)


def same(found: dict[str, Any], expected: dict[str, Any], where: str) -> None:
    assert set(found) == set(expected), where
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-9, atol=1e-9, err_msg=f"{where} {name}")
        assert np.shape(found[name]) == np.shape(value), f"{where} {name}"


def stats(root: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads((root / "meta/stats.json").read_text())
    return found


@pytest.fixture(scope="session")
def plain_dataset(
    sample_tree: Path,
    once: Callable[[str, Callable[[Path], None]], Path],
    processors: Callable[..., CompletedProcess[str]],
) -> Path:
    """The sample built with each split's own, plain statistics."""

    def make(folder: Path) -> None:
        folder.mkdir()
        result = processors("+processor=block_stack", f"+source.dir={sample_tree}", "+source.lerobot_stats=split",
                            "+report=false", cwd=folder)  # fmt: skip
        assert result.returncode == 0, result.stderr

    return once("plain-statistics", make) / "datasets" / "block_stack"


@pytest.mark.parametrize("feature", VECTORS)
def test_every_split_carries_trains_vector_statistics_count_too(sample_dataset: Path, feature: str) -> None:
    expected = for_trainers(plain(rows(sample_dataset / "train", feature)), identity_of(feature))
    for split in SPLITS:
        same(stats(sample_dataset / split)[feature], expected, split)


@pytest.mark.parametrize("camera", CAMERAS)
def test_every_split_carries_statistics_of_trains_published_pictures(sample_dataset: Path, camera: str) -> None:
    expected = for_trainers(of_pictures(published(sample_dataset / "train", camera)), range(0))
    for split in SPLITS:
        same(stats(sample_dataset / split)[f"observation.images.{camera}"], expected, split)


@pytest.mark.parametrize("split", SPLITS)
def test_bookkeeping_statistics_are_the_splits_own(sample_dataset: Path, split: str) -> None:
    for feature in BOOKKEEPING:
        same(stats(sample_dataset / split)[feature], plain(rows(sample_dataset / split, feature)), feature)


@pytest.mark.parametrize("split", SPLITS)
def test_an_episodes_statistics_are_its_own_but_for_the_rotation(sample_dataset: Path, split: str) -> None:
    root = sample_dataset / split
    of = rows(root, "episode_index")[:, 0]
    for number, row in enumerate(table(root, "meta/episodes").to_pylist()):
        for feature in (*VECTORS, *BOOKKEEPING):
            expected = plain(rows(root, feature)[of == number])
            for name, value in PIN.items() if feature == "observation.state" else ():
                expected[name][list(ROTATION)] = value
            found = {name: row[f"stats/{feature}/{name}"] for name in expected}
            same(found, expected, f"{split} {number} {feature}")


@pytest.mark.parametrize("split", SPLITS)
def test_an_episodes_picture_statistics_are_of_its_own_published_pictures(sample_dataset: Path, split: str) -> None:
    root = sample_dataset / split
    for camera in CAMERAS:
        samples = published(root, camera)
        for number, row in enumerate(table(root, "meta/episodes").to_pylist()):
            expected = of_pictures([samples[number]])
            found = {name: row[f"stats/observation.images.{camera}/{name}"] for name in expected}
            same(found, expected, f"{split} {number} {camera}")


def test_pictures_are_measured_by_the_pixel_and_their_sample_is_lerobots(sample_dataset: Path) -> None:
    """Averaging over pixels first would give a std near 0; the sample is checked against its definition."""
    for camera in CAMERAS:
        found = stats(sample_dataset / "train")[f"observation.images.{camera}"]
        samples = published(sample_dataset / "train", camera)
        taken = sum(len(set(sampled(length))) for length in lengths(sample_dataset / "train"))
        assert found["count"] == [sum(map(len, samples))] == [taken]
        assert np.min(found["std"]) > 0.02
        assert 0 <= np.min(found["min"]) < np.max(found["max"]) <= 1


def lengths(root: Path) -> list[int]:
    found: list[int] = table(root, "meta/episodes")["length"].to_pylist()
    return found


def test_rotation_is_pinned_in_stats_episodes_and_normalization(sample_dataset: Path) -> None:
    for split in SPLITS:
        state = stats(sample_dataset / split)["observation.state"]
        for row in (state, *episode_state_statistics(sample_dataset / split)):
            for name, value in PIN.items():
                assert [row[name][dim] for dim in ROTATION] == [value] * 6, (split, name)
    state = json.loads((sample_dataset / "normalization_stats.json").read_text())["observation.state"]
    assert [state["mean"][dim] for dim in ROTATION] == [0.0] * 6
    assert [state["std"][dim] for dim in ROTATION] == [1.0] * 6


def episode_state_statistics(root: Path) -> list[dict[str, Any]]:
    prefix = "stats/observation.state/"
    return [{name.removeprefix(prefix): value for name, value in row.items() if name.startswith(prefix)}
            for row in table(root, "meta/episodes").to_pylist()]  # fmt: skip


def test_nothing_a_normaliser_divides_by_is_zero_or_not_a_number(sample_dataset: Path) -> None:
    for split in SPLITS:
        for feature, statistics in stats(sample_dataset / split).items():
            assert all(np.isfinite(value).all() for value in statistics.values()), feature
            if feature not in BOOKKEEPING:
                assert np.min(statistics["std"]) > 0, feature
                for low, high in PAIRS:
                    assert np.min(np.subtract(statistics[high], statistics[low])) > 0, (feature, low)


def test_normalization_is_population_std_in_float64_over_train_alone_without_epsilon(sample_dataset: Path) -> None:
    found = json.loads((sample_dataset / "normalization_stats.json").read_text())
    assert list(found) == list(VECTORS)
    for feature in VECTORS:
        x = rows(sample_dataset / "train", feature)
        mean, std = x.mean(0), np.sqrt(((x - x.mean(0)) ** 2).mean(0))
        constant = x.min(0) == x.max(0)
        std = np.where(constant, 1.0, std)
        mean = np.where(constant, x[0], mean)
        dims = list(identity_of(feature))
        mean[dims], std[dims] = 0.0, 1.0
        assert list(found[feature]) == ["mean", "std"]
        np.testing.assert_allclose(found[feature]["mean"], mean, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(found[feature]["std"], std, rtol=1e-12)


def test_summary_carries_the_same_normalization(sample_dataset: Path) -> None:
    summary = json.loads((sample_dataset / "summary.json").read_text())
    assert summary["normalization_stats"] == json.loads((sample_dataset / "normalization_stats.json").read_text())


@pytest.mark.parametrize("split", SPLITS)
def test_lerobot_stats_split_writes_each_splits_own_plain_statistics(plain_dataset: Path, split: str) -> None:
    root = plain_dataset / split
    found = stats(root)
    for feature in (*VECTORS, *BOOKKEEPING):
        same(found[feature], plain(rows(root, feature)), feature)
    for camera in CAMERAS:
        same(found[f"observation.images.{camera}"], of_pictures(published(root, camera)), camera)
    of = rows(root, "episode_index")[:, 0]
    for number, row in enumerate(episode_state_statistics(root)):
        same(row, plain(rows(root, "observation.state")[of == number]), f"episode {number}")


def test_lerobot_stats_split_leaves_rows_pictures_and_normalization_as_they_are(
    sample_dataset: Path, plain_dataset: Path
) -> None:
    for pattern in ("normalization_stats.json", "*/data/**/*.parquet", "*/videos/**/*.mp4", "media/**/*.mp4"):
        for path in sorted(sample_dataset.glob(pattern)):
            other = plain_dataset / path.relative_to(sample_dataset)
            assert path.read_bytes() == other.read_bytes(), path.name
