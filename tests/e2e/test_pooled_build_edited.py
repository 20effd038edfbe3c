"""lerobot's merge, delete, split and recompute_stats on built pooled tasks of colour, depth, clocks and patches."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

DELETED = [1, 4]
DIVIDED = {"first": [0, 2, 5], "second": [1, 3, 4]}
NUMBERING = ("index", "episode_index", "task_index", "task", "depth_keys")


@pytest.fixture(scope="module")
def edited(
    pooled_datasets: Path, once: Callable[[str, Callable[[Path], None]], Path], lerobot: Callable[..., Any]
) -> Path:
    def make(folder: Path) -> None:
        merge = [pooled_datasets / "umi" / "d" / split for split in ("train", "val")]
        lerobot("edit_pooled", {"merge": merge, "delete": DELETED, "divide": DIVIDED, "target": folder})

    return once("pooled-edited", make)


@pytest.fixture(scope="module")
def merged(pooled_read: Path) -> dict[str, Any]:
    """Train's rows, then val's, as they were read before, with episodes numbered on."""
    parts = [dict(np.load(pooled_read / "umi" / f"{split}.npz")) for split in ("train", "val")]
    whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0] if name != "depth_keys"}
    whole["episode"] = np.concatenate([parts[0]["episode_index"], parts[1]["episode_index"] + 4])
    return whole


@pytest.mark.parametrize("name", ["merged", "deleted", "recomputed", *DIVIDED])
def test_rows_pictures_and_depth_stay_what_they_were(name: str, edited: Path, merged: dict[str, Any]) -> None:
    kept = {"deleted": [n for n in range(6) if n not in DELETED], **DIVIDED}.get(name, list(range(6)))
    found = dict(np.load(edited / f"{name}.npz"))
    rows = np.concatenate([np.flatnonzero(merged["episode"] == number) for number in kept])
    assert set(found) - set(NUMBERING) == set(merged) - {*NUMBERING, "episode"}
    assert found["index"].tolist() == list(range(len(rows)))
    assert found["task"].tolist() == merged["task"][rows].tolist()
    for feature in set(found) - set(NUMBERING):
        if feature.endswith("umi_rgb") and name not in ("merged", "recomputed"):  # lerobot encodes what it cuts anew
            assert np.abs(found[feature].astype(float) - merged[feature][rows]).mean() < 2
        else:
            assert np.array_equal(found[feature], merged[feature][rows]), feature


def stats(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((root / "meta/stats.json").read_text())
    return found


def test_depth_stays_depth_with_statistics_in_millimetres(edited: Path, merged: dict[str, Any]) -> None:
    key = "observation.images.umi_depth"
    for name in ("merged", "deleted", "recomputed", *DIVIDED):
        assert np.load(edited / f"{name}.npz")["depth_keys"].tolist() == [key]
        found = stats(edited / name)[key]
        assert np.shape(found["mean"]) == (1, 1, 1)
        assert 0 < found["mean"][0][0][0] < merged[key].max()
    train = merged[key][merged["episode"] < 4]  # whose statistics both splits carry
    assert stats(edited / "merged")[key]["max"] == [[[float(train.max())]]]


def test_recompute_stats_finds_what_numpy_finds(edited: Path, merged: dict[str, Any]) -> None:
    found = stats(edited / "recomputed")
    for name, values in merged.items():
        if name.startswith("observation.") and ".images." not in name:
            rows = values.reshape(len(values), -1).astype(np.float64)
            np.testing.assert_allclose(found[name]["mean"], rows.mean(axis=0), rtol=1e-4, atol=1e-4, err_msg=name)
            np.testing.assert_allclose(found[name]["max"], rows.max(axis=0), rtol=1e-6, atol=1e-6, err_msg=name)


def test_statistics_of_a_split_are_not_touched_by_reading_it(pooled_datasets: Path) -> None:
    found = stats(pooled_datasets / "umi" / "d" / "train")["observation.slam_pose"]
    assert (found["mean"][3:9], found["std"][3:9]) == ([0.0] * 6, [1.0] * 6)
