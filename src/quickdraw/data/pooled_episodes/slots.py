"""The slots of an episode, by the files that are there, as cameras (contract 8).

A camera is a slot, or the name that slots are united under because a recorder renamed it. What a file holds its streams
tell, never the slot's name: `D435_depth_rgb` is colour.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from quickdraw.data.pooled_episodes.options import PooledOptions
from quickdraw.errors import Fault, VideoError
from quickdraw.formats.campaign.films import film_faults
from quickdraw.formats.pooled.depth import FULL_RANGE, DepthVideo, depth_in
from quickdraw.formats.pooled.layout import EXTENSIONS
from quickdraw.formats.pooled.reader import Kind
from quickdraw.formats.pooled.scan import EpisodeFiles
from quickdraw.video.container import ContainerHeader, read_header
from quickdraw.video.copying import CopiedStream, read_stream
from quickdraw.video.cut_off import refuse_cut
from quickdraw.video.probing import counts, streams

RATE_TOLERANCE: Final = 0.005  # of the frames a second a file tells, for it tells them as a quotient of ticks
UNITE: Final = "+source.slots.<name>=[a,b]"


@dataclass(frozen=True, slots=True)
class Shown:
    """A camera of an episode: what is in its file, in which stream of it, and how many pictures that has.

    `rate_hz` is 0 where the file does not tell. `codes_range` is the colour range of depth in logarithmic codes, else
    "". `copied` are the facts of a stream that is to be copied, None where it is decoded; `header` is an mp4's.
    """

    camera: str
    slot: str
    kind: Kind
    path: Path
    stream: int
    height_px: int
    width_px: int
    rate_hz: float
    pictures: int
    codes_range: str = ""
    copied: CopiedStream | None = None
    header: ContainerHeader | None = None


def slots_of(files: EpisodeFiles, options: PooledOptions, where: str, root: Path) -> tuple[list[Shown], list[Fault]]:
    """The cameras of an episode that are shown, by name, and all that is wrong with them. `root` is the task's folder.

    Headers are read and no picture is decoded.
    """
    shown, faults = list[Shown](), list[Fault]()
    for slot, paths in playable(files).items():
        camera = camera_of(slot, options.slots)
        if options.cameras and camera not in options.cameras:
            continue
        named = _name_faults(slot, paths, where)
        faults += named
        if named:
            continue
        try:
            found = _probed(camera, slot, paths[0], options)
            if found.kind == "rgb" or options.depth != "none":
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


def playable(files: EpisodeFiles) -> dict[str, list[Path]]:
    """The videos of each slot; what else lies beside them under the episode's name is passed over."""
    found = {slot: [path for path in paths if path.suffix[1:] in EXTENSIONS] for slot, paths in files.videos.items()}
    return {slot: paths for slot, paths in found.items() if paths}


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
    header = read_header(path) if _is_mp4(path) else None  # which finds an mp4 that is cut off
    if header is None:
        refuse_cut(path)
    found = streams(path)
    depth = depth_in(path, found)
    if depth is not None:
        return _depth(camera, slot, depth, options, header=header)
    facts = found[0]
    copied = read_stream(path, facts.index) if options.video_mode == "copy" else None
    return Shown(
        camera=camera,
        slot=slot,
        kind="rgb",
        path=path,
        stream=facts.index,
        height_px=facts.height,
        width_px=facts.width,
        rate_hz=facts.fps,
        pictures=copied.pictures if copied else _count(path, facts.index, header),
        copied=copied,
        header=header,
    )


def _depth(
    camera: str, slot: str, depth: DepthVideo, options: PooledOptions, *, header: ContainerHeader | None
) -> Shown:
    wanted = options.depth != "none"
    copied = read_stream(depth.path, depth.index) if options.depth == "copy" and depth.kind == "log12" else None
    return Shown(
        camera=camera,
        slot=slot,
        kind="depth",
        path=depth.path,
        stream=depth.index,
        height_px=depth.height,
        width_px=depth.width,
        rate_hz=depth.fps,
        pictures=copied.pictures if copied else _count(depth.path, depth.index, header) if wanted else 0,
        codes_range=depth.color_range if depth.kind == "log12" else "",
        copied=copied,
        header=header,
    )


def _count(path: Path, stream: int, header: ContainerHeader | None) -> int:
    """Pictures of a stream: of an mp4 by its own table, which costs no time; else the file is read through."""
    if stream == 0 and header is not None and header.samples.count and not header.is_fragmented:
        return header.samples.count
    return counts(path)[stream]


def _is_mp4(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(8)[4:] == b"ftyp"


def _file_faults(shown: Shown, options: PooledOptions, where: str) -> Iterator[Fault]:
    """What is wrong with one file, whatever the rows are."""
    path = str(shown.path)
    if shown.rate_hz and abs(shown.rate_hz - options.target_hz) > RATE_TOLERANCE * options.target_hz:
        found = f"{shown.rate_hz:g} pictures a second"
        yield Fault(where, shown.slot, found, f"{options.target_hz}, as the task has", path=path)
    if shown.codes_range not in ("", FULL_RANGE):
        found = f"depth codes of colour range {shown.codes_range}, which may have been scaled"
        yield Fault(where, shown.slot, found, "full range (pc)", path=path)
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
    slots = sorted(playable(files))
    bad = {camera_of(slot, options.slots) for slot in slots if any(fault.field in (slot, "slot") for fault in known)}
    missing = [name for name in options.cameras if name not in cameras and name not in bad]
    there = ", ".join(slots) or "none"
    for camera in missing:
        expected = f"one of +source.cameras in every episode; its slots are {there}"
        yield Fault(where, camera, "no such camera", expected, path=str(root / "videos"), option=UNITE)
    if not (shown or missing or known) and slots:
        expected = "a camera of colour"
        yield Fault(where, "cameras", f"depth alone ({there})", expected, path=str(root / "videos"),
                    option="+source.depth=true")  # fmt: skip
