"""One episode's cubes: where each view saw them go, over one of its frames, and when it saw them."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import cv2
import numpy as np
import numpy.typing as npt

from quickdraw.core.cubes import TYPICAL_AREA_PX, VIEWS
from quickdraw.core.episode import Float32
from quickdraw.core.hues import COLOURS
from quickdraw.report.parts import Drawing
from quickdraw.report.plots import CUBES, LINE, PAPER, TEXT_PT, TITLE_PT, drawing, sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_POINTS: Final = 400  # of a track or a timeline
WEBP_QUALITY: Final = 75
_PNG: Final = re.compile(r'href="data:image/png;base64,([^"]*)"')

_PIXELATED: Final = re.compile(r"image-rendering: ?[a-z-]+;? ?")


@dataclass(frozen=True, slots=True)
class Shown:
    """An episode of a split: `measured` `(T, 4, 2, 4)` as `core.cubes.CUBE` orders it.

    `frames` are views' pictures `(H, W, 3)` uint8 RGB of row `row`, `cameras` their names; a view may lack one.
    """

    split: str
    episode: int
    rate_hz: float
    measured: Float32
    row: int
    frames: Mapping[str, npt.NDArray[np.uint8]]
    cameras: Mapping[str, str]


def cube_plot(shown: Shown) -> Drawing:
    """A row of plots: the tracks in each view, and the timelines of all."""
    figure, grid = sheet(1, len(VIEWS) + 1, height_in=2.5)
    figure.set_layout_engine(None)
    figure.subplots_adjust(left=0.05, right=0.99, top=0.9, bottom=0.17, wspace=0.44)
    *views, timelines = grid[0]
    for number, (view, axes) in enumerate(zip(VIEWS, views, strict=True)):
        _tracks(axes, shown, view, shown.measured[:, :, number])
    _timelines(timelines, shown)
    seconds = len(shown.measured) / shown.rate_hz
    over = f", over the frame at {shown.row / shown.rate_hz:.2f} s" if shown.frames else ""
    caption = (
        f"{shown.split}, episode {shown.episode} ({seconds:.1f} s): where each cube was seen, from ○ to ●{over}. "
        f"Right: visibility, 0 to 1 (an area of {TYPICAL_AREA_PX:.0f} px at 144 x 192, or more); a thin line where it "
        "is carried at its last place, unseen."
    )
    alt = f"Tracks of the cubes in episode {shown.episode} of {shown.split}, and when each view saw them."
    return _compressed(drawing(figure, name=f"cubes-{shown.split}", caption=caption, alt=alt))


def _tracks(axes: Axes, shown: Shown, view: str, measured: Float32) -> None:
    """One view: `measured` `(T, 4, 4)`."""
    frame = shown.frames.get(view)
    height, width = (3, 4) if frame is None else frame.shape[:2]
    if frame is not None:
        axes.imshow(frame, extent=(0, 1, 1, 0), interpolation="none")
    axes.set(xlim=(0, 1), ylim=(1, 0), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
    axes.set_aspect(height / width)
    axes.grid(False)
    axes.set_xlabel("x / width")
    axes.set_ylabel("y / height")
    camera = shown.cameras.get(view, "no camera")
    axes.set_title(f"{view} ({camera})", loc="left", fontsize=TITLE_PT)
    for number, colour in enumerate(COLOURS):
        seen = measured[:, number, 3] > 0
        if not seen.any():
            continue
        path = np.where(seen[:, None], measured[:, number, :2], np.nan).astype(np.float64)
        path = path[:: -(-len(path) // MOST_POINTS)]
        for line, wide in ((PAPER, 3.2), (CUBES[colour], 1.5)):
            axes.plot(path[:, 0], path[:, 1], color=line, linewidth=wide, solid_capstyle="round", clip_on=False)
        ends = measured[np.flatnonzero(seen)[[0, -1]], number, :2]
        for (x, y), inside in zip(ends.tolist(), (PAPER, CUBES[colour]), strict=True):
            axes.plot(
                [x], [y], marker="o", markersize=5.5, color=inside, markeredgecolor=CUBES[colour], markeredgewidth=1.6,
                linestyle="", clip_on=False,
            )  # fmt: skip


def _timelines(axes: Axes, shown: Shown) -> None:
    """A lane a view and colour that is anywhere in the episode."""
    there = [
        (number, place) for place in range(len(VIEWS)) for number in range(len(COLOURS))
        if shown.measured[:, number, place].any()
    ]  # fmt: skip
    stride = -(-len(shown.measured) // MOST_POINTS)
    starts = np.arange(0, len(shown.measured), stride)
    at_s = starts / shown.rate_hz
    end_s = len(shown.measured) / shown.rate_hz
    for lane, (number, place) in enumerate(reversed(there)):
        counts = np.diff(np.append(starts, len(shown.measured)))
        known = shown.measured[:, number, place, :2].any(axis=1)
        seen = np.add.reduceat(shown.measured[:, number, place, 3].astype(np.float64), starts) / counts
        colour = CUBES[COLOURS[number]]
        held = np.where(np.add.reduceat(known, starts) > 0, float(lane), np.nan)
        axes.plot(np.append(at_s, end_s), np.append(held, held[-1]), color=colour, linewidth=0.8)
        steps = np.flatnonzero(np.append(True, np.abs(np.diff(seen.round(2))) > 0))
        x, y = np.repeat(np.append(at_s[steps], end_s), 2)[1:-1], np.repeat(lane + 0.8 * seen[steps], 2)
        axes.fill_between(x, lane, y, color=colour, alpha=0.85, linewidth=0)
    axes.set_yticks([lane + 0.4 for lane in range(len(there))])
    axes.set_yticklabels([f"{COLOURS[number]} {VIEWS[place]}" for number, place in reversed(there)], fontsize=TEXT_PT)
    axes.tick_params(axis="y", length=0)
    axes.grid(False, axis="y")
    for lane in range(len(there) + 1):
        axes.axhline(lane, color=LINE, linewidth=0.5, zorder=0)
    axes.set(xlim=(0, end_s), ylim=(-0.1, max(1, len(there)) + 0.05))
    axes.set_xlabel("time [s]")
    axes.set_title("visibility" if there else "no cube seen", loc="left", fontsize=TITLE_PT)


def _compressed(drawn: Drawing) -> Drawing:
    """The frames as WebP: matplotlib stores them as PNG, eight times as large."""

    def webp(match: re.Match[str]) -> str:
        stored = np.frombuffer(base64.b64decode(match[1]), np.uint8)
        pixels = cv2.imdecode(stored, cv2.IMREAD_COLOR)
        assert pixels is not None
        image = cv2.imencode(".webp", pixels, [cv2.IMWRITE_WEBP_QUALITY, WEBP_QUALITY])[1].tobytes()
        return f'href="data:image/webp;base64,{base64.b64encode(image).decode()}"'

    smooth = _PIXELATED.sub("", drawn.svg)
    return replace(drawn, svg=_PNG.sub(webp, smooth))
