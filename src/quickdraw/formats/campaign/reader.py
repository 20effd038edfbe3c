"""One raw run from disk to arrays: the two streams and the stamps the dataset is made of, nothing else.

`commanded`, `xarm_command` and `tick` are left out on purpose: they are consequences of the action and would leak it.
Stamps are int64 nanoseconds on the collector's one clock.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from quickdraw.core.episode import EpisodeKey
from quickdraw.core.grid import Float64, Int64, to_ns
from quickdraw.errors import Fault, Refused
from quickdraw.formats.campaign import layout
from quickdraw.formats.campaign.records import (
    ArmRow,
    ControllerRow,
    FrameTimes,
    Gripper,
    Rows,
    RunJson,
    read_document,
    read_rows,
)

MAX_BACKWARD_NS = 50_000_000  # stamps of mixed sources step back by up to the read lag (about 21 ms); more is a fault
MAX_TIME_S = 4e9  # beyond any clock in seconds; what is larger is in another unit, and would overflow nanoseconds
AXES = ("move_x", "move_y", "height", "yaw", "gripper")
WIDTHS = {"pose_world_xyz_mm": 3, "pose_base_mm_deg": 6, "joints_real_deg": 7}


@dataclass(frozen=True, slots=True)
class Controller:
    """controller.jsonl: `t_ns` `(N,)` int64, `axes` `(N, 5)` float64 in the order of `AXES`."""

    t_ns: Int64
    axes: Float64


@dataclass(frozen=True, slots=True)
class Arm:
    """arm_state.jsonl, rows with every needed field: all of `(N, ...)` float64 but `t_ns` `(N,)` int64."""

    t_ns: Int64
    world_xyz_mm: Float64
    base_rpy_deg: Float64
    gripper_counts: Float64
    joints_deg: Float64


@dataclass(frozen=True, slots=True)
class Camera:
    """One camera: `t_ns` `(N,)` int64, one capture stamp per picture of the file `video`."""

    t_ns: Int64
    video: Path
    timestamp_source: str | None


@dataclass(frozen=True, slots=True)
class RunInfo:
    """run.json: the mount matrix `(3, 3)` where one was recorded, the gripper's range, and what provenance keeps."""

    path: str
    world_from_base: Float64 | None
    gripper: Gripper
    provenance: dict[str, Any]


class RunReader:
    """One run's files. Each method reads one of them and raises Refused with all that is wrong with it.

    `mended` counts what the methods called so far left out or smoothed, by reason.
    """

    def __init__(self, tree: Path, key: EpisodeKey) -> None:
        self.folder, self.where = tree / key.campaign / key.run, str(key)
        self.mended: dict[str, int] = {}

    def info(self) -> RunInfo:
        """run.json."""
        path = self.folder / layout.RUN_JSON
        document = read_document(path, self.where, RunJson)
        matrix = _matrix(document.provenance.R_WORLD_FROM_BASE)
        return RunInfo(str(path), matrix, document.provenance.config.gripper, _provenance(document, matrix))

    def controller(self) -> Controller:
        """controller.jsonl."""
        path = self.folder / layout.CONTROLLER
        read = read_rows(path, self.where, ControllerRow)
        names = ("t", *AXES)
        table = np.array([[getattr(row, name) for name in names] for row in read.rows], np.float64)
        table = table.reshape(len(read.rows), len(names))
        faults = [*read.faults, *self._nan_faults(path, read, names, table)]
        if faults:
            raise Refused(faults)
        self._count("controller torn last line", read.torn)
        return Controller(self._ordered(path, table[:, 0]), table[:, 1:])

    def arm(self) -> Arm:
        """arm_state.jsonl; rows in which a needed read failed are dropped whole."""
        path = self.folder / layout.ARM_STATE
        read = read_rows(path, self.where, ArmRow)
        faults = [*read.faults, *self._length_faults(path, read)]
        if faults:
            raise Refused(faults)
        complete = [row for row in read.rows if all(len(getattr(row, name)) == width for name, width in WIDTHS.items())]
        table = np.array(
            [[row.t, row.gripper_pos, *row.pose_world_xyz_mm, *row.pose_base_mm_deg, *row.joints_real_deg]
             for row in complete], np.float64).reshape(len(complete), 18)  # fmt: skip
        whole = table[_representable(table).all(axis=1)]
        if not len(whole):
            found = f"{len(read.rows)} rows, none with every needed field"
            raise Refused([self._fault(path, "rows", found, f"gripper_pos, {', '.join(WIDTHS)} in one row")])
        self._count("arm_state torn last line", read.torn)
        self._count("arm_state rows without a needed field", len(read.rows) - len(whole))
        return Arm(self._ordered(path, whole[:, 0]), whole[:, 2:5], whole[:, 8:11], whole[:, 1], whole[:, 11:18])

    def camera(self, name: str) -> Camera:
        """A camera's stamps; that its video is there, not what is in it."""
        video, path = self.folder / layout.video_file(name), self.folder / layout.stamps_file(name)
        faults = []
        if not video.is_file():
            there = ", ".join(sorted(p.name for p in video.parent.glob("*"))) or "nothing"
            faults.append(self._fault(video, name, f"no video (there is: {there})", "an mp4 per camera"))
        try:
            times = read_document(path, self.where, FrameTimes)
        except Refused as refused:
            raise Refused([*faults, *refused.faults]) from refused
        if times.error:
            faults.append(self._fault(path, "error", repr(times.error), "no camera error"))
        if len(times.t) < 2:
            faults.append(self._fault(path, "t", f"{len(times.t)} stamps", "at least 2"))
        if faults:
            raise Refused(faults)
        return Camera(self._ordered(path, np.array(times.t, np.float64)), video, times.timestamp_source)

    def _ordered(self, path: Path, t_s: Float64) -> Int64:
        """Stamps in nanoseconds; small backward steps are smoothed by a running maximum and counted."""
        finite = np.isfinite(t_s)
        if not finite.all():
            raise Refused([self._fault(path, "t", f"NaN at stamp {int(np.argmin(finite))}", "finite seconds")])
        far = int(np.argmax(np.abs(t_s)))
        if abs(t_s[far]) > MAX_TIME_S:
            raise Refused([self._fault(path, "t", f"{t_s[far]} at stamp {far}", "seconds on the collector's clock")])
        t_ns = to_ns(t_s)
        highest = np.maximum.accumulate(t_ns)
        worst = int(np.argmax(highest - t_ns))
        if highest[worst] - t_ns[worst] > MAX_BACKWARD_NS:
            found = f"stamp {worst} {(highest[worst] - t_ns[worst]) / 1e6:.1f} ms before an earlier one"
            raise Refused([self._fault(path, "t", found, "stamps that do not run backwards by more than 50 ms")])
        self._count(f"{path.name} backward stamps", int(np.count_nonzero(highest > t_ns)))
        return highest

    def _nan_faults(
        self, path: Path, read: Rows[ControllerRow], names: Sequence[str], table: Float64
    ) -> Iterator[Fault]:
        """Columns of `table` `(N, D)`, one per name, that are not finite throughout."""
        for column, name in enumerate(names):
            bad = np.flatnonzero(~_representable(table[:, column]))
            if len(bad):
                found = f"NaN or infinite{_more(len(bad))}"
                yield replace(self._fault(path, name, found, "a number"), line=read.line(int(bad[0])))

    def _length_faults(self, path: Path, read: Rows[ArmRow]) -> Iterator[Fault]:
        """List fields that are neither empty (that read failed) nor whole."""
        for name, width in WIDTHS.items():
            lengths = [len(getattr(row, name)) for row in read.rows]
            bad = [row for row, length in enumerate(lengths) if length not in (0, width)]
            if bad:
                found = f"{lengths[bad[0]]} numbers{_more(len(bad))}"
                fault = self._fault(path, name, found, f"{width} numbers, or none")
                yield replace(fault, line=read.line(bad[0]))

    def _fault(self, path: Path, field: str, found: str, expected: str) -> Fault:
        return Fault(self.where, field, found, expected, path=str(path))

    def _count(self, reason: str, times: int) -> None:
        if times:
            self.mended[reason] = times


def _representable(values: Float64) -> npt.NDArray[np.bool_]:
    """Which numbers, of any shape, are finite as the float32 they will be published in."""
    with np.errstate(over="ignore"):
        return np.isfinite(values.astype(np.float32))


def _more(rows: int) -> str:
    return f" (and {rows - 1} more rows)" if rows > 1 else ""


def _matrix(rows: list[list[float]] | None) -> Float64 | None:
    """A 3x3 matrix, or None where there is none of that shape."""
    return np.array(rows, np.float64) if rows and [len(row) for row in rows] == [3, 3, 3] else None


def _provenance(document: RunJson, matrix: Float64 | None) -> dict[str, Any]:
    levels = [check.level for check in document.validation.checks]
    return {
        "status": document.status,
        "stopped_by": document.stopped_by,
        "git_sha": document.provenance.git_sha,
        "mount_hash": None if matrix is None else hashlib.sha256(matrix.tobytes()).hexdigest()[:12],
        "validation": {level: levels.count(level) for level in ("pass", "warn", "fail")},
    }
