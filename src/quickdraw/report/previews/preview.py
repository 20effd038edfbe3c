"""An episode as one film: all cameras beside one another, and below them time, action, gripper and what cubes mean.

Frames come one at a time, from one pass over each camera's pictures; memory does not grow with the episode.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from quickdraw.errors import Fault, Refused
from quickdraw.formats.lerobot.reader import SplitReader
from quickdraw.report.drawing import Rgb
from quickdraw.report.previews.canvas import (
    ASKED,
    FAINT,
    FIELD,
    HEAD_PX,
    MOST_CAMERAS,
    Grid,
    Place,
    grid_of,
    paper,
    scaled,
    write,
)
from quickdraw.report.previews.controls import Bars, Panel, panels_of
from quickdraw.report.previews.cubes import Cubes, cubes_of, draw_cubes, draw_legend
from quickdraw.report.previews.depth import DepthColours, depth_colours

STRIP_PX, MARGIN_PX, CLOCK_PX, LEGEND_PX = 178, 18, 250, 200
NARROWEST: Final = 640


@dataclass(frozen=True, slots=True)
class Preview:
    """A film of `rows` pictures, each `(height, width, 3)` uint8 RGB with even sides, `rate_hz` a second.

    `times_s` are those of the rows. `frames` may be gone through once, and draws all rows on the same array: who keeps
    one copies it.
    """

    width: int
    height: int
    rate_hz: int
    times_s: tuple[float, ...]
    frames: Iterator[Rgb]

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self.times_s)


@dataclass(frozen=True, slots=True)
class _Still:
    """What a frame is drawn by: where everything is, and what is the same in every frame."""

    canvas: Rgb
    grid: Grid
    panels: tuple[tuple[Place, Panel], ...]
    clock: Place
    cubes: Cubes | None
    times_s: tuple[float, ...]


def preview_of(split: SplitReader, episode: int, cube_cameras: Mapping[str, str]) -> Preview:
    """The film of one episode; `cube_cameras` are the cameras of the views cubes are measured in.

    Shows the first nine cameras. Raises Refused where the split has no camera, or what its tables say cannot be read;
    VideoError where a video is damaged, also while `frames` is gone through.
    """
    if not split.cameras:
        raise Refused([Fault(str(split.root), "cameras", "none", "at least one, to be shown")])
    times_s = tuple(split.times_s(episode).tolist())  # first: decoders rely on the length it is checked against
    cameras = split.cameras[:MOST_CAMERAS]
    colours = {camera: depth_colours(split, camera) for camera in cameras if split.is_depth(camera)}
    shown = {camera: _pictures(split, episode, camera, colours.get(camera)) for camera in cameras}
    first = {camera: next(pictures) for camera, pictures in shown.items()}
    sizes = {camera: (picture.shape[1], picture.shape[0]) for camera, picture in first.items()}
    still = _still(split, episode, times_s, sizes=sizes, cubes=cubes_of(split, episode, cube_cameras))
    _draw_heads(still, split, colours)
    height, width = still.canvas.shape[:2]
    return Preview(width, height, split.rate_hz, still.times_s, _frames(still, first, shown))


def _pictures(split: SplitReader, episode: int, camera: str, colours: DepthColours | None) -> Generator[Rgb]:
    if colours is None:
        yield from split.pictures(episode, camera)
    else:
        yield from (colours.picture(depth_mm) for depth_mm in split.depth(episode, camera))


def _still(
    split: SplitReader,
    episode: int,
    times_s: tuple[float, ...],
    *,
    sizes: Mapping[str, tuple[int, int]],
    cubes: Cubes | None,
) -> _Still:
    panels = panels_of(split, episode)
    wanted = MARGIN_PX + CLOCK_PX + sum(panel.width for panel in panels) + (LEGEND_PX if cubes else 0)
    grid = grid_of(sizes, max(NARROWEST, wanted))
    canvas = paper(_even(grid.width), _even(grid.height + STRIP_PX))
    x, placed = MARGIN_PX + CLOCK_PX, list[tuple[Place, Panel]]()
    # Room that is left over stands between the panels.
    spare = (grid.width - wanted) // max(1, len(panels) + (cubes is not None))
    for panel in panels:
        if isinstance(panel, Bars):  # names of dimensions may be long
            panel = replace(panel, width=panel.width + spare)
        placed.append((Place(x, grid.height, panel.width, STRIP_PX), panel))
        panel.draw_still(placed[-1][0].of(canvas))
        x += panel.width + (0 if isinstance(panel, Bars) else spare)
    if cubes is not None:
        draw_legend(canvas[grid.height :], x, cubes)
    clock = Place(MARGIN_PX, grid.height, CLOCK_PX - 10, STRIP_PX)
    _draw_names(clock.of(canvas), split, episode, len(times_s))
    return _Still(canvas, grid, tuple(placed), clock, cubes, times_s)


def _draw_names(strip: Rgb, split: SplitReader, episode: int, rows: int) -> None:
    """Which episode this is, and what its task is."""
    task = ", ".join(split.task_texts(episode))
    write(strip, f"{split.root.name}, episode {episode}", (0, 112), size=0.52, most_px=strip.shape[1])
    write(strip, task, (0, 134), size=0.45, colour=FAINT, most_px=strip.shape[1])
    write(strip, f"{rows} rows, {split.rate_hz} Hz", (0, 156), size=0.45, colour=FAINT)


def _draw_heads(still: _Still, split: SplitReader, colours: Mapping[str, DepthColours]) -> None:
    """Each camera's name above its picture; how many cameras are not shown."""
    more = len(split.cameras) - len(still.grid.places)
    for number, (camera, place) in enumerate(still.grid.places.items(), 1):
        head = still.canvas[place.y - HEAD_PX : place.y, place.x : place.x + place.width]
        left_out = f"  ({more} more cameras are not shown)" if more and number == len(still.grid.places) else ""
        room = place.width - 10 - (place.width // 4 + 110 if camera in colours else 0)
        write(head, camera + left_out, (4, 17), most_px=room)
        if camera in colours:
            colours[camera].draw_bar(head)


def _frames(still: _Still, first: Mapping[str, Rgb], rest: Mapping[str, Generator[Rgb]]) -> Iterator[Rgb]:
    canvas, rows = still.canvas.copy(), len(still.times_s)
    strips = [place for place, _ in still.panels] + [still.clock]
    try:
        for row in range(rows):
            for place in strips:
                place.of(canvas)[:] = place.of(still.canvas)
            for camera, place in still.grid.places.items():
                picture = first[camera] if row == 0 else next(rest[camera])
                place.of(canvas)[:] = scaled(picture, place.width, place.height)
                if still.cubes is not None and camera in still.cubes.by_camera:
                    draw_cubes(place.of(canvas), still.cubes, camera, row)
            for place, panel in still.panels:
                panel.draw(place.of(canvas), row)
            _draw_clock(canvas, still, row)
            yield canvas
    finally:
        for pictures in rest.values():  # decoders end with the film, also with one that is given up
            pictures.close()


def _draw_clock(canvas: Rgb, still: _Still, row: int) -> None:
    """Time and row, and how much of the episode is over."""
    strip = still.clock.of(canvas)
    write(strip, f"{still.times_s[row]:.2f} s", (0, 48), size=1.0)
    write(strip, f"row {row}", (0, 78), size=0.6)
    top, width = still.grid.height, canvas.shape[1]
    canvas[top : top + 4] = FIELD
    canvas[top : top + 4, : round(width * (row + 1) / len(still.times_s))] = ASKED


def _even(side: int) -> int:
    """The next even number: halved colour needs it."""
    return side + side % 2
