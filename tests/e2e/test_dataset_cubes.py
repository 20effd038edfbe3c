"""The cubes of the built sample: named, in range, held as the rule says, and counted right in the documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quickdraw.formats.lerobot.reader import SplitReader

CUBE = "observation.objects.cube"
COLOURS, VIEWS, MEASURES = ("red", "green", "blue", "purple"), ("scene", "wrist"), ("cx", "cy", "size", "vis")
NAMES = [f"{colour}_{view}_{measure}" for colour in COLOURS for view in VIEWS for measure in MEASURES]
PALETTES = {
    "train": ["red", "green", "blue"], "val": ["red", "green", "blue"],
    "eval_purple_play": ["red", "blue", "purple"], "eval_purple_stack": ["red", "blue", "purple"],
}  # fmt: skip


def document(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_bytes())
    return found


def column(split: Path) -> npt.NDArray[np.float32]:
    tables = [pq.read_table(file) for file in sorted((split / "data").glob("*/*.parquet"))]
    return np.array(pa.concat_tables(tables)[CUBE].to_pylist(), np.float32)


def episodes(split: Path) -> list[slice]:
    """The rows of each episode."""
    ends = [(row["dataset_from_index"], row["dataset_to_index"]) for row in SplitReader(split).episodes]
    return [slice(first, end) for first, end in ends]


@pytest.mark.parametrize("split", PALETTES)
def test_all_32_numbers_are_named_and_read_the_same_by_every_reader(split: str, sample_dataset: Path) -> None:
    root = sample_dataset / split
    feature = document(root / "meta/info.json")["features"][CUBE]
    assert feature == {"dtype": "float32", "shape": [32], "names": NAMES}
    np.testing.assert_array_equal(SplitReader(root).array(CUBE), column(root))
    frame = SplitReader(root).frame()
    np.testing.assert_array_equal(frame[[f"{CUBE}.{name}" for name in NAMES]].to_numpy(), column(root))


@pytest.mark.parametrize("split", PALETTES)
def test_a_splits_colours_are_seen_and_the_absent_one_is_zero_in_every_row(split: str, sample_dataset: Path) -> None:
    assert document(sample_dataset / "provenance.json")["palette"] == PALETTES
    rows = column(sample_dataset / split)
    for colour in COLOURS:
        of = rows[:, [name.startswith(colour) for name in NAMES]]
        if colour in PALETTES[split]:
            assert (of[:, 3] > 0).mean() > 0.25, colour
        else:
            assert np.count_nonzero(of) == 0, colour


def test_every_number_lies_in_its_range(sample_dataset: Path) -> None:
    for split in PALETTES:
        rows = column(sample_dataset / split).reshape(-1, 8, 4)
        assert np.isfinite(rows).all()
        assert rows.min() >= 0
        assert rows[..., [0, 1, 3]].max() <= 1
        seen = rows[..., 3] > 0
        np.testing.assert_allclose(np.minimum(rows[..., 2][seen] ** 2, 1), rows[..., 3][seen], rtol=1e-5)
        assert (rows[..., :2][seen] > 0).all()


def test_the_hold_rule_holds_in_every_row_and_begins_anew_with_every_episode(sample_dataset: Path) -> None:
    held = 0
    for split in PALETTES:
        rows = column(sample_dataset / split)
        for episode in episodes(sample_dataset / split):
            for cube_and_view in range(8):
                last = [0.0, 0.0]
                for x, y, size, vis in rows[episode, 4 * cube_and_view : 4 * cube_and_view + 4].tolist():
                    if vis > 0:
                        last = [x, y]
                    else:
                        assert [x, y, size] == [*last, 0.0]
                        held += last != [0.0, 0.0]
    assert held > 100


def test_visible_shares_in_provenance_are_those_of_the_rows(sample_dataset: Path) -> None:
    told = document(sample_dataset / "provenance.json")
    assert len(told["episodes"]) == 7
    for episode in told["episodes"]:
        root = sample_dataset / episode["split"]
        rows = column(root)[episodes(root)[episode["episode_index"]]]
        assert list(episode["cubes"]) == list(VIEWS)
        for view, seen in episode["cubes"].items():
            assert list(seen["visible_share"]) == list(COLOURS)
            for colour in told["palette"][episode["split"]]:
                visible = rows[:, NAMES.index(f"{colour}_{view}_vis")] > 0
                assert seen["visible_share"][colour] == pytest.approx(visible.mean(), abs=1e-12)
            assert set(seen["hue_deg"]) <= set(COLOURS)


def test_constants_are_means_and_deviations_over_train_and_1_where_a_colour_never_is(sample_dataset: Path) -> None:
    rows = column(sample_dataset / "train").astype(np.float64)
    constants = document(sample_dataset / "normalization_stats.json")
    assert list(constants) == ["observation.state", "action", CUBE]
    found = constants[CUBE]
    constant = np.ptp(rows, axis=0) == 0
    assert [name for name, same in zip(NAMES, constant, strict=True) if same and name.startswith("purple")] == NAMES[
        24:
    ]
    np.testing.assert_allclose(found["mean"], rows.mean(axis=0), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found["std"], np.where(constant, 1.0, rows.std(axis=0)), rtol=1e-9)
    for split in PALETTES:
        stats = document(sample_dataset / split / "meta/stats.json")[CUBE]
        assert stats["mean"] == found["mean"]
        assert (stats["min"][24:], stats["max"][24:], stats["std"][24:]) == ([-1.0] * 8, [1.0] * 8, [1.0] * 8)
