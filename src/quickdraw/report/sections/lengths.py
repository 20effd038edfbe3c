"""How long the episodes are, which of them val took, and what training windows are left at which horizon."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from quickdraw.core.grid import Float64, Int64
from quickdraw.pipeline.documents import WINDOW
from quickdraw.report.parts import Cell as Shown
from quickdraw.report.parts import Column, Drawing, Part, Section, Table
from quickdraw.report.sections.cells import amount, count, table
from quickdraw.report.sections.logarithmic import plain_numbers
from quickdraw.report.subject import FIRST, Subject, Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_BARS = 300
POINTS = 300
LEGEND_COLUMNS = 6


def lengths_section(subject: Subject) -> Section | None:
    """Of every dataset that holds an episode."""
    lengths = lengths_of(subject)
    lengths = {name: rows for name, rows in lengths.items() if rows.size}
    if not lengths:
        return None
    rate_hz = next(iter(subject.splits.values())).rate_hz
    parts: list[Part] = []
    if any(name in lengths for name in FIRST):
        parts.append(_bars(lengths, rate_hz, subject.trace))
    parts += [_horizons(lengths, rate_hz), _table(lengths, rate_hz)]
    return Section("lengths", "Lengths, and the horizon they allow", _lead(subject.trace, lengths), tuple(parts))


def lengths_of(subject: Subject) -> dict[str, Int64]:
    """Split -> rows of each of its episodes `(E,)`, in their order."""
    return {
        name: np.array([int(told["length"]) for told in reader.episodes], np.int64)
        for name, reader in subject.splits.items()
    }


def windows(lengths: Int64, horizon: Int64) -> Int64:
    """How many stretches of `horizon` `(N,)` rows there are inside episodes of `lengths` `(E,)` rows, `(N,)`."""
    ordered = np.sort(lengths)
    sums = np.concatenate([[0], np.cumsum(ordered)])
    begun = np.searchsorted(ordered, horizon, side="left")
    number = len(ordered) - begun
    return np.asarray(sums[-1] - sums[begun] - number * (horizon - 1))


def _lead(trace: Trace | None, lengths: Mapping[str, Int64]) -> str:
    if trace is None or "val" not in lengths:
        return "Every episode of train and val by its length, and how many windows of each length there are."
    return f"{rule_of(trace)} Held-out campaigns are splits of their own, and no part of that choice."


def rule_of(trace: Trace) -> str:
    """How val was chosen, in words."""
    if trace.chosen.val_runs:
        return "Val is frozen: its runs are those an earlier dataset or the configuration names, whatever their length."
    if trace.chosen.val_rule == "random":
        return f"Val was drawn at random from the pool, by seed {trace.chosen.seed}, whatever the runs' length."
    return (
        "The longest runs of the pool went to val, for only they can show whether a policy holds over a long horizon: "
        "all left of the cut is val, all right of it is train."
    )


def is_longest(trace: Trace | None) -> bool:
    """Whether val holds the longest runs by rule."""
    return trace is not None and not trace.chosen.val_runs and trace.chosen.val_rule == "longest"


def _bars(lengths: Mapping[str, Int64], rate_hz: int, trace: Trace | None) -> Drawing:
    from matplotlib.ticker import MaxNLocator

    from quickdraw.report.plots import colour_of, drawing, sheet

    pool = [name for name in FIRST if name in lengths]
    rows = np.concatenate([lengths[name] for name in pool])
    owner = np.repeat(np.arange(len(pool)), [len(lengths[name]) for name in pool])
    order = np.lexsort((-owner, -rows))  # of equal lengths val first, as it took them
    cut = int(np.count_nonzero(owner == pool.index("val"))) if "val" in pool else 0
    drawn = np.unique(np.linspace(0, len(order) - 1, min(MOST_BARS, len(order))).astype(np.int64))
    picked = order[drawn]
    figure, grid = sheet(1, 1, height_in=2.6)
    axes: Axes = grid[0, 0]
    scale = len(order) / len(drawn)
    for number, name in enumerate(pool):
        at = np.flatnonzero(owner[picked] == number)
        axes.bar(1 + drawn[at], rows[picked][at] / rate_hz, width=0.85 * scale, color=colour_of(name), label=name)
    if cut and len(pool) > 1 and is_longest(trace):
        _line(axes, cut + 0.5, f"cut: {rows[order[cut - 1]] / rate_hz:.1f} s")
    axes.set_xlabel("episodes of the pool, the longest first")
    axes.set_ylabel("length [s]")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlim(1 - 0.7 * scale, len(order) + 0.7 * scale)
    axes.set_ylim(0, 1.12 * rows.max() / rate_hz)
    figure.legend(fontsize=8, loc="outside upper left", ncols=LEGEND_COLUMNS)
    every = f" About every {scale:.0f}th of {len(order):,} is drawn." if scale > 1 else ""
    caption = f"Length of every episode of the pool, coloured by split.{every}"
    alt = "; ".join(f"{n}: {len(lengths[n]):,} episodes, {lengths[n].max() / rate_hz:.1f} s the longest" for n in pool)
    return drawing(figure, name="lengths", caption=caption, alt=f"Bar chart of lengths. {alt}.")


def _horizons(lengths: Mapping[str, Int64], rate_hz: int) -> Drawing:
    from quickdraw.report.plots import FAINT, LINE, colour_of, drawing, sheet

    longest = max(int(rows.max()) for rows in lengths.values())
    horizon = np.unique(np.linspace(1, longest, POINTS).astype(np.int64))
    figure, grid = sheet(1, 1, height_in=2.8)
    axes: Axes = grid[0, 0]
    for name, rows in lengths.items():
        found = windows(rows, horizon)
        there = found > 0
        axes.plot(horizon[there], found[there], color=colour_of(name, tuple(lengths)), linewidth=1.4, label=name)
    if longest >= WINDOW:
        _line(axes, WINDOW, f"{WINDOW} rows")
    axes.set_yscale("log")
    plain_numbers(axes)
    axes.set_xlim(0, longest * 1.02 + 1)
    axes.set_xlabel(f"horizon: rows of a window ({rate_hz} are a second)")
    axes.set_ylabel("windows")
    seconds = axes.secondary_xaxis("top", functions=(_divided_by(rate_hz), _divided_by(1 / rate_hz)))
    seconds.set_xlabel("horizon [s]", fontsize=8, color=FAINT)
    seconds.tick_params(labelsize=8, labelcolor=FAINT, color=LINE)
    seconds.spines["top"].set_color(LINE)
    figure.legend(fontsize=8, loc="outside upper left", ncols=LEGEND_COLUMNS)
    caption = (
        "How many windows of so many rows a split has, each inside one episode; a line ends where its longest episode "
        f"does. A loader that takes 8 past and 64 future rows sees the number at {WINDOW}."
    )
    alt = "; ".join(f"{name}: {_at_window(rows):,} windows of {WINDOW} rows" for name, rows in lengths.items())
    return drawing(figure, name="horizons", caption=caption, alt=f"Windows against horizon. {alt}.")


def _line(axes: Axes, at: float, text: str) -> None:
    """A dashed line across the plot, and beside its upper end what it marks."""
    from quickdraw.report.plots import FAINT

    axes.axvline(at, color=FAINT, linewidth=1, linestyle=(0, (4, 2)))
    axes.annotate(
        text, (at, 1.0), (4, -2), ("data", "axes fraction"), "offset points", va="top", color=FAINT, fontsize=8
    )


def _divided_by(rate_hz: float) -> Callable[[npt.ArrayLike], Float64]:
    return lambda at: np.asarray(at, np.float64) / rate_hz


def _at_window(lengths: Int64) -> int:
    return int(windows(lengths, np.array([WINDOW]))[0])


def _table(lengths: Mapping[str, Int64], rate_hz: int) -> Table:
    columns = (
        Column("split"),
        *(Column(name, "s", True) for name in ("shortest", "median", "longest")),
        Column("longest", "rows", True),
        Column(f"windows of {WINDOW} rows", "", True),
        Column("episodes shorter than one", "", True),
    )
    rows = [_row(name, lengths[name], rate_hz) for name in lengths]
    return table("length-table", "Lengths of the episodes of each split.", columns, rows)


def _row(name: str, rows: Int64, rate_hz: int) -> tuple[Shown, ...]:
    seconds: Sequence[float] = [float(find(rows)) / rate_hz for find in (np.min, np.median, np.max)]
    short = int(np.count_nonzero(rows < WINDOW))
    cells = (*(amount(value, 2) for value in seconds), count(int(rows.max())), count(_at_window(rows)))
    return Shown(name), *cells, count(short, mark=short > 0)
