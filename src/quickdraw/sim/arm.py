"""The xArm 7 as the collector describes it: forward chain, world frame, and joints that reach a pose.

World is +X forward, +Y left, +Z up with the arm base's origin: only a rotation lies between them.
Everything is batched over the first axis, so that ten minutes of joints are one call.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

type Floats = NDArray[np.float64]

_COS45: Final = 0.7071067811865476
R_WORLD_FROM_BASE: Final[Floats] = np.array([[1.0, 0.0, 0.0], [0.0, _COS45, -_COS45], [0.0, _COS45, _COS45]])
HOME_JOINTS_DEG: Final = (-98.8, -55.6, 109.8, 79.9, 57.0, 68.1, 84.2)

# Position of each link in its parent [mm] and the fixed twist about X [deg] before the joint turns about Z.
_LINK_XYZ_MM: Final[Floats] = np.array(
    [
        [0.0, 0.0, 267.0],
        [0.0, 0.0, 0.0],
        [0.0, -293.0, 0.0],
        [52.5, 0.0, 0.0],
        [77.5, -342.5, 0.0],
        [0.0, 0.0, 0.0],
        [76.0, 97.0, 0.0],
    ]
)
_LINK_TWIST_DEG: Final = (0.0, -90.0, 90.0, 90.0, 90.0, 90.0, -90.0)

# One length unit weighs as much as one radian in the least squares: about the arm's reach.
_LENGTH_SCALE_MM: Final = 500.0
_DAMPING: Final = 1e-3
_STAGES: Final = 8
_FINAL_STEPS: Final = 3


def matrix_hash(matrix: Floats) -> str:
    """First 12 hex digits of sha256 over the float64 C-order bytes, as the collector stamps its runs."""
    return hashlib.sha256(np.ascontiguousarray(matrix, dtype=np.float64).tobytes()).hexdigest()[:12]


def rpy_deg(rotations: Floats) -> Floats:
    """Extrinsic x-y-z Euler angles (N, 3) [deg] of rotation matrices (N, 3, 3): the collector's roll, pitch, yaw."""
    return np.asarray(Rotation.from_matrix(rotations).as_euler("xyz", degrees=True), dtype=np.float64)


def _link_frames() -> Floats:
    frames = np.tile(np.eye(4), (7, 1, 1))
    frames[:, :3, 3] = _LINK_XYZ_MM
    twists = np.array(_LINK_TWIST_DEG)[:, None]
    frames[:, :3, :3] = Rotation.from_euler("x", twists, degrees=True).as_matrix()
    return frames


_LINKS: Final = _link_frames()


def link_poses(joints_deg: Floats) -> Floats:
    """Base-frame poses (N, 7, 4, 4) [mm] of the seven links for joints (N, 7) [deg]; the last is the flange."""
    angles = np.deg2rad(joints_deg)
    cos, sin = np.cos(angles), np.sin(angles)
    turns = np.zeros((*angles.shape, 4, 4))
    turns[..., 0, 0] = turns[..., 1, 1] = cos
    turns[..., 0, 1], turns[..., 1, 0] = -sin, sin
    turns[..., 2, 2] = turns[..., 3, 3] = 1.0
    pose = np.tile(np.eye(4), (len(angles), 1, 1))
    poses = np.empty_like(turns)
    for link in range(7):
        pose = pose @ _LINKS[link] @ turns[:, link]
        poses[:, link] = pose
    return poses


def flange_pose_base(joints_deg: Floats) -> Floats:
    """Flange pose in the arm base (N, 4, 4) [mm] for joints (N, 7) [deg]."""
    return link_poses(joints_deg)[:, -1]


_HOME_BASE: Final = flange_pose_base(np.array([HOME_JOINTS_DEG]))[0]
HOME_WORLD_XYZ_MM: Final[Floats] = R_WORLD_FROM_BASE @ _HOME_BASE[:3, 3]
HOME_WORLD_FROM_FLANGE: Final[Floats] = R_WORLD_FROM_BASE @ _HOME_BASE[:3, :3]


@dataclass(frozen=True, slots=True)
class FlangePath:
    """Where the flange is: world xyz (N, 3) [mm] and turn about the world vertical since home (N,) [deg].

    The tool never tilts: the operator can only move it and turn it about the vertical.
    """

    world_xyz_mm: Floats
    yaw_deg: Floats

    def world_from_flange(self) -> Floats:
        """Rotations (N, 3, 3)."""
        turn = Rotation.from_euler("z", self.yaw_deg[:, None], degrees=True).as_matrix()
        return np.asarray(turn @ HOME_WORLD_FROM_FLANGE, dtype=np.float64)

    def base_xyz_mm(self) -> Floats:
        """(N, 3) [mm] in the arm base."""
        return self.world_xyz_mm @ R_WORLD_FROM_BASE  # = (R.T @ v) for every row v

    def base_rpy_deg(self) -> Floats:
        """(N, 3) [deg] in the arm base."""
        return rpy_deg(R_WORLD_FROM_BASE.T @ self.world_from_flange())


def joints_for(path: FlangePath) -> Floats:
    """Joints (N, 7) [deg] that put the flange on `path`: damped least squares over position and orientation.

    Every row is led from home in equal stages, so the seventh (free) degree is a smooth function of the pose alone
    and a longer run does not drift. Raises ValueError where a pose is out of the arm's reach.
    """
    joints = np.tile(np.array(HOME_JOINTS_DEG), (len(path.yaw_deg), 1))
    for stage in [*range(1, _STAGES + 1), *[_STAGES] * _FINAL_STEPS]:
        part = stage / _STAGES
        aim = FlangePath(
            world_xyz_mm=HOME_WORLD_XYZ_MM + part * (path.world_xyz_mm - HOME_WORLD_XYZ_MM),
            yaw_deg=part * path.yaw_deg,
        )
        joints += _least_squares_step(joints, aim)
    reached = flange_pose_base(joints)[:, :3, 3] @ R_WORLD_FROM_BASE.T
    miss_mm = np.linalg.norm(reached - path.world_xyz_mm, axis=1)
    if len(miss_mm) and miss_mm.max() > 0.01:
        row = int(miss_mm.argmax())
        raise ValueError(f"flange pose {path.world_xyz_mm[row]} mm, yaw {path.yaw_deg[row]} deg is out of reach")
    return joints


def _least_squares_step(joints_deg: Floats, aim: FlangePath) -> Floats:
    poses = link_poses(joints_deg)
    axes = poses[:, :, :3, 2] @ R_WORLD_FROM_BASE.T
    origins = poses[:, :, :3, 3] @ R_WORLD_FROM_BASE.T
    flange = origins[:, -1]
    sweep = np.cross(axes, flange[:, None] - origins) / _LENGTH_SCALE_MM
    jacobian = np.concatenate([sweep, axes], axis=2).transpose(0, 2, 1)
    turned = R_WORLD_FROM_BASE @ poses[:, -1, :3, :3]
    turn_error = Rotation.from_matrix(aim.world_from_flange() @ turned.transpose(0, 2, 1)).as_rotvec()
    error = np.concatenate([(aim.world_xyz_mm - flange) / _LENGTH_SCALE_MM, turn_error], axis=1)
    normal = jacobian @ jacobian.transpose(0, 2, 1) + _DAMPING**2 * np.eye(6)
    weights = np.linalg.solve(normal, error[..., None])
    return np.asarray(np.rad2deg((jacobian.transpose(0, 2, 1) @ weights)[..., 0]), dtype=np.float64)
