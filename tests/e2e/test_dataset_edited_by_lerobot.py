"""lerobot's merge, aggregate, split and delete on our splits: pins survive and pictures stay with their rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

KB = 1024
LENGTHS = (9, 14, 5, 22, 7, 18, 11)
OTHER_LENGTHS = (6, 12, 8)
DELETED = (1, 4)
DIVIDED = {"first": [0, 3, 6], "second": [1, 2, 5]}
PIN = {"mean": 0.0, "std": 1.0, "min": -1.0, "max": 1.0, "q01": -1.0, "q10": -1.0, "q50": 0.0, "q90": 1.0, "q99": 1.0}
CAMERAS = ("scene_left", "gripper_right_top")


@dataclass(frozen=True)
class Edited:
    """`answer[name]`: what lerobot made of our splits; `origin[name]` the (episode number, length) it should hold."""

    answer: dict[str, Any]
    origin: dict[str, list[tuple[int, int]]]
    target: Path


@pytest.fixture(scope="module")
def edited(
    synthetic: ModuleType,
    sample_dataset: Path,
    lerobot: Callable[..., dict[str, Any]],
    remember: Callable[..., dict[str, Any]],
) -> Edited:
    """Two painted splits rolled over at other episodes, and the sample's train and val."""
    from quickdraw.formats.lerobot import blocks, files
    from quickdraw.formats.lerobot.schema import Limits

    def ask(folder: Path) -> dict[str, Any]:
        limits = Limits(files_per_chunk=2, data_mb=12, video_mb=18, video_s=1)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(files, "MB", KB)
            patch.setattr(blocks, "MB", KB)
            for name, first, lengths in (("one", 0, LENGTHS), ("two", 100, OTHER_LENGTHS)):
                episodes = [synthetic.fake_episode(first + n, frames, folder) for n, frames in enumerate(lengths)]
                synthetic.pack(folder / name, synthetic.dataset_spec(limits), episodes)
        merge = [[folder / "one", folder / "two"], [sample_dataset / "train", sample_dataset / "val"]]
        asked = {"merge": merge, "edit": folder / "one", "delete": DELETED, "divide": DIVIDED, "target": folder / "out"}
        return {"target": str(folder / "out"), "results": lerobot("edit_splits", asked)}

    answer = remember("edited", ask)
    one = list(enumerate(LENGTHS))
    both = one + [(100 + n, length) for n, length in enumerate(OTHER_LENGTHS)]
    origin = {"merged0": both, "aggregated0": both, "deleted": [e for e in one if e[0] not in DELETED]}
    origin |= {name: [one[n] for n in numbers] for name, numbers in DIVIDED.items()}
    return Edited(answer["results"], origin, Path(answer["target"]))


RESULTS = ("merged0", "aggregated0", "deleted", "first", "second")
ALL = (*RESULTS, "merged1", "aggregated1")


@pytest.mark.parametrize("name", RESULTS)
def test_every_row_keeps_its_values_and_its_painted_pictures(edited: Edited, synthetic: ModuleType, name: str) -> None:
    expected = [(number, row, length) for number, length in edited.origin[name] for row in range(length)]
    items = edited.answer[name]["items"]
    assert [item["index"] for item in items] == list(range(len(expected)))
    with np.load(edited.target / f"{name}.npz") as pictures:
        for item, (number, row, length) in zip(items, expected, strict=True):
            assert item["frame_index"] == row
            assert item["task"] == f"task {number % 2}"
            state = synthetic.state_rows(number, length)[row].tolist()
            assert item["observation.state"] == state
            for camera in CAMERAS:
                shown = synthetic.read_paint(pictures[f"{item['index']}/observation.images.{camera}"])
                assert shown == (camera, number, row), name


def statistics_of(root: Path) -> list[dict[str, Any]]:
    """Of observation.state: the whole's, then each episode's."""
    found = [json.loads((root / "meta/stats.json").read_text())["observation.state"]]
    tables = [pq.read_table(file) for file in sorted((root / "meta/episodes").glob("*/*.parquet"))]
    for row in pa.concat_tables(tables).to_pylist():
        found.append({name: row[f"stats/observation.state/{name}"] for name in (*PIN, "count")})
    return found


@pytest.mark.parametrize("name", ALL)
def test_the_rotation_stays_pinned_in_what_lerobot_makes_of_our_statistics(edited: Edited, name: str) -> None:
    for statistics in statistics_of(Path(edited.answer[name]["root"])):
        for statistic, value in PIN.items():
            np.testing.assert_allclose(statistics[statistic][3:9], value, rtol=0, atol=1e-9, err_msg=statistic)


@pytest.mark.parametrize("name", ["merged1", "aggregated1"])
def test_merging_train_and_val_of_the_sample_keeps_rows_and_pictures(
    edited: Edited, sample_dataset: Path, synthetic: ModuleType, name: str
) -> None:
    result = edited.answer[name]
    roots = [sample_dataset / split for split in ("train", "val")]
    tables = [pq.read_table(file) for root in roots for file in sorted((root / "data").glob("*/*.parquet"))]
    state = pa.concat_tables(tables)["observation.state"].to_pylist()
    assert result["frames"] == len(state)
    assert [item["index"] for item in result["items"]] == list(range(0, len(state), 5))
    assert all(item["observation.state"] == state[item["index"]] for item in result["items"])
    for key in ("observation.images.scene_left", "observation.images.gripper_right_top"):
        files = [file for root in roots for file in sorted((root / "videos" / key).rglob("*.mp4"))]
        digests = [hashlib.sha256(rgb.tobytes()).hexdigest() for file in files for rgb in synthetic.decoded(file)]
        assert len(digests) == len(state)
        assert all(item[key] == digests[item["index"]] for item in result["items"]), key


@pytest.mark.parametrize("name", ["deleted", "first", "second"])
def test_statistics_rebuilt_from_episodes_are_those_of_the_rows_left(
    edited: Edited, synthetic: ModuleType, name: str
) -> None:
    found = json.loads((Path(edited.answer[name]["root"]) / "meta/stats.json").read_text())["action"]
    rows = np.concatenate([synthetic.action_rows(number, length) for number, length in edited.origin[name]])
    np.testing.assert_allclose(found["mean"], rows.astype(np.float64).mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(found["std"], rows.astype(np.float64).std(axis=0), rtol=1e-9)
    assert (found["min"], found["max"]) == (rows.min(axis=0).tolist(), rows.max(axis=0).tolist())
    assert found["count"] == [len(rows)]
