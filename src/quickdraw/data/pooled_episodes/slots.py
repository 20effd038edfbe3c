"""The slots of an episode, by the files that are there, as cameras (contract 8).

A camera is a slot, or the name that slots are united under because a recorder renamed it. What a file holds its streams
tell, never the slot's name: `D435_depth_rgb` is colour.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from quickdraw.data.pooled_episodes.options import PooledOptions
from quickdraw.errors import Fault, VideoError
from quickdraw.formats.pooled.depth import FULL_RANGE, DepthVideo, depth_in
from quickdraw.formats.pooled.reader import Kind
from quickdraw.formats.pooled.scan import EpisodeFiles
from quickdraw.video.container import ContainerHeader
from quickdraw.video.copying import CopiedStream, read_stream
from quickdraw.video.cut_off import refuse_cut
from quickdraw.video.depth_encoding import LEAST_PX
from quickdraw.video.films import film_faults
from quickdraw.video.probing import streams
from quickdraw.video.times import Times, times_of

RATE_TOLERANCE: Final = 0.005  # of the frames a second a file tells, for it tells them as a quotient of ticks
UNITE: Final = "+source.slots.<name>=[a,b]"


@dataclass(frozen=True, slots=True)
class Shown:
    """A camera of an episode: what is in its file, in which stream of it, and when its pictures are shown.

    `times` are none where the camera is not shown. `rate_hz` is what the file tells on the average, 0 where nothing.
    `codes_range` is the colour range of depth in logarithmic codes, else "". `copied` are the facts of a stream that is
    to be copied, None where it is decoded; `header` is an mp4's.
    """

    camera: str
    slot: str
    kind: Kind
    path: Path
    stream: int
    height_px: int
    width_px: int
    rate_hz: float
    times: Times
    codes_range: str = ""
    copied: CopiedStream | None = None
    header: ContainerHeader | None = None

    @property
    def pictures(self) -> int:
        """How many it has."""
        return len(self.times)


def slots_of(files: EpisodeFiles, options: PooledOptions, where: str, root: Path) -> tuple[list[Shown], list[Fault]]:
    """The cameras of an episode that are shown, by name, and all that is wrong with them. `root` is the task's folder.

    Headers are read and no picture is decoded.
    """
    shown, faults = list[Shown](), list[Fault]()
    for slot, paths in files.playable().items():
        camera = camera_of(slot, options.slots)
        if options.cameras and camera not in options.cameras:
            continue
        named = _name_faults(slot, paths, where)
        faults += named
        if named:
            continue
        try:
            found = _probed(camera, slot, paths[0], options)
            if found.kind == "rgb" or options.depth.mode != "none":
                faults += _file_faults(found, options, where)
                shown.append(found)
            elif options.cameras:
                faults.append(_hidden(found, where))
        except VideoError as error:
            faults.append(Fault(where, slot, error.found, error.expected, path=error.path))
        except OSError as error:
            faults.append(Fault(where, slot, f"unreadable ({error.strerror})", "a readable file", path=str(paths[0])))
    shown.sort(key=lambda each: each.camera)
    faults += [*_camera_faults(files, shown, tuple(faults), options, where=where, root=root)]
    return shown, faults


def camera_of(slot: str, united: Mapping[str, Sequence[str]]) -> str:
    """What the camera of a slot is called."""
    return next((camera for camera, slots in united.items() if slot in slots), slot)


def _name_faults(slot: str, paths: Sequence[Path], where: str) -> list[Fault]:
    if not slot.isprintable():  # so is half a character, as a name that is no UTF-8 is read
        found = ascii(slot)
        return [
            Fault(where, "slot", found, "a name in UTF-8 that can be shown", path=ascii(str(paths[0].parent))[1:-1])
        ]
    if len(paths) > 1:
        found = " and ".join(path.name for path in paths)
        return [Fault(where, slot, found, "one video of an episode and slot", path=str(paths[0].parent))]
    return []


def _probed(camera: str, slot: str, path: Path, options: PooledOptions) -> Shown:
    """Raises VideoError, OSError."""
    header = refuse_cut(path)
    found = streams(path)
    depth = depth_in(path, found)
    if depth is not None:
        return _depth(camera, slot, depth, options, header=header)
    facts = found[0]
    copied = read_stream(path, facts.index) if options.video.mode == "copy" else None
    return Shown(
        camera=camera,
        slot=slot,
        kind="rgb",
        path=path,
        stream=facts.index,
        height_px=facts.height,
        width_px=facts.width,
        rate_hz=facts.fps,
        times=copied.times if copied else times_of(path, facts.index, header),
        copied=copied,
        header=header,
    )


def _depth(
    camera: str, slot: str, depth: DepthVideo, options: PooledOptions, *, header: ContainerHeader | None
) -> Shown:
    wanted = options.depth.mode != "none"
    copied = read_stream(depth.path, depth.index) if options.depth.mode == "copy" and depth.kind == "log12" else None
    return Shown(
        camera=camera,
        slot=slot,
        kind="depth",
        path=depth.path,
        stream=depth.index,
        height_px=depth.height,
        width_px=depth.width,
        rate_hz=depth.fps,
        times=copied.times if copied else times_of(depth.path, depth.index, header) if wanted else Times(np.zeros(0)),
        codes_range=depth.color_range if depth.kind == "log12" else "",
        copied=copied,
        header=header,
    )


def _file_faults(shown: Shown, options: PooledOptions, where: str) -> Iterator[Fault]:
    """What is wrong with one file, whatever the rows are."""
    path = str(shown.path)
    rate_hz, rounded = shown.times.rate(options.target_hz)
    if not rate_hz:
        rate_hz = shown.rate_hz
    if rate_hz and abs(rate_hz / options.target_hz - 1) > RATE_TOLERANCE + rounded:
        found = f"{rate_hz:.4g} pictures a second"
        yield Fault(where, shown.slot, found, f"{options.target_hz}, as the task has", path=path)
    if shown.codes_range not in ("", FULL_RANGE):
        found = f"depth codes of colour range {shown.codes_range}, which may have been scaled"
        yield Fault(where, shown.slot, found, "full range (pc)", path=path)
    if shown.kind == "depth" and options.depth.mode == "lossless" and min(shown.height_px, shown.width_px) < LEAST_PX:
        found = f"depth of {shown.height_px}x{shown.width_px} (height x width)"
        expected = f"at least {LEAST_PX}x{LEAST_PX}, for x265 takes no smaller ones"
        yield Fault(where, shown.slot, found, expected, path=path, option="+source.depth=false")
    if shown.header is not None:
        yield from film_faults(where, shown.header, None)


def _hidden(found: Shown, where: str) -> Fault:
    expected = "a camera of colour in +source.cameras, where depth is not asked for"
    return Fault(where, found.slot, "depth", expected, path=str(found.path), option="+source.depth=true")


def _camera_faults(
    files: EpisodeFiles,
    shown: Sequence[Shown],
    known: Sequence[Fault],
    options: PooledOptions,
    *,
    where: str,
    root: Path,
) -> Iterator[Fault]:
    """Cameras that are not there, or twice. What is wrong with a slot, as `known` has it, is no reason to miss it."""
    cameras = [each.camera for each in shown]
    for camera in sorted({name for name in cameras if cameras.count(name) > 1}):
        both = [each for each in shown if each.camera == camera]
        found = f"{' and '.join(each.slot for each in both)} of one episode"
        option = f"+source.slots.{camera}=[...]"
        yield Fault(where, camera, found, "one slot an episode", path=str(both[0].path), option=option)
    slots = sorted(files.playable())
    bad = {camera_of(slot, options.slots) for slot in slots if any(fault.field in (slot, "slot") for fault in known)}
    missing = [name for name in options.cameras if name not in cameras and name not in bad]
    called = {slot: camera_of(slot, options.slots) for slot in slots}
    names = (slot if slot == camera else f"{slot} (called {camera})" for slot, camera in called.items())
    there = ", ".join(names) or "none"
    for camera in missing:
        expected = f"one of +source.cameras in every episode; its slots are {there}"
        yield Fault(where, camera, "no such camera", expected, path=str(root / "videos"), option=UNITE)
    if not (shown or missing or known) and slots:
        expected = "a camera of colour"
        yield Fault(where, "cameras", f"depth alone ({there})", expected, path=str(root / "videos"),
                    option="+source.depth=true")  # fmt: skip
