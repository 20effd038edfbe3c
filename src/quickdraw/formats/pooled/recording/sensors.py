"""What sensors of a recording deliver: which column each sample goes to, and which shapes it may have (contract 7.2).

What has a wrong length or a non-finite value is dropped and counted: a sensor's hiccup must not end a recording. What
names no sensor, side or gripper, and a stamp that is none, is the caller's fault, and raised.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from quickdraw.formats.pooled import columns
from quickdraw.formats.pooled.force_matrix import Flat
from quickdraw.formats.pooled.recording.imu_windows import ImuWindows
from quickdraw.formats.pooled.recording.matrix_columns import MatrixColumns
from quickdraw.formats.pooled.recording.samples import Samples, delivered, finite
from quickdraw.formats.pooled.recording.stamps import whole_ns, whole_ns_array

SENSOR = re.compile(r"[^.\s/]+")
SIDES = ("left", "right")


class Sensors:
    """Where samples come in, from any thread. All are copied; ones between episodes are dropped."""

    def __init__(self, force_spec: str, fps: float) -> None:
        self._samples, self._imu, self._matrices = Samples(), ImuWindows(fps), MatrixColumns(force_spec)

    def add_imu(self, ts_ns: Any, values: Any) -> None:
        """Inertial samples `(n, 6)` [gx gy gz ax ay az], stamped `(n,)` [ns] by the clock of `hardware_ns`.

        Whichever finds no row, before the first, after the last or more than a second late, is left out and counted.
        """
        self._imu.add(ts_ns, values)

    def add_glove(self, sensor: str, values: Any) -> None:
        """A tactile picture `(16, 16)` or its `(256,)`, row-major."""
        name = _glove_column(sensor)
        self._samples.latest(name, values, [(columns.GLOVE_VALUES,), (16, 16)])

    def add_glove_imu(self, sensor: str, quat: Any, valid: Any) -> None:
        """Orientations `(16, 4)` x y z w of a glove's sensors, and which of them are valid `(16,)` 0 or 1."""
        name = _glove_column(sensor)
        episode = self._samples.episode
        pair = finite(quat, [(16, 4), (64,)]), finite(valid, [(16,)])
        if pair[0] is None or pair[1] is None:
            self._samples.reject(f"{name}_imu_quat")
        else:
            self._samples.keep({f"{name}_imu_quat": pair[0], f"{name}_imu_valid": pair[1]}, episode)

    def add_force(self, side: str, values: Any, ns: Any, *, gripper: int = 1) -> None:
        """A force `(3,)` [mN] and its host-monotonic stamp [ns], 0 or None where it has none."""
        name = columns.force(_side(side), gripper)
        self._samples.latest(name, values, [(3,)], {f"{name}_ns": whole_ns(ns)})

    def add_force_matrix(self, side: str, matrix: Any, ns: Any, *, gripper: int = 1, spec: str | None = None) -> None:
        """A whole matrix `(250, 250, 3)` [mN], encoded here and now: the caller may reuse its buffer.

        By `spec`, or by the recorder's `force_spec` where that is None:

        - int16: +-32767 mN in steps of 1 mN, fractions cut off
        - int16x10: +-3276.7 mN in steps of 0.1 mN
        - int16x100: +-327.67 mN in steps of 0.01 mN, the default
        - int16x1000: +-32.767 mN in steps of 0.001 mN
        - float32: every value as it is, twice the bytes before compression

        What is beyond the range is cut off there and the matrix counted (`<column>_saturated_count` in `drop_stats`).
        Raises ValueError where the column was recorded by another spec in this episode.
        """
        name = columns.matrix(_side(side), gripper)
        self._matrix(name, ns, lambda matrices: matrices.encoded(name, matrix, spec))

    def add_encoded_matrix(self, side: str, flat: Any, ns: Any, *, gripper: int = 1, spec: str | None = None) -> None:
        """A matrix as its column stores it, `(187500,)` numbers in a list or an array.

        Raises ValueError where the column was recorded by another spec, or the numbers are not of this one.
        """
        name = columns.matrix(_side(side), gripper)
        self._matrix(name, ns, lambda matrices: matrices.checked(name, flat, spec))

    def add_gripper_state(self, values: Any, *, gripper: int = 1) -> None:
        """A gripper's state `(3,)`: how far open [%], whether it grips, its force [mN]."""
        self._samples.latest(columns.state(gripper), values, [(3,)])

    def add_trajectory(self, points: Any, ns: Any = None, *, gripper: int = 1) -> None:
        """Points `(n, 8)` t x y z qx qy qz qw and their stamps `(n,)` [ns], 0 or None for one that has none."""
        name = columns.trajectory(gripper)
        path = delivered(points, np.float64)
        count = len(path) if path is not None and path.ndim else 0
        stamps = np.zeros(count, np.int64) if ns is None else whole_ns_array(ns)
        if path is None or path.shape != (len(stamps), columns.POINT_VALUES):
            self._samples.reject(name, max(count, 1))
            return
        sound = np.isfinite(path).all(axis=1)
        self._samples.reject(name, int((~sound).sum()))
        self._samples.points(name, path[sound], stamps[sound])

    def add_hand_pose(self, side: str, points: Any) -> None:
        """A hand's points `(21, 3)` [m]."""
        self._samples.latest(f"observation.{_side(side)}_hand_pose", points, [(21, 3), (columns.HAND_POSE_VALUES,)])

    def set_status(self, device: str, text: str) -> None:
        """A device's state, from the next row on until it is told anew, between episodes too."""
        self._samples.status(device, text)

    def _matrix(self, name: str, ns: Any, encoded: Callable[[MatrixColumns], Flat | None]) -> None:
        # In this order, as `begin` replaces them in the other: a sample of this episode is of its columns.
        stamp, episode, matrices = whole_ns(ns), self._samples.episode, self._matrices
        if not episode:
            return
        flat = encoded(matrices)
        if flat is None:
            self._samples.reject(name)
        elif flat.size:
            self._samples.keep({name: flat, f"{name}_ns": stamp}, episode)


def _side(side: str) -> str:
    if side not in SIDES:
        raise ValueError(f"side {side!r}; it is one of {', '.join(SIDES)}")
    return side


def _glove_column(sensor: str) -> str:
    name = f"observation.{sensor}"
    if not (SENSOR.fullmatch(sensor) and columns.is_glove(name)):
        raise ValueError(f"sensor {sensor!r} would take a column the contract has another meaning for")
    return name
