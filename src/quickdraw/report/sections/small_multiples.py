"""One small plot a dimension: how its values spread in each split, and the statistics in use below.

All are drawn into one pair of axes that measures inches: axes of their own would take most of a report's time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from quickdraw.core.grid import Float64, Int64
from quickdraw.report.parts import Drawing
from quickdraw.report.plots import FAINT, INK, LINE, TEXT_PT, TITLE_PT, WARN, colour_of, drawing, sheet
from quickdraw.report.sections.scaling import Scaling
from quickdraw.report.sections.spread import FINE_BINS, Spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS: Final = 5
WIDTH_IN, HEAD_IN, PANEL_IN, ACROSS_IN, GAP_IN = 9.0, 0.32, 1.3, 1.6, 0.2
TITLE_IN, FEATURE_IN, FOOT_IN, STATISTICS_IN, TICKS_IN = 0.2, 0.14, 0.36, 0.1, 0.32
BINS: Final = 40
TITLE_LETTERS: Final = 25  # as many fit over a plot
# Values this rare at either end are left out of sight where they would press all others together.
RARE: Final = 0.001


@dataclass(frozen=True, slots=True)
class _Ink:
    """Lines of a kind are one line with gaps, for each of its own takes its time."""

    axes: Axes
    lines: dict[tuple[str, float], list[Float64]] = field(default_factory=dict)
    dots: list[tuple[float, float]] = field(default_factory=list)

    def line(self, x: Float64 | Sequence[float], y: Float64 | Sequence[float], colour: str, width: float) -> None:
        self.lines.setdefault((colour, width), []).append(np.array([[*x, np.nan], [*y, np.nan]], np.float64))

    def text(self, x: float, y: float, words: str, **style: object) -> None:
        self.axes.text(x, y, words, **{"fontsize": TEXT_PT, "color": FAINT, **style})  # type: ignore[arg-type]  # of many types

    def spread(self) -> None:
        """Draw the lines and dots, faint ones first."""
        for (colour, width), pieces in sorted(self.lines.items(), key=lambda each: each[0][0] != LINE):
            x, y = np.concatenate(pieces, axis=1)
            self.axes.plot(x, y, color=colour, linewidth=width)
        if self.dots:
            x, y = np.array(self.dots).T
            self.axes.plot(x, y, color=INK, marker="o", markersize=4, linestyle="")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a plot lies [in]: left end and foot of its bars, and how high they may be."""

    x: float
    y: float
    height: float


def panels(
    scalings: Sequence[Scaling],
    measured: Mapping[str, Mapping[str, Spread]],
    ranges: Mapping[str, tuple[Float64, Float64]],
    *,
    name: str,
    splits: tuple[str, ...],
) -> Drawing:
    """A drawing of all dimensions of some features; `measured` by split and feature, `ranges` by feature.

    `splits` are those of the page, which tell the colours.
    """
    shown = [(scaling, dim) for scaling in scalings for dim in range(len(scaling.names))]
    several = len(scalings) > 1
    pitch = PANEL_IN + FEATURE_IN * several
    height = HEAD_IN + -(-len(shown) // COLUMNS) * pitch
    figure, grid = sheet(width_in=WIDTH_IN, height_in=height)
    figure.set_layout_engine(None)
    ink = _Ink(_in_inches(figure, grid[0, 0]))
    for number, (scaling, dim) in enumerate(shown):
        spreads = {split: each[scaling.feature] for split, each in measured.items() if scaling.feature in each}
        low, high = (float(each[dim]) for each in ranges[scaling.feature])
        top = height - HEAD_IN - number // COLUMNS * pitch
        _title(ink, scaling, dim, (GAP_IN / 2 + number % COLUMNS * (ACROSS_IN + GAP_IN), top), several)
        y = top - pitch + FOOT_IN
        place = _Place(
            GAP_IN / 2 + number % COLUMNS * (ACROSS_IN + GAP_IN), y, top - TITLE_IN - FEATURE_IN * several - y
        )
        ends = _panel(ink, place, {split: each.counts[dim] for split, each in spreads.items()}, (low, high), splits)
        _statistics(ink, place, scaling, dim, ends)
    ink.spread()
    _legend(figure, tuple(measured), splits)
    what = ", ".join(scaling.feature for scaling in scalings)
    caption = (
        f"{what}. Height: square root of the share of a split's rows, so that what is rare is seen too. "
        "Below each: mean ± std in use (thick), q01 to q99 in use (thin)."
    )
    alt = f"Histograms of the {len(shown)} dimensions of {what} in {', '.join(measured)}."
    return drawing(figure, name=name, caption=caption, alt=alt)


def _in_inches(figure: Figure, axes: Axes) -> Axes:
    axes.set_position((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_autoscale_on(False)
    axes.set(xlim=(0, figure.get_figwidth()), ylim=(0, figure.get_figheight()))
    return axes


def _legend(figure: Figure, shown: tuple[str, ...], splits: tuple[str, ...]) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=colour_of(name, splits), linewidth=2, label=name) for name in shown]
    handles.append(Line2D([], [], color=INK, linewidth=2.4, marker="o", markersize=4, label="mean ± std in use"))
    handles.append(Line2D([], [], color=INK, linewidth=0.8, marker="|", markersize=5, label="q01 to q99 in use"))
    figure.legend(
        handles=handles, loc="upper left", ncols=len(handles), fontsize=TITLE_PT, borderaxespad=0.2,
        handlelength=1.4, columnspacing=1.2,
    )  # fmt: skip


def _title(ink: _Ink, scaling: Scaling, dim: int, corner: tuple[float, float], several: bool) -> None:
    """The dimension's name and unit, below its feature's where there are several; smaller where they are long."""
    unit = scaling.units[dim]
    lines = [scaling.feature.removeprefix("observation.")] if several else []
    lines.append(scaling.names[dim] + (f" [{unit}]" if unit else ""))
    size = max(6.0, min(TITLE_PT, TITLE_PT * TITLE_LETTERS / max(map(len, lines))))
    most = round(TITLE_LETTERS * TITLE_PT / size)
    for number, line in enumerate(lines):
        words = line if len(line) <= most else f"{line[: most // 2]}…{line[1 - most // 2 :]}"
        x, y = corner[0], corner[1] - 0.75 * TITLE_IN - number * FEATURE_IN
        ink.text(x, y, words, fontsize=size, color=INK if number == len(lines) - 1 else FAINT)


def _panel(
    ink: _Ink, place: _Place, counts: Mapping[str, Int64], bounds: tuple[float, float], splits: tuple[str, ...]
) -> tuple[float, float] | None:
    """The bars of every split, by the counts of one dimension in each, and the values at either end, if any."""
    low, high = bounds
    middle = place.x + ACROSS_IN / 2
    if not low < high:
        words = f"{low:.6g} in every row".replace("-", "−") if low == high else "no value in any row"
        ink.text(middle, place.y + place.height / 2, words, ha="center", va="center")
        ink.line([place.x, place.x + ACROSS_IN], [place.y, place.y], LINE, 0.8)
        return None
    edges, heights, beyond = _bars(counts, low, high)
    ends = (float(edges[0]), float(edges[-1]))
    x = place.x + np.repeat((edges - ends[0]) * (ACROSS_IN / (ends[1] - ends[0])), 2)
    for number, (name, height) in enumerate(heights.items()):
        y = np.concatenate([[0.0], np.repeat(height, 2), [0.0]])
        if number == 0:
            filled = place.y + place.height * y
            ink.axes.fill_between(x, place.y, filled, color=colour_of(name, splits), alpha=0.28, linewidth=0)
        flat = (y == 0) & (np.append(y[1:], 0) == 0) & (np.insert(y[:-1], 0, 0) == 0)
        ink.line(x, np.where(flat, np.nan, place.y + place.height * y), colour_of(name, splits), 1.1)
    _ticks(ink, place, ends)
    if beyond:
        words = f"{beyond} row{'s' * (beyond > 1)} beyond"
        ink.text(place.x + ACROSS_IN, place.y + place.height, words, ha="right", va="top", fontsize=7, color=WARN)
    return ends


def _bars(counts: Mapping[str, Int64], low: float, high: float) -> tuple[Float64, dict[str, Float64], int]:
    """Edges `(B + 1,)` of at most `BINS` bars, heights `(B,)` in [0, 1] by split, how many values are out of sight."""
    shares = {name: each / max(1, int(each.sum())) for name, each in counts.items()}
    # Where the bulk of every split lies; what is beyond it is shown too, unless it takes three quarters of the width.
    upto = np.array([np.cumsum(each) for each in shares.values() if each.any()])
    first = int((upto > RARE).argmax(axis=1).min())
    last = int((upto >= 1 - RARE).argmax(axis=1).max()) + 1
    if (last - first) * 4 > FINE_BINS:
        first, last = 0, FINE_BINS
    step = -(-(last - first) // BINS)
    last = min(FINE_BINS, first + step * -(-(last - first) // step))
    edges = np.append(np.arange(first, last, step), last)
    heights = {name: np.sqrt(np.add.reduceat(each[:last], edges[:-1])) for name, each in shares.items()}
    top = max(float(each.max()) for each in heights.values())
    heights = {name: each / top for name, each in heights.items()}
    beyond = sum(int(each[:first].sum() + each[last:].sum()) for each in counts.values())
    return low + edges * ((high - low) / FINE_BINS), heights, beyond


def _ticks(ink: _Ink, place: _Place, ends: tuple[float, float]) -> None:
    """One to four round numbers, none at the very edge, where the neighbour's would be."""
    from matplotlib.ticker import MaxNLocator

    foot, (low, high) = place.y - 0.5 * FOOT_IN, ends
    for y in (place.y, foot):
        ink.line([place.x, place.x + ACROSS_IN], [y, y], LINE, 0.8)
    for tick in map(float, MaxNLocator(3).tick_values(low, high)):
        share = (tick - low) / (high - low)
        if 0.04 < share < 0.96:
            x = place.x + share * ACROSS_IN
            ink.line([x, x], [foot - 0.03, place.y + place.height], LINE, 0.5)
            words = f"{0.0 if abs(tick) < (high - low) * 1e-9 else tick:.6g}".replace("-", "−")
            ink.text(x, place.y - TICKS_IN, words, ha="center")


def _statistics(ink: _Ink, place: _Place, scaling: Scaling, dim: int, ends: tuple[float, float] | None) -> None:
    """Mean and standard deviation, and the quantiles, in use; or that the dimension passes through unchanged."""
    y = place.y - STATISTICS_IN
    if dim in scaling.identity:
        ink.text(place.x + ACROSS_IN / 2, y, "identity: left as it is", ha="center", va="center", fontsize=7)
    if dim in scaling.identity or ends is None:
        return
    mean, std, q01, q99 = (float(scaling.values[name][dim]) for name in ("mean", "std", "q01", "q99"))

    def across(*values: float) -> list[float]:
        shares = (np.array(values) - ends[0]) / (ends[1] - ends[0])
        return list(place.x + np.clip(shares, 0, 1) * ACROSS_IN)

    if np.isfinite([q01, q99]).all():
        ink.line(across(q01, q99), [y, y], INK, 0.8)
        for value in (q01, q99):
            if ends[0] <= value <= ends[1]:
                ink.line(across(value, value), [y - 0.035, y + 0.035], INK, 0.8)
    if np.isfinite([mean, std]).all():
        ink.line(across(mean - std, mean + std), [y, y], INK, 2.4)
        if ends[0] <= mean <= ends[1]:
            ink.dots.append((across(mean)[0], y))
