"""Statistics of a feature that several tasks measure, some dimensions each, are those that one measures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from quickdraw.core import passes
from quickdraw.core.cubes import CUBE, CubeRule, Track
from quickdraw.core.hues import COLOURS, CubeThresholds, Peak
from quickdraw.core.passes import Size
from quickdraw.pipeline.cubes import SplitCubes
from quickdraw.pipeline.fragments import write_rows, write_track
from quickdraw.pipeline.statistics import CubesTask, MeasureTask, VectorTask, measure, put_together

LENGTHS = (40, 7, 23)
STATE = "observation.state"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Of each episode: its rows, and what two cameras saw of its cubes."""
    chance, found = np.random.default_rng(0), list[Path]()
    for number, length in enumerate(LENGTHS):
        folder = tmp_path_factory.mktemp(f"episode{number}")
        write_rows(folder, "a part", {STATE: chance.normal(0, 1, (length, 17)).astype(np.float32)})
        for view in ("scene", "wrist"):
            sightings = chance.random((length, len(COLOURS), 3)).astype(np.float32)
            sightings[chance.random((length, len(COLOURS))) < 0.3] = 0
            write_track(folder / view, "a part", Track(sightings, {colour: Peak(1, 0.5) for colour in COLOURS}))
        found.append(folder)
    return found


def tasks(folders: list[Path], shares: list[slice | None], column: str) -> list[MeasureTask]:
    rows = tuple((folder / "rows.npz",) for folder in folders)
    if column == STATE:
        size = Size(sum(LENGTHS), 17)
        return [VectorTask("train", column, share, rows, "float32", size) for share in shares]
    tracks = tuple((folder / "scene.npz", folder / "wrist.npz") for folder in folders)
    evidence = dict.fromkeys(COLOURS, 1) | {COLOURS[1]: 0}
    cubes = SplitCubes(CubeRule(("a", "b"), CubeThresholds()), 144 * 192, evidence, len(LENGTHS))
    return [CubesTask("train", column, share, tracks, cubes, Size(sum(LENGTHS), CUBE.width)) for share in shares]


@pytest.mark.parametrize("column", [STATE, CUBE.name])
def test_shares_of_a_feature_make_the_whole_of_it_whichever_is_done_first(
    column: str, folders: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes, "MOST_BYTES", 0)
    monkeypatch.setattr(passes, "SHARED_BYTES", 0)
    width = 17 if column == STATE else CUBE.width
    odd: list[slice | None] = [slice(0, 3), slice(3, 12), slice(12, width)]
    (whole,) = (measure(task).statistics.items() for task in tasks(folders, [None], column))
    for shares in (list(Size(sum(LENGTHS), width).shares()), odd):
        assert len(shares) > 1
        found = put_together(map(measure, reversed(tasks(folders, shares, column))))
        for name, values in found["train"][column].items().items():
            assert np.asarray(values).tobytes() == np.asarray(whole[name]).tobytes(), name
