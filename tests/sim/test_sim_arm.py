"""The simulated arm against numbers that are stated outside it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quickdraw.sim.arm import (
    HOME_JOINTS_DEG,
    R_WORLD_FROM_BASE,
    FlangePath,
    flange_pose_base,
    joints_for,
    matrix_hash,
    rpy_deg,
)


def test_home_joints_put_the_flange_where_the_rig_says() -> None:
    pose = flange_pose_base(np.array([HOME_JOINTS_DEG]))[0]
    np.testing.assert_allclose(R_WORLD_FROM_BASE @ pose[:3, 3], (501.3, 21.6, 349.6), atol=0.1)
    np.testing.assert_allclose(rpy_deg(pose[None, :3, :3])[0], (179.94, 0.15, -90.36), atol=0.01)
    np.testing.assert_allclose(R_WORLD_FROM_BASE @ pose[:3, 2], (0.0, 0.709, -0.705), atol=2e-3)


def test_zero_joints_give_the_known_zero_pose() -> None:
    pose = flange_pose_base(np.zeros((1, 7)))[0]
    np.testing.assert_allclose(pose[:3, 3], (206.0, 0.0, 120.5), atol=0.1)


def test_the_world_matrix_has_the_hash_of_the_real_runs() -> None:
    assert matrix_hash(R_WORLD_FROM_BASE) == "3ad430d28d0e"


@settings(max_examples=40, deadline=None)
@given(st.floats(380, 590), st.floats(-220, 80), st.floats(15, 290), st.floats(-75, 35))
def test_joints_reach_every_comfortable_pose(x: float, y: float, z: float, yaw: float) -> None:
    path = FlangePath(np.array([[x, y, z]]), np.array([yaw]))
    pose = flange_pose_base(joints_for(path))
    np.testing.assert_allclose(pose[:, :3, 3], path.base_xyz_mm(), atol=1e-2)
    np.testing.assert_allclose(R_WORLD_FROM_BASE @ pose[:, :3, :3], path.world_from_flange(), atol=1e-4)


def test_a_pose_out_of_reach_is_named() -> None:
    with pytest.raises(ValueError, match=r"flange pose .* out of reach"):
        joints_for(FlangePath(np.array([[1500.0, 0.0, 0.0]]), np.zeros(1)))
