"""A column's type and fill follow from its name, the dedicated questions first."""

from __future__ import annotations

import pyarrow as pa
import pytest

from quickdraw.formats.pooled.columns import (
    arrow_type,
    fill,
    force,
    gripper_of,
    is_glove,
    matrix,
    order,
    prefix,
    state,
    trajectory,
)

F32 = pa.float32()
TYPES = {
    "episode_index": (pa.int64(), 0),
    "timestamp": (F32, 0),
    "wall_time": (pa.float64(), 0),
    "hardware_ns": (pa.int64(), 0),
    "action": (pa.list_(F32, 1), [0.0]),
    "imu_ts_ns": (pa.list_(pa.int64()), []),
    "observation.imu": (pa.list_(pa.list_(F32, 6)), []),
    "observation.right_glove": (pa.list_(F32, 256), [0.0] * 256),
    "observation.right_glove_imu_quat": (pa.list_(F32, 64), [0.0] * 64),
    "observation.right_glove_imu_valid": (pa.list_(F32, 16), [0.0] * 16),
    "observation.left_hand_pose": (pa.list_(F32, 63), [0.0] * 63),
    "status.cam0": (pa.string(), "connected"),
    "observation.gripper_state": (pa.list_(F32, 3), [0.0] * 3),
    "observation.gripper_2_gripper_state": (pa.list_(F32, 3), [0.0] * 3),
    "observation.gripper_left_force": (pa.list_(F32, 3), [0.0] * 3),
    "observation.gripper_right_force_ns": (pa.int64(), 0),
    "observation.gripper_left_force_matrix": (pa.list_(pa.int16()), []),
    "observation.gripper_left_force_matrix_ns": (pa.int64(), 0),
    "observation.gripper_2_gripper_left_force_matrix": (pa.list_(pa.int16()), []),
    "observation.slam_trajectory": (pa.list_(pa.float64()), []),
    "observation.slam_trajectory_ns": (pa.list_(pa.int64()), []),
    "observation.gripper_2_slam_trajectory_ns": (pa.list_(pa.int64()), []),
}


@pytest.mark.parametrize("name", TYPES)
def test_a_column_has_the_contracts_type_and_a_fill_that_is_never_null(name: str) -> None:
    kind, empty = TYPES[name]
    assert arrow_type(name) == kind
    assert fill(name, kind) == empty
    assert pa.array([fill(name, kind)], kind).null_count == 0


def test_a_matrix_may_be_float32() -> None:
    assert arrow_type("observation.gripper_left_force_matrix", matrix_dtype="float32") == pa.list_(F32)


@pytest.mark.parametrize("name", ["observation.slam_pose", "observation.gripper_2_slam_pose", "foo", "status.", "x_ns"])
def test_what_the_contract_does_not_write_has_no_type(name: str) -> None:
    assert arrow_type(name) is None


def test_gloves_are_what_is_left_of_the_observations() -> None:
    names = [name for name in (*TYPES, "observation.slam_pose", "observation.left_glove") if is_glove(name)]
    assert names == ["observation.right_glove", "observation.left_glove"]


def test_columns_stand_in_the_contracts_order() -> None:
    shuffled = sorted(TYPES)
    kinds = [sorted(shuffled, key=order).index(name) for name in (
        "episode_index", "action", "observation.right_glove", "imu_ts_ns", "observation.imu",
        "observation.right_glove_imu_quat", "observation.gripper_2_gripper_left_force_matrix",
        "observation.slam_trajectory_ns", "observation.left_hand_pose", "status.cam0",
    )]  # fmt: skip
    assert kinds == sorted(kinds)


def test_names_of_a_grippers_columns_tell_the_gripper() -> None:
    assert (prefix(1), prefix(2)) == ("", "gripper_2_")
    assert force("left") == "observation.gripper_left_force"
    assert matrix("right", 2) == "observation.gripper_2_gripper_right_force_matrix"
    assert (state(3), trajectory()) == ("observation.gripper_3_gripper_state", "observation.slam_trajectory")
    for gripper in (1, 2, 12):
        for name in (force("left", gripper), matrix("right", gripper), state(gripper), trajectory(gripper)):
            assert arrow_type(name) is not None
            assert gripper_of(name) == gripper_of(f"{name}_ns") == gripper
    assert gripper_of("observation.left_glove") == gripper_of("wall_time") == 0
    with pytest.raises(ValueError, match="counted from 1"):
        matrix("left", 0)
