"""The columns of a data file: which exist, their Arrow types, and what a row without a sample holds (contract 7).

A column's type follows from its name, and the order of the questions matters: `slam_trajectory_ns` ends in `_ns`, but
holds a list.
"""

from __future__ import annotations

import re
from typing import Any, Final

import pyarrow as pa

IMU, IMU_STAMPS = "observation.imu", "imu_ts_ns"
IMU_AXES: Final = 6  # gx gy gz ax ay az
HAND_POSES: Final = ("observation.left_hand_pose", "observation.right_hand_pose")
HAND_POSE_VALUES: Final = 63  # 21 points, metres
POINT_VALUES: Final = 8  # t x y z qx qy qz qw
GLOVE_VALUES: Final = 256  # 16 x 16, row-major

_F32 = pa.float32()
KEYS: Final[dict[str, Any]] = {
    "episode_index": pa.int64(),
    "frame_index": pa.int64(),
    "timestamp": _F32,
    "task_index": pa.int64(),
    "wall_time": pa.float64(),
    "hardware_ns": pa.int64(),
    "action": pa.list_(_F32, 1),
}

_GRIPPER = r"observation\.(?:gripper_(?P<gripper>[1-9]\d*)_)?"
MATRIX = re.compile(_GRIPPER + r"gripper_(?:left|right)_force_matrix")
FORCE = re.compile(_GRIPPER + r"gripper_(?:left|right)_force")
STATE = re.compile(_GRIPPER + r"gripper_state")
TRAJECTORY = re.compile(_GRIPPER + r"slam_trajectory")
OLD_POSE = re.compile(_GRIPPER + r"slam_pose")  # not written since v1.3.1
STATUS = re.compile(r"status\..+")
GLOVE_QUAT = re.compile(r"observation\.[^.]+_imu_quat")
GLOVE_VALID = re.compile(r"observation\.[^.]+_imu_valid")


def prefix(gripper: int) -> str:
    """What stands before `gripper_` and `slam_` in the columns of gripper 1, 2, ... Raises ValueError below 1."""
    if gripper < 1:
        raise ValueError(f"gripper {gripper}; they are counted from 1")
    return "" if gripper == 1 else f"gripper_{gripper}_"


def force(side: str, gripper: int = 1) -> str:
    """The column of a finger's force; its stamps are in `{}_ns`, as those of `matrix` and `trajectory` are."""
    return f"observation.{prefix(gripper)}gripper_{side}_force"


def matrix(side: str, gripper: int = 1) -> str:
    """The column of a finger's force matrices."""
    return f"{force(side, gripper)}_matrix"


def state(gripper: int = 1) -> str:
    """The column of a gripper's state."""
    return f"observation.{prefix(gripper)}gripper_state"


def trajectory(gripper: int = 1) -> str:
    """The column of a gripper's points."""
    return f"observation.{prefix(gripper)}slam_trajectory"


def gripper_of(column: str) -> int:
    """Which gripper a column is of, stamps included; 0 where it is of none."""
    bare = column.removesuffix("_ns")
    for form in (MATRIX, FORCE, STATE, TRAJECTORY, OLD_POSE):
        if match := form.fullmatch(bare):
            return int(match["gripper"] or 1)
    return 0


def is_glove(name: str) -> bool:
    """Whether a column's name can be a tactile sensor's: `observation.`, and none the contract has a meaning for.

    A name alone does not make it one: which columns are gloves' when statistics are made, `stats.Counting` tells.
    """
    known = (MATRIX, FORCE, STATE, TRAJECTORY, OLD_POSE, GLOVE_QUAT, GLOVE_VALID)
    bare = name.removesuffix("_ns")
    return (
        name.startswith("observation.")
        and name.count(".") == 1  # a server declares pictures below `observation.`
        and not name.endswith("hand_pose")
        and name != IMU
        and not any(form.fullmatch(bare) for form in known)
    )


def arrow_type(name: str, *, matrix_dtype: str = "int16", glove_values: int = GLOVE_VALUES) -> Any:
    """The type a column is written in, None for a name the contract does not know. A matrix is int16 or float32."""
    if name in KEYS:
        return KEYS[name]
    if name == IMU_STAMPS:
        return pa.list_(pa.int64())
    if name == IMU:
        return pa.list_(pa.list_(_F32, IMU_AXES))
    if name in HAND_POSES:
        return pa.list_(_F32, HAND_POSE_VALUES)
    if STATUS.fullmatch(name):
        return pa.string()
    return _gripper_type(name, matrix_dtype) or _glove_type(name, glove_values)


def _gripper_type(name: str, matrix_dtype: str) -> Any:
    if name.endswith("_ns"):
        if TRAJECTORY.fullmatch(name.removesuffix("_ns")):
            return pa.list_(pa.int64())
        bare = name.removesuffix("_ns")
        return pa.int64() if MATRIX.fullmatch(bare) or FORCE.fullmatch(bare) else None
    if MATRIX.fullmatch(name):
        return pa.list_(pa.type_for_alias(matrix_dtype))
    if TRAJECTORY.fullmatch(name):
        return pa.list_(pa.float64())
    return pa.list_(_F32, 3) if STATE.fullmatch(name) or FORCE.fullmatch(name) else None


def _glove_type(name: str, glove_values: int) -> Any:
    if GLOVE_QUAT.fullmatch(name):
        return pa.list_(_F32, 64)
    if GLOVE_VALID.fullmatch(name):
        return pa.list_(_F32, 16)
    return pa.list_(_F32, glove_values) if is_glove(name) else None


def fill(name: str, kind: Any) -> Any:
    """What a row without a sample holds, as a Python value of the column's type `kind`; never None."""
    if STATUS.fullmatch(name):
        return "connected"
    if pa.types.is_fixed_size_list(kind):
        return [0.0] * kind.list_size
    return [] if pa.types.is_list(kind) else 0


def order(name: str) -> tuple[int, str]:
    """Where a column stands: keys, action, gloves, IMU, glove IMUs, grippers, hand poses, status."""
    if name in KEYS:
        return list(KEYS).index(name), ""
    if name in (IMU_STAMPS, IMU):
        return 21 + (name == IMU), ""
    if name in HAND_POSES:
        return 40, name
    if STATUS.fullmatch(name):
        return 50, name
    if GLOVE_QUAT.fullmatch(name) or GLOVE_VALID.fullmatch(name):
        return 23, name
    return (20, name) if is_glove(name) else (30, name)
