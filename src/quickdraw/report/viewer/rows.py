"""What an episode is for Rerun: films as they are, depth, cubes, numbers and poses, row by row.

This and the other modules of a recording are the only ones that know Rerun, which is an extra: it is imported where it
is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import batched
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from quickdraw.core.cubes import CUBE
from quickdraw.core.depth import MM
from quickdraw.core.grid import Float64
from quickdraw.errors import VideoError
from quickdraw.formats.lerobot.reader import SplitReader
from quickdraw.formats.lerobot.schema import BOOKKEEPING
from quickdraw.pipeline.places import CLIP_PLACE
from quickdraw.report.previews.cubes import Cubes, cubes_of, has_cubes
from quickdraw.report.previews.depth import farthest_mm
from quickdraw.report.sheets.cube_sheet import MARK_RGB
from quickdraw.report.vectors import vectors_of, width_of
from quickdraw.report.viewer.poses import Pose, poses_of

if TYPE_CHECKING:
    import rerun as rr

DEPTH_ROWS: Final = 16  # sent at a time
AXIS_RGB: Final = ((230, 60, 60), (60, 190, 60), (70, 110, 250))
AXIS_M, HELD_PX, POINT_RADIUS = 0.05, 3.0, 4.0


@dataclass(frozen=True, slots=True)
class Shown:
    """An episode of a split to be recorded; `name` stands for both, `cameras` are those of the cubes' views."""

    split: SplitReader
    episode: int
    name: str
    cameras: Mapping[str, str]

    @property
    def title(self) -> str:
        """Its name, also where a folder's name is no text."""
        return f"{self.name}, episode {self.episode}".encode(errors="backslashreplace").decode()

    @property
    def features(self) -> tuple[str, ...]:
        """The vectors that are drawn as curves: action and state first."""
        found = [name for name in self.split.info["features"] if width_of(self.split, name)]
        drawn = (*BOOKKEEPING, CUBE.name) if has_cubes(self.split) else BOOKKEEPING
        plotted = [name for name in found if name not in drawn]
        return tuple(sorted(plotted, key=lambda name: (name != "action", name != "observation.state")))

    @property
    def parts(self) -> int:
        """How many parts a recording is put together from, for showing progress."""
        return len(self.split.cameras) + len(self.features) + len(poses_of(self.split))


def camera_path(camera: str) -> str:
    """Where a camera's pictures are."""
    return entity_path("cameras", camera)


def entity_path(*parts: str) -> str:
    """A path of Rerun's; what its grammar uses is escaped in names."""
    import rerun as rr

    return rr.new_entity_path(list(parts))


def record_episode(stream: rr.RecordingStream, shown: Shown, advance: Callable[[int], None]) -> None:
    """Send all of an episode; `advance` hears of each part. Raises Refused, or VideoError where a video is damaged."""
    import rerun as rr

    split, episode = shown.split, shown.episode
    stream.send_recording_name(shown.title)
    stream.log("about", rr.TextDocument(_about(shown), media_type="text/markdown"), static=True, strict=True)
    record = _Rows(stream, split.times_s(episode))
    for camera in split.cameras:
        (_record_depth if split.is_depth(camera) else _record_film)(record, shown, camera)
        advance(1)
    cubes = cubes_of(split, episode, shown.cameras)
    if cubes is not None:
        _record_cubes(record, split, cubes)
    for feature in shown.features:
        _record_vector(record, split, feature, episode)
        advance(1)
    for pose in poses_of(split):
        _record_pose(record, pose, *pose.read(split, episode))
        advance(1)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Where rows go to: each at its number on the timeline `row`, and at its time on `time`."""

    stream: rr.RecordingStream
    times_s: Float64

    def send(self, path: str, columns: Any, rows: slice = slice(None)) -> None:
        """A value for each of the rows."""
        import rerun as rr

        numbers = np.arange(len(self.times_s))[rows]
        timelines = [rr.TimeColumn("row", sequence=numbers), rr.TimeColumn("time", duration=self.times_s[rows])]
        self.stream.send_columns(path, timelines, columns, strict=True)

    def still(self, path: str, *what: Any) -> None:
        """What is the same in every row."""
        self.stream.log(path, *what, static=True, strict=True)


def _film_of(shown: Shown, camera: str) -> tuple[rr.AssetVideo, Any]:
    """A file that shows the episode, and the times [ns] of the episode's pictures in it.

    The clip in media/ holds nothing else; where there is none, or one of another length, it is the split's own file.
    """
    file, first, length = shown.split.place(shown.episode, camera)
    root = shown.split.root
    clip = root.parent / CLIP_PLACE.format(camera=camera, split=root.name, number=shown.episode)
    if clip.is_file():
        film, times_ns = _read_film(clip)
        if len(times_ns) == length:
            return film, times_ns
    film, times_ns = _read_film(file)
    if len(times_ns) < first + length:
        found = f"{max(len(times_ns) - first, 0)} pictures of episode {shown.episode}"
        raise VideoError(str(file), found, f"{length}, one per row")
    return film, times_ns[first : first + length]


def _read_film(path: Path) -> tuple[rr.AssetVideo, Any]:
    """A file as it is, and the times [ns] of all its pictures in the order they are shown in."""
    import rerun as rr

    try:
        film = rr.AssetVideo(contents=path.read_bytes(), media_type="video/mp4")
        return film, film.read_frame_timestamps_nanos()
    except OSError as error:
        raise VideoError(str(path), f"unreadable ({error.strerror})", "a playable video file") from error
    except RuntimeError as error:
        raise VideoError(str(path), f"unreadable ({error})", "a playable video file") from error


def _record_film(record: _Rows, shown: Shown, camera: str) -> None:
    import rerun as rr

    film, times_ns = _film_of(shown, camera)
    record.still(camera_path(camera), film)
    record.send(camera_path(camera), rr.VideoFrameReference.columns_nanos(times_ns))


def _record_depth(record: _Rows, shown: Shown, camera: str) -> None:
    import rerun as rr

    path, start = camera_path(camera), 0
    ends = (0.0, farthest_mm(shown.split, camera))  # the viewer's colours beyond a range are no ends of it
    record.still(path, rr.DepthImage.from_fields(meter=MM, depth_range=ends, colormap="turbo"))
    for pictures in batched(shown.split.depth(shown.episode, camera), DEPTH_ROWS):
        height, width = pictures[0].shape
        form = rr.datatypes.ImageFormat(width, height, channel_datatype="U16")
        buffers = [np.ascontiguousarray(picture).view(np.uint8).ravel() for picture in pictures]
        columns = rr.DepthImage.columns(buffer=buffers, format=[form] * len(pictures))
        record.send(path, columns, slice(start, start + len(pictures)))
        start += len(pictures)


def _record_cubes(record: _Rows, split: SplitReader, cubes: Cubes) -> None:
    """A point where a cube is seen, a box where it is held; nothing where it is neither."""
    import rerun as rr

    for camera in cubes.by_camera:
        height, width = split.info["features"][split.key(camera)]["shape"][:2]
        states = [cubes.states(camera, row) for row in range(len(record.times_s))]
        for colour in cubes.palette:
            for seen, suffix in ((True, "seen"), (False, "held")):
                path = f"{camera_path(camera)}/cubes/{colour}_{suffix}"
                at = [[(x * width, y * height) for c, x, y, _, s in row if (c, s) == (colour, seen)] for row in states]
                centres, counts = [each for row in at for each in row], [len(row) for row in at]
                if not centres:
                    continue
                if seen:
                    record.still(path, rr.Points2D.from_fields(colors=MARK_RGB[colour], radii=-POINT_RADIUS))
                    record.send(path, rr.Points2D.columns(positions=centres).partition(counts))
                else:
                    record.still(path, rr.Boxes2D.from_fields(colors=MARK_RGB[colour], radii=-1.0))
                    halves = [(HELD_PX, HELD_PX)] * len(centres)
                    record.send(path, rr.Boxes2D.columns(centers=centres, half_sizes=halves).partition(counts))


def _record_vector(record: _Rows, split: SplitReader, feature: str, episode: int) -> None:
    import rerun as rr

    values = vectors_of(split, feature, episode)
    for name, column in zip(split.dimensions(feature), values.T, strict=True):
        path = entity_path(feature, name)
        record.still(path, rr.SeriesLines(names=name))
        record.send(path, rr.Scalars.columns(scalars=np.ascontiguousarray(column)))


def _record_pose(record: _Rows, pose: Pose, xyz_m: Float64, rotation: Float64) -> None:
    """A frame that moves, its axes, and all of its path."""
    import rerun as rr

    path = entity_path("world", pose.name)
    sound = np.isfinite(xyz_m).all(axis=1) & np.isfinite(rotation).all(axis=(1, 2))
    record.send(path, rr.Transform3D.columns(translation=xyz_m, mat3x3=rotation.reshape(-1, 9)))
    record.still("world", rr.ViewCoordinates.RIGHT_HAND_Z_UP)
    axes = rr.Arrows3D(vectors=np.eye(3) * AXIS_M, colors=AXIS_RGB, labels=["x", "y", "z"], show_labels=False)
    record.still(f"{path}/axes", axes)
    record.still(entity_path("world", f"{pose.name}_path"), rr.LineStrips3D([xyz_m[sound]], colors=(170, 170, 170)))


def _about(shown: Shown) -> str:
    rows = shown.split.length(shown.episode)
    tasks = ", ".join(shown.split.task_texts(shown.episode))
    return (
        f"# {shown.title}\n\ntask: {tasks}\n\n"
        f"{rows} rows at {shown.split.rate_hz} Hz\n\n"
        "Cubes: a point where one is seen, a box where it is held where it was last seen. Positions in metres.\n"
    )
