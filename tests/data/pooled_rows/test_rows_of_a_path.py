"""A gripper's path as poses on rows, against SciPy's rotations and a loop over all points."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from quickdraw.data.command_line.composing import default_config
from quickdraw.data.options import as_json
from quickdraw.data.pooled_episodes import features, poses
from quickdraw.data.pooled_episodes.options import PooledOptions
from quickdraw.formats.pooled.series import Trajectory

OPTIONS = msgspec.convert(as_json(default_config("pooled_episodes").source) | {"target_hz": 30}, PooledOptions)

START = 7_000_000_000_000
FILL = [0, 0, 0, 1, 0, 0, 0, 1, 0]


def path_of(ns: Any, points: Any) -> Trajectory:
    return Trajectory(np.asarray(ns, np.int64), np.asarray(points, np.float64), np.zeros(len(ns), np.int64))


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_a_row_has_the_nearest_point_and_its_rotation_is_scipys(made: SimpleNamespace, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = START + np.cumsum(rng.integers(0, 60_000_000, 12))
    ns = START + rng.integers(-100, 500, 20) * 5_000_000
    ns[rng.random(20) < 0.2] = 0
    points = rng.normal(size=(20, 8)) * rng.choice([1e-3, 1.0, 50.0], size=(20, 1))
    points[rng.random(20) < 0.1, 4:] = 0
    points[rng.random(20) < 0.1, 2] = np.nan
    points[rng.random(20) < 0.05, 0] = np.nan  # its time of its own clock is not used
    found = poses.sampled(path_of(ns, points), made.frames(rows), 0.05)
    for row, hw in enumerate(rows):
        ranked = sorted((abs(int(at) - int(hw)), int(at), n) for n, at in enumerate(ns) if at > 0)
        far, _, chosen = ranked[0] if ranked else (10**18, 0, 0)
        point = points[chosen]
        usable = far <= 50_000_000 and np.isfinite(point[1:]).all() and bool(point[4:].any())
        assert bool(found.present[row]) is bool(usable)
        if usable:
            turned = Rotation.from_quat(point[4:]).as_matrix()
            expected = np.concatenate([point[1:4], turned[:, 0], turned[:, 1]])
            np.testing.assert_allclose(found.values[row], expected, rtol=1e-5, atol=1e-6)
        else:
            np.testing.assert_array_equal(found.values[row], FILL)


@pytest.mark.parametrize(
    ("hardware", "why"),
    [([0, 0], "no clock"), ([5, 9], "no clock"), ([START, START - 1], "no clock"), ([START], "no st")],
)
def test_without_clock_or_stamps_there_is_no_pose_at_all(made: SimpleNamespace, hardware: list[int], why: str) -> None:
    ns = [0, 0] if why == "no st" else [START, START + 1]
    found = poses.sampled(path_of(ns, np.ones((2, 8))), made.frames(hardware), 0.5)
    assert not found.present.any()
    assert not found.filled
    assert found.why.startswith(why)
    np.testing.assert_array_equal(found.values, [FILL] * len(hardware))


def test_a_second_grippers_path_is_a_feature_of_its_own_and_a_column_without_stamps_none(
    made: SimpleNamespace, episode: Callable[..., Any]
) -> None:
    points = pa.array([[0, 1, 2, 3, 0, 0, 0, 2.0], []], pa.list_(pa.float64()))
    ns = pa.array([[made.start + 1], []], pa.list_(pa.int64()))
    one = episode(
        {
            "observation.slam_trajectory": points,
            "observation.gripper_2_slam_trajectory": points,
            "observation.gripper_2_slam_trajectory_ns": ns,
        }
    )
    frames = made.frames([made.start, made.start + 33_333_333])
    held = features.hold(one, frames, OPTIONS)
    assert not held.columns["observation.slam_pose"]["filled"]
    assert held.columns["observation.slam_pose"]["why"] == "no stamps to align it by"
    second = held.columns["observation.gripper_2_slam_pose"]
    assert second == {
        "column": "observation.gripper_2_slam_trajectory", "width": 9, "filled": True, "missing": 0,
    }  # fmt: skip
    assert list(held.displacement) == []  # one point has no rate
