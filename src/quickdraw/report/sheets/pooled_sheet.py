"""A contact sheet of one pooled episode: what its cameras, matrices and gloves show at the same instants, and curves.

Columns of pictures are frames evenly spread over the episode; what is not sampled by frames is what was known then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import cv2
import numpy as np
import numpy.typing as npt

from quickdraw.core.grid import Float64
from quickdraw.errors import COMMAND_LINE, Fault, Refused
from quickdraw.formats.durable import write_aside
from quickdraw.formats.pooled import series
from quickdraw.formats.pooled.clock import ClockClass, classify
from quickdraw.formats.pooled.columns import FORCE, IMU, MATRIX, TRAJECTORY, gripper_of, is_glove
from quickdraw.formats.pooled.depth_codes import MAX_MM, MIN_MM, quantise, shade
from quickdraw.formats.pooled.reader import Episode, Video
from quickdraw.report.drawing import COLUMNS, TILE_PX, Curve, Rgb, Scale, Tile, band, chart, line, readable, times

DEPTH_TICKS_MM: Final = (100, 200, 500, 1000, 2000, 5000)
AXES: Final = ("x", "y", "z")
NOT_FINITE: Final = (255, 0, 255)
# Forces: blue below 0, black at 0, orange above.
SIGNED: Final = np.stack(
    [np.interp(np.linspace(-1, 1, 255), (-1, -0.5, 0, 0.5, 1), levels)
     for levels in ((170, 30, 0, 230, 255), (225, 110, 0, 110, 225), (255, 230, 0, 20, 150))], axis=-1
).astype(np.uint8)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Instants:
    """The frames shown: `frames` (from 0) of `count`, the data `rows` they are in, `times_s` since the start.

    `end_s` is when the episode ends, by the same `clock`. Without a data file there are no rows.
    """

    count: int
    frames: tuple[int, ...]
    rows: tuple[int, ...]
    times_s: tuple[float, ...]
    end_s: float
    clock: str


def sheet(episode: Episode) -> Rgb:
    """`(H, W, 3)` uint8 RGB: a band of frames a camera, of heat maps a matrix and a glove, and curves over time.

    Everything has its unit where the contract names one. Raises Refused and VideoError where a file cannot be read.
    """
    videos = episode.slots()
    instants = _instants(episode, videos)
    parts = [line(_title(episode, instants), size=0.7, height_px=36), times(instants.times_s)]
    for video in videos.values():
        parts.append((_depth if video.kind == "depth" else _colour)(episode, video, instants))
    if episode.files.data is not None:
        parts += _matrices(episode, instants)
        parts += _gloves(episode, instants)
        parts += _curves(episode, instants)
    return np.concatenate(parts)


def write_png(path: Path, picture: Rgb) -> None:
    """Write `(H, W, 3)` uint8 RGB as a PNG, whole or not at all; its folder is made.

    Raises Refused where `path` can be no file, OSError where the disk does not take it.
    """
    content = cv2.imencode(".png", cv2.cvtColor(picture, cv2.COLOR_RGB2BGR))[1].tobytes()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_aside(path, [content])
    except (PermissionError, IsADirectoryError, NotADirectoryError, FileExistsError) as error:
        found = f"cannot be written ({error.strerror})"
        raise Refused([Fault(COMMAND_LINE, "PNG", found, "a place for a file", path=str(path))]) from error


def _title(episode: Episode, instants: _Instants) -> str:
    """The task's name stays out of a picture whose font cannot write it."""
    name = episode.info.layout.task
    words = [name] if name.isascii() else []
    suffix = episode.info.layout.place(episode.number).suffix
    words += [
        f"episode {episode.number} ({suffix})",
        f"{instants.count} frames, {instants.end_s:.2f} s by {instants.clock}",
    ]
    if episode.files.data is None:
        words.append("no data file")
    return "   ".join(words)


def _instants(episode: Episode, videos: dict[str, Video]) -> _Instants:
    if episode.files.data is None:
        count = max((video.picture_count() for video in videos.values()), default=0)
        at_s = np.arange(count) / episode.info.fps
        first: npt.NDArray[Any] = np.zeros(0, np.int64)
        clock = "the frame rate"
    else:
        row_s, clock = _row_times(episode)
        first = np.unique(episode.data.column("frame_index"), return_index=True)[1]
        count, at_s = len(first), row_s[first]
    chosen = (
        np.unique(np.linspace(0, count - 1, min(COLUMNS, count)).round().astype(int)) if count else np.zeros(0, int)
    )
    return _Instants(
        count=count,
        frames=tuple(chosen.tolist()),
        rows=tuple(first[chosen].tolist()) if len(first) else (),
        times_s=tuple(at_s[chosen].tolist()),
        end_s=float(at_s[-1]) if count else 0.0,
        clock=clock,
    )


def _row_times(episode: Episode) -> tuple[Float64, str]:
    """Seconds since its start of each row, and by which clock: by that of the samples where it is whole."""
    elapsed_s, clock = episode.elapsed_s(), episode.data.column("hardware_ns")
    if len(clock) and clock.all() and classify(clock) is ClockClass.HW64:
        return np.asarray((clock - clock[0]) / 1e9, np.float64), "hardware_ns"
    return elapsed_s, "wall_time"


def _colour(episode: Episode, video: Video, instants: _Instants) -> Rgb:
    count = video.picture_count()
    found = _chosen(episode.frames(video.slot), set(instants.frames))
    tiles = [
        Tile(found.get(frame), f"frame {frame}" if frame in found else f"frame {frame}: no picture")
        for frame in instants.frames
    ]
    size = "x".join(map(str, _size(found.values())))
    return band(f"{readable(video.slot)}: colour {size}, {count} pictures", tiles)


def _depth(episode: Episode, video: Video, instants: _Instants) -> Rgb:
    """Depth that is shorter than the episode lacks its head: nothing is written before the first picture comes."""
    count = video.picture_count()
    late = max(0, instants.count - count)
    found = _chosen(episode.depth(video.slot), {frame - late for frame in instants.frames})
    tiles = [_depth_tile(found.get(frame - late)) for frame in instants.frames]
    size = "x".join(map(str, _size(found.values())))
    label = f"{readable(video.slot)}: depth [mm] {size}, {count} pictures; black: no depth"
    ticks = [(float(np.log(mm / MIN_MM) / np.log(MAX_MM / MIN_MM)), f"{mm} mm") for mm in DEPTH_TICKS_MM]
    return band(label, tiles, Scale(_jet(np.arange(256, dtype=np.uint8)[None])[0], tuple(ticks)))


def _depth_tile(depth_mm: npt.NDArray[np.uint16] | None) -> Tile:
    if depth_mm is None:
        return Tile(None, "no depth yet")
    seen = depth_mm > 0
    picture = _jet(shade(quantise(depth_mm)))
    picture[~seen] = 0
    caption = f"median {np.median(depth_mm[seen]):.0f} mm" if seen.any() else "no depth anywhere"
    return Tile(picture, f"{caption}, {100 * (1 - seen.mean()):.0f} % none", blocky=True)


def _matrices(episode: Episode, instants: _Instants) -> Iterator[Rgb]:
    for column in filter(MATRIX.fullmatch, episode.data.names):
        scale, source = episode.scale(column)
        planes: list[npt.NDArray[np.float32] | None] = [None] * len(instants.rows)
        samples = 0
        for sample in episode.matrices(column):
            samples += 1
            for at, row in enumerate(instants.rows):
                if sample.row <= row:
                    planes[at] = sample.mn[..., 2].copy()
        most = _most(np.abs(plane) for plane in planes if plane is not None)
        says = {"row": "its row", "info": "info.json", "type": "its type", "unscaled": "nobody"}[source]
        label = f"{_short(column)}: fz [mN], latest of {samples} samples; scale {scale}, told by {says}"
        ends = tuple(
            (share, f"{value:+.3g} mN" if value else "0") for share, value in ((0, -most), (0.5, 0), (1, most))
        )
        yield band(label, [_matrix_tile(plane, most) for plane in planes], Scale(SIGNED, ends))


def _matrix_tile(plane: npt.NDArray[np.float32] | None, most: float) -> Tile:
    if plane is None:
        return Tile(None, "no sample yet")
    sound = np.isfinite(plane)
    size, known = (TILE_PX, TILE_PX), np.where(sound, plane, 0)
    small = cv2.resize(known, size, interpolation=cv2.INTER_AREA)
    picture = SIGNED[np.clip(np.rint((small / most + 1) * 127), 0, 254).astype(int)]
    picture[cv2.resize((~sound).astype(np.float32), size, interpolation=cv2.INTER_AREA) > 0] = NOT_FINITE
    return Tile(picture, f"sum {float(known.sum(dtype=np.float64)):.0f} mN{_others(sound)}")


def _gloves(episode: Episode, instants: _Instants) -> Iterator[Rgb]:
    data = episode.data
    for column in data.names:
        values = data.column(column) if is_glove(column) else np.zeros(0)
        if values.ndim != 2 or values.shape[1] != 256 or not np.issubdtype(values.dtype, np.floating):
            continue
        pictures = [values[row].reshape(16, 16) for row in instants.rows]
        most = _most(pictures)
        tiles = [_glove_tile(each, most) for each in pictures]
        colours = _inferno(np.arange(256, dtype=np.uint8)[None])[0]
        yield band(f"{_short(column)}: 16x16, units as recorded", tiles, Scale(colours, ((0, "0"), (1, f"{most:.3g}"))))


def _glove_tile(values: npt.NDArray[Any], most: float) -> Tile:
    sound = np.isfinite(values)
    known = np.where(sound, values, 0)
    picture = _inferno(np.clip(known / most * 255, 0, 255).astype(np.uint8))
    picture[~sound] = NOT_FINITE
    return Tile(picture, f"max {known.max(where=sound, initial=-np.inf):.3g}{_others(sound)}", blocky=True)


def _most(pictures: Iterable[npt.NDArray[Any]]) -> float:
    """The largest finite value of all; 1 where it is none above 0, to divide by."""
    largest = (float(each.max(where=np.isfinite(each), initial=0)) for each in pictures)
    return max(largest, default=0.0) or 1.0


def _others(sound: npt.NDArray[np.bool_]) -> str:
    return "" if sound.all() else f", {int((~sound).sum())} not finite"


def _curves(episode: Episode, instants: _Instants) -> Iterator[Rgb]:
    data, (at_s, _) = episode.data, _row_times(episode)

    def drawn(label: str, names: Sequence[str], when_s: Float64, values: npt.NDArray[Any]) -> Rgb:
        inside = (when_s >= 0) & (when_s <= instants.end_s)
        outside = f", {int((~inside).sum())} of them before or after the frames" if not inside.all() else ""
        curves = [Curve(name, when_s[inside], values[inside, axis]) for axis, name in enumerate(names)]
        return chart(f"{label}{outside}:", curves, end_s=instants.end_s, marks_s=instants.times_s)

    if IMU in data:
        imu = episode.imu()
        when_s = _seconds(episode, imu.ts_ns, at_s)
        for sensor, names, first in (("gyroscope", ("gx", "gy", "gz"), 0), ("accelerometer", ("ax", "ay", "az"), 3)):
            label = f"{_short(IMU)}, {sensor}, units as recorded, {len(when_s)} samples"
            yield drawn(label, names, when_s, imu.values[:, first : first + 3])
    for column in filter(FORCE.fullmatch, data.names):
        force = series.force(data, column)
        there = np.ones(data.rows, bool) if force.ns is None else force.ns != 0
        label = f"{_short(column)} [mN], {int(there.sum())} samples"
        label += " at the time of their rows" if force.ns is not None else " without stamps, where 0 may be none"
        yield drawn(label, ("fx", "fy", "fz"), at_s[there], force.mn[there])
    for column in filter(TRAJECTORY.fullmatch, data.names):
        path = episode.trajectory(gripper_of(column))
        there = path.ns != 0
        label = f"{_short(column)} [m], {int(there.sum())} of {len(there)} points, which have a stamp"
        yield drawn(label, AXES, _seconds(episode, path.ns[there], at_s), path.points[there, 1:4])


def _seconds(episode: Episode, stamps: npt.NDArray[np.int64], at_s: Float64) -> Float64:
    """Seconds since the episode's start of stamps [ns] by the clock of the rows; where that is cut, since the first."""
    clock = episode.data.column("hardware_ns")
    if not len(stamps) or not len(clock):
        return np.zeros(len(stamps))
    if classify(clock) is ClockClass.HW64:
        first = int(np.flatnonzero(clock)[0])  # the first rows may have no stamp
        return np.asarray((stamps - clock[first]) / 1e9 + at_s[first], np.float64)
    return np.asarray((stamps - stamps[0]) / 1e9, np.float64)


def _chosen[Picture](pictures: Iterator[Picture], numbers: set[int]) -> dict[int, Picture]:
    """The pictures of those numbers; all are decoded, so that a damaged one is found."""
    return {number: picture for number, picture in enumerate(pictures) if number in numbers}


def _size(pictures: Any) -> tuple[int, ...]:
    """Width and height of the first, none where there is none."""
    return next((each.shape[1::-1] for each in pictures), ())


def _jet(levels: npt.NDArray[np.uint8]) -> Rgb:
    return np.asarray(cv2.applyColorMap(levels, cv2.COLORMAP_JET)[..., ::-1], np.uint8).copy()


def _inferno(levels: npt.NDArray[np.uint8]) -> Rgb:
    return np.asarray(cv2.applyColorMap(levels, cv2.COLORMAP_INFERNO)[..., ::-1], np.uint8).copy()


def _short(column: str) -> str:
    return readable(column.removeprefix("observation."))
