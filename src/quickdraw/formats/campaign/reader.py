"""One raw run from disk to arrays: the two streams and the stamps the dataset is made of, nothing else.

`commanded`, `xarm_command` and `tick` are left out on purpose: they are consequences of the action and would leak it.
Stamps are int64 nanoseconds on the collector's one clock. Every fault of a run is found before any is raised.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from quickdraw.core.episode import EpisodeKey
from quickdraw.core.grid import Float64, Int64, to_ns
from quickdraw.errors import Fault, Refused
from quickdraw.formats.campaign import layout
from quickdraw.formats.campaign.records import (
    ArmRow,
    ControllerRow,
    FrameTimes,
    Gripper,
    RunJson,
    line_number,
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
class RawRun:
    """One run. `mended` counts what was left out or smoothed on the way in, by reason."""

    key: EpisodeKey
    controller: Controller
    arm: Arm
    cameras: dict[str, Camera]
    world_from_base: Float64 | None
    gripper: Gripper
    provenance: dict[str, Any]
    mended: dict[str, int]

    def stamps_ns(self) -> dict[str, Int64]:
        """Stream name -> `(N,)` int64 stamps [ns]: controller, arm_state, then the cameras."""
        cameras = {name: camera.t_ns for name, camera in self.cameras.items()}
        return {"controller": self.controller.t_ns, "arm_state": self.arm.t_ns, **cameras}


def read_run(tree: Path, key: EpisodeKey) -> RawRun:
    """Read `<tree>/<campaign>/<run>`. Raises Refused with every fault of the run."""
    return _Reading(tree / key.campaign / key.run, key).run()


def read_camera(tree: Path, key: EpisodeKey, camera: str) -> Camera:
    """Read one camera's stamps alone. Raises Refused."""
    return _Reading(tree / key.campaign / key.run, key).camera(camera)


class _Reading:
    """One pass over a run's files, gathering faults and counts on the way."""

    def __init__(self, folder: Path, key: EpisodeKey) -> None:
        self.folder, self.key, self.where = folder, key, str(key)
        self.mended: dict[str, int] = {}

    def run(self) -> RawRun:
        faults: list[Fault] = []

        def attempt[T](read: Callable[[], T]) -> T | None:
            try:
                return read()
            except Refused as refused:
                faults.extend(refused.faults)
                return None

        meta = attempt(lambda: read_document(self.folder / layout.RUN_JSON, self.where, RunJson))
        controller = attempt(self.controller)
        arm = attempt(self.arm)
        cameras = {name: attempt(lambda name=name: self.camera(name)) for name in layout.CAMERAS}  # type: ignore[misc]
        if meta is None or controller is None or arm is None or faults:
            raise Refused(faults)
        matrix = _matrix(meta.provenance.R_WORLD_FROM_BASE)
        return RawRun(
            key=self.key,
            controller=controller,
            arm=arm,
            cameras={name: camera for name, camera in cameras.items() if camera is not None},
            world_from_base=matrix,
            gripper=meta.provenance.config.gripper,
            provenance=_provenance(meta, matrix),
            mended=self.mended,
        )

    def controller(self) -> Controller:
        path = self.folder / layout.CONTROLLER
        rows, torn = read_rows(path, self.where, ControllerRow)
        self.count("controller torn last line", torn)
        table = np.array([[row.t, *(getattr(row, axis) for axis in AXES)] for row in rows], np.float64)
        self.refuse_nan(path, ("t", *AXES), table)
        return Controller(self.ordered(path, table[:, 0]), table[:, 1:])

    def arm(self) -> Arm:
        path = self.folder / layout.ARM_STATE
        rows, torn = read_rows(path, self.where, ArmRow)
        self.count("arm_state torn last line", torn)
        self.refuse_wrong_lengths(path, rows)
        complete = [row for row in rows if all(len(getattr(row, name)) == width for name, width in WIDTHS.items())]
        table = np.array(
            [[row.t, row.gripper_pos, *row.pose_world_xyz_mm, *row.pose_base_mm_deg, *row.joints_real_deg]
             for row in complete], np.float64).reshape(len(complete), 18)  # fmt: skip
        whole = table[np.isfinite(table).all(axis=1)]
        self.count("arm_state rows without a needed field", len(rows) - len(whole))
        if not len(whole):
            raise Refused([self.fault(path, "rows", f"{len(rows)} rows, none with every needed field",
                                      f"gripper_pos, {', '.join(WIDTHS)} in one row")])  # fmt: skip
        return Arm(self.ordered(path, whole[:, 0]), whole[:, 2:5], whole[:, 8:11], whole[:, 1], whole[:, 11:18])

    def camera(self, name: str) -> Camera:
        video, path = self.folder / layout.video_file(name), self.folder / layout.stamps_file(name)
        faults = []
        if not video.is_file():
            there = ", ".join(sorted(p.name for p in video.parent.glob("*"))) or "nothing"
            faults.append(self.fault(video, name, f"no video (there is: {there})", "an mp4 per camera"))
        try:
            times = read_document(path, self.where, FrameTimes)
        except Refused as refused:
            raise Refused([*faults, *refused.faults]) from refused
        if times.error:
            faults.append(self.fault(path, "error", repr(times.error), "no camera error"))
        if len(times.t) < 2:
            faults.append(self.fault(path, "t", f"{len(times.t)} stamps", "at least 2"))
        if faults:
            raise Refused(faults)
        return Camera(self.ordered(path, np.array(times.t, np.float64)), video, times.timestamp_source)

    def ordered(self, path: Path, t_s: Float64) -> Int64:
        """Stamps in nanoseconds; small backward steps are smoothed by a running maximum and counted."""
        if not np.isfinite(t_s).all():
            raise Refused([self.fault(path, "t", f"NaN at stamp {int(np.argmin(np.isfinite(t_s)))}", "finite seconds")])
        far = int(np.argmax(np.abs(t_s)))
        if abs(t_s[far]) > MAX_TIME_S:
            raise Refused([self.fault(path, "t", f"{t_s[far]} at stamp {far}", "seconds on the collector's clock")])
        t_ns = to_ns(t_s)
        highest = np.maximum.accumulate(t_ns)
        worst = int(np.argmax(highest - t_ns))
        if highest[worst] - t_ns[worst] > MAX_BACKWARD_NS:
            found = f"stamp {worst} {(highest[worst] - t_ns[worst]) / 1e6:.1f} ms before an earlier one"
            raise Refused([self.fault(path, "t", found, "stamps that do not run backwards by more than 50 ms")])
        self.count(f"{path.name} backward stamps", int(np.count_nonzero(highest > t_ns)))
        return highest

    def refuse_nan(self, path: Path, names: tuple[str, ...], table: Float64) -> None:
        """Every column of `(N, D)` must be finite."""
        faults = []
        for column, name in enumerate(names):
            bad = np.flatnonzero(~np.isfinite(table[:, column]))
            if len(bad):
                more = f" (and {len(bad) - 1} more rows)" if len(bad) > 1 else ""
                line = line_number(path, int(bad[0]))
                faults.append(Fault(self.where, name, f"NaN or infinite{more}", "a number", path=str(path), line=line))
        if faults:
            raise Refused(faults)

    def refuse_wrong_lengths(self, path: Path, rows: list[ArmRow]) -> None:
        """A list field is empty (that read failed) or whole."""
        faults = []
        for name, width in WIDTHS.items():
            lengths = [len(getattr(row, name)) for row in rows]
            bad = [row for row, length in enumerate(lengths) if length not in (0, width)]
            if bad:
                more = f" (and {len(bad) - 1} more rows)" if len(bad) > 1 else ""
                faults.append(Fault(self.where, name, f"{lengths[bad[0]]} numbers{more}", f"{width} numbers, or none",
                                    path=str(path), line=line_number(path, bad[0])))  # fmt: skip
        if faults:
            raise Refused(faults)

    def fault(self, path: Path, field: str, found: str, expected: str) -> Fault:
        return Fault(self.where, field, found, expected, path=str(path))

    def count(self, reason: str, times: int) -> None:
        if times:
            self.mended[reason] = times


def _matrix(rows: list[list[float]] | None) -> Float64 | None:
    """A 3x3 matrix, or None where there is none of that shape."""
    return np.array(rows, np.float64) if rows and [len(row) for row in rows] == [3, 3, 3] else None


def _provenance(meta: RunJson, matrix: Float64 | None) -> dict[str, Any]:
    levels = [check.level for check in meta.validation.checks]
    return {
        "status": meta.status,
        "stopped_by": meta.stopped_by,
        "git_sha": meta.provenance.git_sha,
        "mount_hash": None if matrix is None else hashlib.sha256(matrix.tobytes()).hexdigest()[:12],
        "validation": {level: levels.count(level) for level in ("pass", "warn", "fail")},
    }
