"""Settling: the same in whatever order, a feature from one column; a source that is small and names no dimension."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

from quickdraw.data.command_line.composing import default_config
from quickdraw.data.options import as_json
from quickdraw.data.pooled_episodes import features, naming
from quickdraw.data.pooled_episodes.naming import Column
from quickdraw.data.pooled_episodes.options import Depth, PooledOptions
from quickdraw.data.pooled_episodes.settling import as_document, settle
from quickdraw.data.pooled_episodes.source import PooledEpisodes
from quickdraw.errors import Refused
from quickdraw.pipeline.parts import rows_fingerprint

OPTIONS = msgspec.convert(as_json(default_config("pooled_episodes").source) | {"target_hz": 30}, PooledOptions)

GLOVE, POSE, IMU = "observation.left_glove", "observation.slam_pose", "observation.imu"
STREAM = {"codec": "h264", "full_range": False}


def test_a_feature_is_made_from_the_column_that_is_filled_and_the_other_one_is_named(made: SimpleNamespace) -> None:
    """A recorder's old column of poses becomes no feature, and the path that took its place the same name."""
    old = {POSE: made.held(POSE, 9, filled=False, missing=4, why=features.OLD_POSE), IMU: made.held(IMU, 48)}
    new = {POSE: made.held("observation.slam_trajectory", 9), IMU: made.held(IMU, 48)}
    for plans in ([made.plan(old), made.plan(new, "b")], [made.plan(new), made.plan(old, "b")]):
        settled = settle(plans, OPTIONS)
        assert settled.columns[1] == Column(POSE, "observation.slam_trajectory", 9, validity=True)
        assert settled.left_out == {POSE: features.OLD_POSE}


@pytest.mark.parametrize(
    ("columns", "feature"),
    [(("observation.wrist_image", "observation.wrist_img"), "observation.wrist_img"),
     (("observation.a/b", "observation.a_b"), "observation.a_b")],
)  # fmt: skip
@pytest.mark.parametrize("filled", [True, False])
def test_columns_of_two_episodes_that_would_be_one_feature_are_refused(
    made: SimpleNamespace, columns: tuple[str, str], feature: str, filled: bool
) -> None:
    plans = [
        made.plan({feature: made.held(columns[0], 3)}),
        made.plan({feature: made.held(columns[1], 3, filled=filled)}, "episode_000002"),
    ]
    found = f"{columns[0]} in task/episode_000001 and {columns[1]} in task/episode_000002"
    with pytest.raises(Refused) as caught:
        settle(plans, OPTIONS)
    assert [(fault.where, fault.field, fault.found) for fault in caught.value.faults] == [("source", feature, found)]


def random_plans(made: SimpleNamespace, rng: np.random.Generator) -> list[Any]:
    """Plans that differ in all that settling looks at."""
    plans = []
    for number in range(8):
        columns = {
            name: made.held(
                column, width, filled=bool(rng.integers(2)), missing=int(rng.integers(3)), odd=int(rng.integers(2)),
                **({"why": f"reason {rng.integers(3)}"} if rng.integers(2) else {}),
            )
            for name, column, width in (
                (GLOVE, GLOVE, 256), (POSE, "observation.slam_trajectory", 9), (IMU, IMU, 48),
                ("observation.img", "observation.image", 3), ("observation.torque", "observation.torque", 2),
            )
            if rng.integers(3)
        }  # fmt: skip
        slot = f"slot{rng.integers(3)}"
        cameras = {
            name: {"kind": kind, "height_px": 48, "width_px": 64, "slot": slot, "stream": {**STREAM, "gop": number}}
            for name, kind in (("top", "rgb"), ("front", "rgb"), ("deep", "depth"))
        }
        plans.append(made.plan(columns, f"episode_{number:06d}", cameras))
    return plans


@pytest.mark.parametrize("seed", range(20))
def test_what_is_settled_does_not_depend_on_the_order_of_the_episodes(made: SimpleNamespace, seed: int) -> None:
    rng, options = np.random.default_rng(seed), replace(OPTIONS, depth=Depth("copy"))
    plans = random_plans(made, rng)
    expected = json.dumps(as_document(settle(plans, options)))
    for _ in range(5):
        shuffled = [plans[at] for at in rng.permutation(len(plans))]
        assert json.dumps(as_document(settle(shuffled, options))) == expected


def grids(made: SimpleNamespace, **more: Any) -> PooledEpisodes:
    """A settled source of two matrices of 25 x 25 patches each, gloves and an IMU."""
    options = replace(OPTIONS, force_matrices="25x25", state=("slam_pose", "imu"), action="next_state", **more)
    sides = [f"observation.gripper_{side}_force_matrix" for side in ("left", "right")]
    columns = {
        GLOVE: made.held(GLOVE, 256),
        POSE: made.held("observation.slam_trajectory", 9, missing=1),
        IMU: made.held(IMU, 48),
    }
    columns |= {name: made.held(name, 1875) for name in sides}
    return PooledEpisodes(Path("/tree"), options, settle([made.plan(columns)], options))


def test_a_settled_source_is_small_and_its_document_too(made: SimpleNamespace) -> None:
    source = grids(made)
    assert source.settled is not None
    assert sum(spec.width for spec in source.features) == 2 * 1875 + 256 + 9 + 1 + 48 + 2 * 57
    assert len(pickle.dumps(source)) < 5_000
    assert len(json.dumps(as_document(source.settled))) < 5_000
    assert pickle.loads(pickle.dumps(source)).features == source.features


def test_a_dimension_called_otherwise_makes_no_rows_anew_and_a_feature_more_does(
    made: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, plan = grids(made), made.plan({})
    before, dimensions = rows_fingerprint(source, plan, {}), source.features[-1].names
    monkeypatch.setattr(naming, "XYZ", ("east_m", "north_m", "up_m"))
    monkeypatch.setattr(naming, "AXES", ("a", "b", "c", "d", "e", "f"))
    naming.specs.cache_clear()
    assert source.features[0].names[:3] == ("slam_pose.east_m", "slam_pose.north_m", "slam_pose.up_m")
    assert rows_fingerprint(source, plan, {}) == before
    monkeypatch.undo()
    naming.specs.cache_clear()
    assert source.features[-1].names == dimensions
    assert rows_fingerprint(grids(made, clocks=True), plan, {}) != before
    assert rows_fingerprint(grids(made, max_gap_s=0.4), plan, {}) != before
