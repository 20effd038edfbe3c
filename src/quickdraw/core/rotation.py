"""Rotations as their first two columns (Zhou et al., "On the Continuity of Rotation Representations", 2019)."""

from __future__ import annotations

import numpy as np

from quickdraw.core.grid import Float64


def rot6_from_rpy(rpy_deg: Float64, world_from_base: Float64) -> Float64:
    """Roll, pitch, yaw of the base frame to the 6D rotation in the world frame.

    `rpy_deg` `(N, 3)` float64 [deg], extrinsic x-y-z (`R = Rz(yaw) Ry(pitch) Rx(roll)`); `world_from_base` `(3, 3)`.
    Returns `(N, 6)` float64: the first column of the world rotation, then the second. The third is their cross product.
    """
    from scipy.spatial.transform import Rotation  # here, for it takes half a second, and planning turns nothing

    base = Rotation.from_euler("xyz", rpy_deg, degrees=True).as_matrix()
    world = np.asarray(world_from_base) @ base
    return np.concatenate([world[:, :, 0], world[:, :, 1]], axis=1)


def rot6_from_quaternion(quaternion: Float64) -> Float64:
    """Quaternions to the 6D rotation in their own frame.

    `quaternion` `(N, 4)` float64 in the order XYZW, scalar last, each of any length but 0. Returns `(N, 6)` float64:
    the first column of the rotation matrix, then the second.
    """
    x, y, z, w = (quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True)).T
    first = (1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w))
    second = (2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w))
    return np.stack([*first, *second], axis=1)
