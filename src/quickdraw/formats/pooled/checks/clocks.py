"""Rules of an episode's two clocks: which kind the hardware's is, steps back, and holes (contract 7.1, 7.3)."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from quickdraw.formats.pooled.checks.data import Data
from quickdraw.formats.pooled.checks.findings import Checking, listed
from quickdraw.formats.pooled.checks.info import MOST
from quickdraw.formats.pooled.clock import ClockClass, classify, fold, unwrap32

HOLE_MS: Final = 100.0  # more than a frame's time, between two frames

type Clock = npt.NDArray[Any]


def check_clocks(checking: Checking, data: Data) -> None:
    """Rules of `hardware_ns`, `wall_time` and `timestamp` of a file whose frame numbers are sound."""
    frames, hardware_ns = data.frame_index, data.keys.get("hardware_ns")
    if frames is None or hardware_ns is None:
        return
    kind = classify(hardware_ns)
    if kind is ClockClass.NONE:
        checking.add("clock-none", data.path, "hardware_ns is 0 in every row", data.number)
    elif kind is ClockClass.TRUNC32:
        found = f"hardware_ns lies within 32 bits (to {abs(hardware_ns).max()} ns)"
        checking.add("clock-truncated", data.path, found, data.number)
        hardware_ns = unwrap32(hardware_ns)
    leads = np.concatenate([[True], frames[1:] != frames[:-1]])
    if not leads.all():
        _check_fold(checking, data)
    with np.errstate(all="ignore"):  # a stamp may be any number
        _check_steps(checking, data, _steps_ms(data, leads, hardware_ns))


def _steps_ms(data: Data, leads: Clock, hardware_ns: Clock) -> dict[str, tuple[Clock, Clock]]:
    """The steps of each clock between frames [ms], and the row each starts from, the last one's too."""
    stamps_ms = {"hardware_ns": (hardware_ns / 1e6, hardware_ns != 0)}
    for name in ("wall_time", "timestamp"):
        if name in data.keys:
            stamps_ms[name] = (data.keys[name].astype(np.float64) * 1e3, np.isfinite(data.keys[name]))
    clocks = {name: (np.flatnonzero(leads & stamped), ms) for name, (ms, stamped) in stamps_ms.items()}
    return {name: (at, np.diff(ms[at])) for name, (at, ms) in clocks.items()}


def _check_fold(checking: Checking, data: Data) -> None:
    timestamp, frames = data.keys.get("timestamp"), data.frame_index
    if timestamp is not None and frames is not None:
        folded = fold(frames, timestamp, data.keys["hardware_ns"])
        if not folded.agrees:
            found = f"up to {folded.rows_per_frame} rows a frame that differ in their stamps"
            checking.add("frame-rows", data.path, found, data.number)


def _check_steps(checking: Checking, data: Data, steps_ms: dict[str, tuple[Clock, Clock]]) -> None:
    most_ms = 1000 / _slowest_fps(checking) + HOLE_MS
    holes = []
    for name, (rows, steps) in steps_ms.items():
        if not len(steps):
            continue
        if steps.min() < 0:
            back = rows[:-1][steps < 0]
            checking.add("clock-backwards", data.path, f"{name} steps back after row {listed(back)}", data.number)
        if steps.max() >= most_ms and name != "timestamp":
            at = int(steps.argmax())
            found = f"{name} {np.count_nonzero(steps >= most_ms)}, the longest {steps[at]:.0f} ms after row {rows[at]}"
            holes.append(found)
    if holes:
        checking.add("clock-hole", data.path, "holes: " + "; ".join(holes), data.number)


def _slowest_fps(checking: Checking) -> float:
    """Frames a second of the slowest camera: its own rate stands beside it only where it is another one."""
    cameras = checking.info.document.get("cameras", {}).values()
    own = [camera.get("fps") for camera in cameras if isinstance(camera, dict)]
    rates = [
        float(each) for each in own if isinstance(each, int | float) and not isinstance(each, bool) and 0 < each < MOST
    ]
    return min([checking.info.fps, *rates])
