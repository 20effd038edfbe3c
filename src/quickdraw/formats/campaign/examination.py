"""A run looked at from every side, before a picture is decoded: what is in it, and everything that is wrong with it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from quickdraw.core.grid import Grid, Int64, common_window, grid_over
from quickdraw.errors import Fault, Refused
from quickdraw.formats.campaign import layout
from quickdraw.formats.campaign.acceptance import Acceptance
from quickdraw.formats.campaign.checks import camera_faults, camera_warnings, metadata_faults, metadata_warnings
from quickdraw.formats.campaign.health import Vitals, health_faults, health_warnings
from quickdraw.formats.campaign.layout import CAMERAS
from quickdraw.formats.campaign.reader import Arm, Controller, RunInfo, RunReader
from quickdraw.formats.campaign.records import FrameTimes
from quickdraw.formats.campaign.timing import Timeline, coverage_faults, gap_faults, window_faults
from quickdraw.video.container import ContainerHeader
from quickdraw.video.films import film_faults, read_film


@dataclass(frozen=True, slots=True)
class Filmed:
    """One camera of a run: what was noted down beside its pictures, and the headers of the mp4 they are in."""

    times: FrameTimes
    film: ContainerHeader


@dataclass(frozen=True, slots=True)
class Run:
    """Everything of a run that can be read, on the grid of the window its streams share."""

    info: RunInfo
    controller: Controller
    arm: Arm
    cameras: Mapping[str, Filmed]
    timelines: tuple[Timeline, ...]
    window_ns: tuple[int, int]
    grid: Grid

    def digest(self) -> str:
        """Of what was recorded, however it is written down: streams and stamps."""
        arm, sha256 = self.arm, hashlib.sha256()
        values = (self.controller.axes, arm.world_xyz_mm, arm.base_rpy_deg, arm.gripper_counts, arm.joints_deg)
        for array in (*(line.t_ns for line in self.timelines), *values):
            sha256.update(str(array.shape).encode())
            sha256.update(array.tobytes())
        return sha256.hexdigest()


@dataclass(frozen=True, slots=True)
class Examination:
    """A run, as far as it could be read: whole, or with the faults that say why not."""

    info: RunInfo | None
    run: Run | None
    faults: tuple[Fault, ...]
    warnings: tuple[str, ...]


def examine(reader: RunReader, rate_hz: int, acceptance: Acceptance) -> Examination:
    """Read a run and find every fault of it. With `run` set and no faults it may be built, at `rate_hz`."""
    examiner = _Examiner(reader, rate_hz, acceptance)
    info, run = examiner.look()
    return Examination(info, run, tuple(examiner.faults), tuple(examiner.warnings))


@dataclass(slots=True)
class _Examiner:
    """One look at a run. What cannot be read is None, or not among the others, and its faults are added to `faults`."""

    reader: RunReader
    rate_hz: int
    acceptance: Acceptance
    faults: list[Fault] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def look(self) -> tuple[RunInfo | None, Run | None]:
        """run.json, the streams, the cameras, then how they lie in time."""
        where, info = self.reader.where, self._attempt(self.reader.info)
        if info is not None:
            self.faults += metadata_faults(where, info, self.acceptance)
            self.warnings += metadata_warnings(info)
        controller, arm = self._attempt(self.reader.controller), self._attempt(self.reader.arm)
        times, stamps_ns, films = dict[str, FrameTimes](), dict[str, Int64](), dict[str, ContainerHeader]()
        for name in CAMERAS:
            self._look_at_camera(name, times, stamps_ns, films)
        if controller is None or arm is None or len(stamps_ns) < len(CAMERAS):
            return info, None
        timelines = tuple(self._timelines(controller, arm, stamps_ns))
        window_ns = self._window_ns(timelines, controller, arm)
        if window_ns is None or info is None or len(films) < len(CAMERAS):
            return info, None
        cameras = {name: Filmed(times[name], films[name]) for name in CAMERAS}
        return info, Run(info, controller, arm, cameras, timelines, window_ns, grid_over(*window_ns, self.rate_hz))

    def _look_at_camera(
        self, name: str, times: dict[str, FrameTimes], stamps_ns: dict[str, Int64], films: dict[str, ContainerHeader]
    ) -> None:
        """Put what can be read of a camera to that of the others."""
        where, reader = self.reader.where, self.reader
        film = self._attempt(lambda: read_film(where, name, reader.video(name)))
        told = self._attempt(partial(reader.sidecar, name))
        if told is not None:
            times[name] = told
            self.faults += camera_faults(where, self._path(layout.stamps_file(name)), told, self.acceptance)
            self.warnings += camera_warnings(name, told)
            t_ns = self._attempt(partial(reader.stamps_ns, name, told))
            if t_ns is not None:
                stamps_ns[name] = t_ns
        if film is not None:
            films[name] = film
            stamps = len(told.t) if told is not None else 0
            self.faults += film_faults(where, film, stamps if stamps > 1 else None)  # fewer are a fault already

    def _timelines(self, controller: Controller, arm: Arm, stamps_ns: Mapping[str, Int64]) -> Iterator[Timeline]:
        yield Timeline("controller", self._path(layout.CONTROLLER), controller.t_ns, controller.t_ns)
        yield Timeline("arm_state", self._path(layout.ARM_STATE), arm.t_ns, arm.recorded_ns)
        for name, t_ns in stamps_ns.items():
            yield Timeline(name, self._path(layout.stamps_file(name)), t_ns, t_ns)

    def _window_ns(self, timelines: Sequence[Timeline], controller: Controller, arm: Arm) -> tuple[int, int] | None:
        """The window all streams share, with what is wrong with it and inside it; None where they share none."""
        where = self.reader.where
        unshared = window_faults(where, timelines)
        if unshared:
            self.faults += unshared
            return None
        window_ns = common_window(line.t_ns for line in timelines)
        self.faults += coverage_faults(where, timelines, self.acceptance)
        self.faults += gap_faults(where, timelines, grid_over(*window_ns, self.rate_hz), self.acceptance)
        for file, t_ns, health in (
            (layout.ARM_STATE, arm.recorded_ns, arm.health),
            (layout.CONTROLLER, controller.t_ns, controller.health),
        ):
            vitals = Vitals(self._path(file), t_ns, health).within(*window_ns)
            self.faults += health_faults(where, vitals, self.acceptance)
            self.warnings += health_warnings(vitals, self.acceptance)
        return window_ns

    def _attempt[T](self, read: Callable[[], T]) -> T | None:
        try:
            return read()
        except Refused as refused:
            self.faults.extend(refused.faults)
            return None

    def _path(self, file: str) -> str:
        return str(self.reader.folder / file)
