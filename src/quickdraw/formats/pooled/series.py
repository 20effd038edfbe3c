"""Samples that come at their own rate, of all rows of a data file: IMU, trajectory, force (contract 7.2 and 7.3).

Rows only carry them: each sample has its own stamp, int64 [ns], and says which row it hung on. A stamp of 0 is none.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from quickdraw.core.grid import Float64, Int64
from quickdraw.formats.pooled import columns
from quickdraw.formats.pooled.arrow_arrays import Ragged
from quickdraw.formats.pooled.data import DataFile
from quickdraw.formats.pooled.matrices import Opened

KEY_TYPES: Final = {name: columns.KEYS[name] for name in ("frame_index", "timestamp", "wall_time", "hardware_ns")}


class Imu(NamedTuple):
    """`ts_ns` `(n,)` int64; `values` `(n, 6)` float32, gyroscope xyz and accelerometer xyz; `row` `(n,)` int64."""

    ts_ns: Int64
    values: npt.NDArray[np.float32]
    row: Int64


class Trajectory(NamedTuple):
    """`ns` `(n,)` int64, 0 where a point has no stamp; `points` `(n, 8)` float64, t [s] x y z [m] and XYZW; `row`."""

    ns: Int64
    points: Float64
    row: Int64


class Force(NamedTuple):
    """`mn` `(T, 3)` float32 [mN] of each row, and its stamp `ns` `(T,)` int64: 0 means that the row has no sample.

    A force of zero and no sample look the same otherwise. Before v1.3.3 there are no stamps: `ns` is None.
    """

    mn: npt.NDArray[np.float32]
    ns: Int64 | None


def imu(data: DataFile) -> Imu:
    """Every IMU sample of an episode; none where it has no such column.

    Raises Refused where a row has not one stamp for each sample, or the columns are not what the contract says.
    """
    pair = {name: columns.arrow_type(name) for name in (columns.IMU_STAMPS, columns.IMU)}
    if not pair.keys() & set(data.names):
        none = np.zeros(0, np.int64)
        return Imu(none, np.zeros((0, columns.IMU_AXES), np.float32), none)
    data.require(pair)
    _, found = data.read([], list(pair))
    stamps, values = found[columns.IMU_STAMPS], found[columns.IMU]
    _refuse_unpaired(data, columns.IMU, stamps, values)
    return Imu(stamps.values, data.wide(columns.IMU, values.values, columns.IMU_AXES), stamps.rows)


def trajectory(data: DataFile, gripper: int = 1) -> Trajectory:
    """Every point of a gripper's path; none where it has no such column. A column without stamps has stamps of 0.

    The seven numbers a row of older files (`slam_pose`) are not read: a quarter of them stand for no pose. Raises
    Refused where points and stamps do not pair, or the columns are not what the contract says.
    """
    name = columns.trajectory(gripper)
    if name not in data:
        none = np.zeros(0, np.int64)
        return Trajectory(none, np.zeros((0, columns.POINT_VALUES)), none)
    names = [each for each in (name, f"{name}_ns") if each in data]
    data.require({each: columns.arrow_type(each) for each in names})
    _, found = data.read([], names)
    flat = found[name]
    if (flat.lengths % columns.POINT_VALUES).any():
        row = int(np.flatnonzero(flat.lengths % columns.POINT_VALUES)[0])
        raise data.refusal(name, f"{flat.lengths[row]} values in row {row}", f"{columns.POINT_VALUES} a point")
    points = Ragged(flat.values.reshape(-1, columns.POINT_VALUES), flat.offsets // columns.POINT_VALUES)
    stamps = found.get(f"{name}_ns", Ragged(np.zeros(len(points.values), np.int64), points.offsets))
    _refuse_unpaired(data, name, stamps, points)
    return Trajectory(stamps.values, points.values, points.rows)


def force(data: DataFile, column: str) -> Force:
    """A column of forces, `(T, 3)`. Raises Refused where it is missing or not what the contract says."""
    names = [column, *([f"{column}_ns"] if f"{column}_ns" in data else [])]
    data.require({name: columns.arrow_type(name) for name in names})
    found, _ = data.read(names)
    return Force(data.wide(column, found[column], 3), found.get(f"{column}_ns"))


def force_of_matrices(matrices: Opened, scale: int) -> Force:
    """What the matrices of a column sum up to, row by row, for recordings that have no force. Raises as its `cells`."""
    mn, ns = [], []
    for stamp, matrix in matrices.cells(scale):
        mn.append(np.zeros(3) if matrix is None else matrix.sum(axis=(0, 1), dtype=np.float64))
        ns.append(0 if matrix is None else stamp)
    return Force(np.array(mn, np.float32).reshape(-1, 3), np.array(ns, np.int64) if matrices.stamped else None)


def _refuse_unpaired(data: DataFile, name: str, stamps: Ragged, values: Ragged) -> None:
    bad = np.flatnonzero(stamps.lengths != values.lengths)
    if len(bad):
        row = int(bad[0])
        found = f"{values.lengths[row]} samples and {stamps.lengths[row]} stamps in row {row}"
        raise data.refusal(name, found, "one stamp a sample")
