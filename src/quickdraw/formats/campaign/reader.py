"""One raw run from disk to arrays: the two streams and the stamps the dataset is made of, nothing else.

`commanded`, `xarm_command` and `tick` are left out on purpose: they are consequences of the action and would leak it.
What is read here can be read; whether it may be built is for checks, films, timing and health to say.
Stamps are int64 nanoseconds on the collector's one clock.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
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
ARM_HEALTH = ("report_alive", "error_code", "mode")
WIDTHS = {"pose_world_xyz_mm": 3, "pose_base_mm_deg": 6, "joints_real_deg": 7}


@dataclass(frozen=True, slots=True)
class Controller:
    """controller.jsonl: `t_ns` `(N,)` int64, `axes` `(N, 5)` float64 in the order of `AXES`.

    `health` is of every row: `connected` `(N,)` float64, 1 or 0, NaN where the row does not say.
    """

    t_ns: Int64
    axes: Float64
    health: Mapping[str, Float64]


@dataclass(frozen=True, slots=True)
class Arm:
    """arm_state.jsonl, rows with every needed field: all of `(N, ...)` float64 but `t_ns` `(N,)` int64.

    `recorded_ns` `(M,)` int64 are the times of all rows, also of those that lack something, and `health` what these M
    rows say of the arm, `(M,)` float64 each: `report_alive` 1 or 0, `error_code`, `mode`; NaN where a row does not say.
    """

    t_ns: Int64
    world_xyz_mm: Float64
    base_rpy_deg: Float64
    gripper_counts: Float64
    joints_deg: Float64
    recorded_ns: Int64
    health: Mapping[str, Float64]


@dataclass(frozen=True, slots=True)
class Camera:
    """One camera: `t_ns` `(N,)` int64, one capture stamp per picture of the file `video`."""

    t_ns: Int64
    video: Path


@dataclass(frozen=True, slots=True)
class RunInfo:
    """run.json, the mount matrix `(3, 3)` where one was recorded, and what provenance keeps."""

    path: str
    document: RunJson
    world_from_base: Float64 | None
    provenance: dict[str, Any]

    @property
    def gripper(self) -> Gripper:
        """The gripper's range."""
        return self.document.provenance.config.gripper


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
        return RunInfo(str(path), document, matrix, _provenance(document, matrix))

    def controller(self) -> Controller:
        """controller.jsonl."""
        path = self.folder / layout.CONTROLLER
        read = read_rows(path, self.where, ControllerRow)
        names = ("t", *AXES)
        table = np.array(list(map(attrgetter(*names), read.rows)), np.float64).reshape(len(read.rows), len(names))
        faults = [*read.faults, *self._nan_faults(path, read, names, table)]
        if faults:
            raise Refused(faults)
        self._count("controller torn last line", read.torn)
        health = {"connected": _numbers(row.connected for row in read.rows)}
        return Controller(self._ordered(path, table[:, 0]), table[:, 1:], health)

    def arm(self) -> Arm:
        """arm_state.jsonl; rows in which a needed read failed are dropped whole."""
        path = self.folder / layout.ARM_STATE
        read = read_rows(path, self.where, ArmRow)
        faults = [*read.faults, *self._length_faults(path, read)]
        if faults:
            raise Refused(faults)
        complete = _with_lists(read.rows)
        table = np.column_stack([_numbers(row.t for row in complete), _numbers(row.gripper_pos for row in complete),
                                 *(_lists(complete, name) for name in WIDTHS)])  # fmt: skip
        whole = table[_representable(table).all(axis=1)]
        if not len(whole):
            raise Refused(self._absences(path, read))
        self._count("arm_state torn last line", read.torn)
        self._count("arm_state rows without a needed field", len(read.rows) - len(whole))
        t_ns, timed = self._ordered(path, whole[:, 0]), [row for row in read.rows if _is_time(row.t)]
        health = {name: _numbers(getattr(row, name) for row in timed) for name in ARM_HEALTH}
        recorded_ns = to_ns(_numbers(row.t for row in timed))
        return Arm(t_ns, whole[:, 2:5], whole[:, 8:11], whole[:, 1], whole[:, 11:18], recorded_ns, health)

    def camera(self, name: str) -> Camera:
        """A camera's stamps and where its pictures are."""
        return Camera(self.stamps_ns(name, self.sidecar(name)), self.video(name))

    def video(self, name: str) -> Path:
        """A camera's pictures, which must be there."""
        video = self.folder / layout.video_file(name)
        if not video.is_file():
            there = ", ".join(sorted(p.name for p in video.parent.glob("*"))) or "nothing"
            raise Refused([self._fault(video, name, f"no video (there is: {there})", "an mp4 per camera")])
        return video

    def sidecar(self, name: str) -> FrameTimes:
        """What the collector noted down beside a camera's pictures."""
        times = read_document(self.folder / layout.stamps_file(name), self.where, FrameTimes)
        self._count(f"{name} without a timestamp_source", int(times.timestamp_source is None))
        return times

    def stamps_ns(self, name: str, times: FrameTimes) -> Int64:
        """A camera's capture stamps `(N,)` int64."""
        path = self.folder / layout.stamps_file(name)
        if len(times.t) < 2:
            raise Refused([self._fault(path, "t", f"{len(times.t)} stamps", "at least 2")])
        return self._ordered(path, np.array(times.t, np.float64))

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
            lengths = _lengths(read.rows, name)
            bad = np.flatnonzero((lengths != 0) & (lengths != width))
            if len(bad):
                found = f"{lengths[bad[0]]} numbers{_more(len(bad))}"
                fault = self._fault(path, name, found, f"{width} numbers, or none")
                yield replace(fault, line=read.line(int(bad[0])))

    def _absences(self, path: Path, read: Rows[ArmRow]) -> Iterator[Fault]:
        """Which needed fields no row has; where each has its rows, that none has all of them."""
        rows, named = f"{len(read.rows)} rows", False
        for name in ("t", "gripper_pos", *WIDTHS):
            values = [getattr(row, name) for row in read.rows]
            if not any(v and None not in v if isinstance(v, list) else v is not None for v in values):
                named = True
                expected = f"{WIDTHS[name]} numbers a row" if name in WIDTHS else "a number a row"
                yield self._fault(path, name, f"in none of {rows}", expected)
        if not named:
            needed = f"t, gripper_pos, {', '.join(WIDTHS)} in one row"
            yield self._fault(path, "rows", f"{rows}, none with every needed field", needed)

    def _fault(self, path: Path, field: str, found: str, expected: str) -> Fault:
        return Fault(self.where, field, found, expected, path=str(path))

    def _count(self, reason: str, times: int) -> None:
        if times:
            self.mended[reason] = times


def _representable(values: Float64) -> npt.NDArray[np.bool_]:
    """Which numbers, of any shape, are finite as the float32 they will be published in."""
    with np.errstate(over="ignore"):
        return np.isfinite(values.astype(np.float32))


def _is_time(t_s: float | None) -> bool:
    return t_s is not None and abs(t_s) <= MAX_TIME_S


def _numbers(values: Iterable[float | None]) -> Float64:
    """`(N,)` float64, NaN for None."""
    return np.array([*values], np.float64)


def _lengths(rows: Sequence[ArmRow], name: str) -> Int64:
    """How many numbers a list field has in each row, `(N,)`."""
    return np.fromiter(map(len, map(attrgetter(name), rows)), np.int64, len(rows))


def _with_lists(rows: Sequence[ArmRow]) -> Sequence[ArmRow]:
    """The rows in which no list is missing."""
    whole = np.all([_lengths(rows, name) == width for name, width in WIDTHS.items()], axis=0)
    return rows if whole.all() else [row for row, is_whole in zip(rows, whole, strict=True) if is_whole]


def _lists(rows: Sequence[ArmRow], name: str) -> Float64:
    """A list field that is whole in every row, `(N, width)` float64, NaN for None."""
    return np.array(list(map(attrgetter(name), rows)), np.float64).reshape(len(rows), WIDTHS[name])


def _more(rows: int) -> str:
    return f" (and {rows - 1} more rows)" if rows > 1 else ""


def _matrix(rows: list[list[float]] | None) -> Float64 | None:
    """A 3x3 matrix, or None where there is none of that shape."""
    return np.array(rows, np.float64) if rows and [len(row) for row in rows] == [3, 3, 3] else None


def _provenance(document: RunJson, matrix: Float64 | None) -> dict[str, Any]:
    checks = document.validation.checks if document.validation else None
    levels = [check.level for check in checks or []]
    return {
        "status": document.status,
        "stopped_by": document.stopped_by,
        "git_sha": document.provenance.git_sha,
        "mount_hash": None if matrix is None else hashlib.sha256(matrix.tobytes()).hexdigest()[:12],
        "validation": {level: levels.count(level) for level in ("pass", "warn", "fail")},
    }
