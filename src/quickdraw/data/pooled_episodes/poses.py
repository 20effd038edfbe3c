"""A gripper's path on rows: the point nearest to each picture, its turn as a 6D rotation (contract 7.2 and 7.3)."""

from __future__ import annotations

from typing import Final

import numpy as np

from quickdraw.core.episode import Float32
from quickdraw.core.grid import NS_PER_S, Float64
from quickdraw.core.rotation import rot6_from_quaternion
from quickdraw.data.pooled_episodes.frames import Frames
from quickdraw.data.pooled_episodes.sampled import NO_CLOCK, Bool, Sampled, displacement, finite, has_clock, none
from quickdraw.formats.pooled.align import nearest
from quickdraw.formats.pooled.series import Trajectory

FILL: Final = np.array([0, 0, 0, 1, 0, 0, 0, 1, 0], np.float32)  # at the origin, not turned
SHORTEST: Final = 1e-6  # length of a quaternion that tells a rotation


def sampled(path: Trajectory, frames: Frames, max_gap_s: float) -> Sampled:
    """`(T, 9)` x y z [m] and the 6D rotation of the point nearest to each row; `FILL` where a row has none.

    A point that is not finite or not turned at all is none, and nothing else takes its place.
    """
    if not has_clock(frames):
        return none(len(frames), FILL, NO_CLOCK)
    if not (path.ns > 0).any():
        return none(len(frames), FILL, "no stamps to align it by")
    target = frames.hardware_ns
    chosen = nearest(path.ns, target)
    near = (target != 0) & (chosen.residual_ns <= round(max_gap_s * NS_PER_S))
    used, at = np.unique(chosen.index[near], return_inverse=True)
    pose, sound = _poses(path.points[used, 1:])
    present, values = near.copy(), np.tile(FILL, (len(frames), 1))
    present[near] = sound[at]
    values[present] = pose[at][sound[at]]
    moved = displacement(chosen.residual_ns[present], np.sort(path.ns[path.ns > 0]))
    odd = int(np.count_nonzero(~np.isfinite(path.points[used, 1:]).all(axis=1)))
    return Sampled(values, present, bool(present.any()), odd, "no point near any frame", moved)


def _poses(points: Float64) -> tuple[Float32, Bool]:
    """Poses of points `(n, 7)` x y z and XYZW, and which of them are any."""
    place, sound = finite(points)
    sound &= np.linalg.norm(np.where(sound[:, None], points[:, 3:], 0.0), axis=1) >= SHORTEST
    turned = rot6_from_quaternion(np.where(sound[:, None], points[:, 3:], [0.0, 0.0, 0.0, 1.0]))
    return np.concatenate([place[:, :3], turned], axis=1).astype(np.float32), sound
