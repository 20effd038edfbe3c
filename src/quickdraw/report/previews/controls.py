"""What a preview tells of an action, row by row: two sticks and a gripper where it has them, bars where it has not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import cv2
import numpy as np
import numpy.typing as npt

from quickdraw.core.grid import Float64
from quickdraw.formats.lerobot.reader import SplitReader
from quickdraw.report.drawing import Rgb
from quickdraw.report.previews.canvas import ASKED, FAINT, FIELD, INK, MEASURED, write
from quickdraw.report.vectors import told_of, vectors_of, width_of

ACTION, STATE = "action", "observation.state"
STICK_AXES: Final = (("move_x", "move_y"), ("yaw", "height"))  # to the right, upwards
GRIPPER: Final = "gripper"

STICK_PX, GRIPPER_PX, BARS_PX = 190, 250, 640
CENTRE: Final = (78, 92)
RADIUS_PX, DOT_PX, TRAIL_ROWS = 54, 7, 15
TRACK_PX = 210
MOST_BARS, BARS_A_COLUMN = 12, 4


class Panel(Protocol):
    """A part of the strip below the pictures, `width` pixels wide."""

    @property
    def width(self) -> int:
        """In pixels."""
        ...

    def draw_still(self, strip: Rgb) -> None:
        """Draw what is the same in every row onto its part of the strip."""
        ...

    def draw(self, strip: Rgb, row: int) -> None:
        """Draw what one row has."""
        ...


@dataclass(frozen=True, slots=True)
class Stick:
    """Two axes of an action, `values` `(T, 2)` in [-1, 1]: a dot in a circle, with where it was half a second ago."""

    names: tuple[str, str]
    values: Float64
    width: int = STICK_PX

    def at(self, row: int) -> tuple[int, int]:
        """Where the dot of a row is on the panel: x, y in pixels."""
        x, y = np.nan_to_num(self.values[row]).clip(-1, 1).tolist()
        return round(CENTRE[0] + x * RADIUS_PX), round(CENTRE[1] - y * RADIUS_PX)

    def draw_still(self, strip: Rgb) -> None:
        """The circle, its cross and the names of its axes."""
        x, y = CENTRE
        cv2.circle(strip, CENTRE, RADIUS_PX, FIELD, -1, cv2.LINE_AA)
        cv2.circle(strip, CENTRE, RADIUS_PX, FAINT, 1, cv2.LINE_AA)
        cv2.line(strip, (x - RADIUS_PX, y), (x + RADIUS_PX, y), FAINT, 1)
        cv2.line(strip, (x, y - RADIUS_PX), (x, y + RADIUS_PX), FAINT, 1)
        write(strip, self.names[1], (x - 24, y - RADIUS_PX - 12), size=0.45, colour=FAINT)
        write(strip, self.names[0], (x + RADIUS_PX + 6, y + 4), size=0.45, colour=FAINT, most_px=52)

    def draw(self, strip: Rgb, row: int) -> None:
        """The trail, the dot, and both values."""
        trail = np.array([self.at(each) for each in range(max(0, row - TRAIL_ROWS), row + 1)], np.int32)
        cv2.polylines(strip, [trail.reshape(-1, 1, 2)], False, (150, 110, 60), 2, cv2.LINE_AA)
        cv2.circle(strip, self.at(row), DOT_PX, ASKED, -1, cv2.LINE_AA)
        values = "  ".join(f"{round(value, 2) + 0.0:+.2f}" for value in self.values[row].tolist())  # no -0.00
        write(strip, values, (CENTRE[0] - 50, CENTRE[1] + RADIUS_PX + 22), size=0.48)


@dataclass(frozen=True, slots=True)
class Gripper:
    """How far the gripper is asked to close, `asked` `(T,)` with 1 for closed, and is, `measured` `(T,)`, 1 for open.

    Both are drawn as how far it is closed and written as the dataset has them.
    """

    asked: Float64
    measured: Float64
    width: int = GRIPPER_PX

    def draw_still(self, strip: Rgb) -> None:
        """The empty bars and their ends."""
        write(strip, "gripper", (0, 24), colour=FAINT)
        write(strip, "open", (0, 164), size=0.42, colour=FAINT)
        write(strip, "closed", (TRACK_PX - 46, 164), size=0.42, colour=FAINT)

    def draw(self, strip: Rgb, row: int) -> None:
        """Both bars, and both values."""
        asked, measured = float(self.asked[row]), float(self.measured[row])
        write(strip, f"asked for  {asked:.2f} (1 closed)", (0, 52), size=0.48, colour=ASKED)
        _fill(strip, (0, 60), TRACK_PX, (0.0, asked), colour=ASKED)
        write(strip, f"measured  {measured:.2f} (1 open)", (0, 112), size=0.48, colour=MEASURED)
        _fill(strip, (0, 120), TRACK_PX, (0.0, 1 - measured), colour=MEASURED)


@dataclass(frozen=True, slots=True)
class Bars:
    """Dimensions of a vector, `values` `(T, D)`, as bars from `low` to `high` `(D,)`; `title` says which they are."""

    title: str
    names: tuple[str, ...]
    values: Float64
    low: Float64
    high: Float64
    width: int = BARS_PX

    def draw_still(self, strip: Rgb) -> None:
        """Title and names."""
        write(strip, self.title, (0, 24), colour=FAINT, most_px=self.width - 12)
        for number, name in enumerate(self.names):
            x, y, wide = self._place(number)
            write(strip, name, (x, y), size=0.42, colour=FAINT, most_px=wide - 70)

    def draw(self, strip: Rgb, row: int) -> None:
        """A bar and a value each."""
        for number, value in enumerate(self.values[row].tolist()):
            x, y, wide = self._place(number)
            low, high = float(self.low[number]), float(self.high[number])
            write(strip, f"{value:9.4g}", (x + wide - 66, y), size=0.42, most_px=66)
            span = high - low if high > low else 1.0
            origin = (min(max(0.0, low), high) - low) / span
            _fill(strip, (x, y + 5), wide, (origin, (value - low) / span), height=9, colour=ASKED)

    def _place(self, number: int) -> tuple[int, int, int]:
        """Left, baseline and width of one."""
        columns = -(-len(self.names) // BARS_A_COLUMN)
        wide = self.width // columns
        return number // BARS_A_COLUMN * wide, 50 + number % BARS_A_COLUMN * 33, wide - 24


def panels_of(split: SplitReader, episode: int) -> list[Panel]:
    """What a split's action is shown by; its state, where it has no action; nothing, where it has neither."""
    feature = next((name for name in (ACTION, STATE) if width_of(split, name)), None)
    if feature is None:
        return []
    names, values = split.dimensions(feature), vectors_of(split, feature, episode)
    axes = {name: values[:, number] for number, name in enumerate(names)}
    if feature == STATE or not {axis for pair in STICK_AXES for axis in pair} <= set(axes):
        return [_bars(split, feature, names, values)]
    panels: list[Panel] = [Stick(pair, np.stack([axes[axis] for axis in pair], axis=1)) for pair in STICK_AXES]
    if GRIPPER in axes and width_of(split, STATE) and GRIPPER in split.dimensions(STATE):
        measured = vectors_of(split, STATE, episode)[:, split.dimensions(STATE).index(GRIPPER)]
        panels.append(Gripper(axes[GRIPPER], measured))
    return panels


def _bars(split: SplitReader, feature: str, names: Sequence[str], values: Float64) -> Bars:
    shown, many = values[:, :MOST_BARS], values.shape[1]
    title = feature if feature == ACTION else f"{feature} (there is no action)"
    if many > MOST_BARS:
        title += f": the first {MOST_BARS} of {many}"
    low, high = (_ends(told_of(split, feature, end), shown, end) for end in ("min", "max"))
    return Bars(title, tuple(names[:MOST_BARS]), shown, low, high)


def _ends(stored: Float64, values: Float64, end: str) -> Float64:
    """The least or the most of each dimension: of the split, where its statistics tell, else of the episode."""
    told = stored[: values.shape[1]]
    if len(told) == values.shape[1] and np.isfinite(told).all():
        return told
    fill, reduce = (np.inf, np.min) if end == "min" else (-np.inf, np.max)
    found: npt.NDArray[np.float64] = reduce(np.where(np.isfinite(values), values, fill), axis=0)
    return np.where(np.isfinite(found), found, 0.0)


def _fill(
    strip: Rgb,
    at: tuple[int, int],
    wide: int,
    shares: tuple[float, float],
    *,
    colour: tuple[int, int, int],
    height: int = 16,
) -> None:
    """A bar of `wide` pixels filled from one share of it to another, with a line where the second is."""
    x, y = at
    strip[y : y + height, x : x + wide] = FIELD
    if not np.isfinite(shares).all():
        return
    start, end = (round(min(max(share, 0.0), 1.0) * (wide - 1)) for share in shares)
    strip[y : y + height, x + min(start, end) : x + max(start, end) + 1] = colour
    strip[y - 2 : y + height + 2, x + end : x + end + 2] = INK
