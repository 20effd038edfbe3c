"""How far nearest-in-time resampling moved the samples of each stream, over all rows of all episodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from quickdraw.core.grid import Float64
from quickdraw.core.resample import DECILES
from quickdraw.report.parts import Cell, Column, Drawing, Part, Section, Table, Words
from quickdraw.report.sections.cells import amount, count, percent, table
from quickdraw.report.sections.episodes import MS
from quickdraw.report.subject import Moved, Subject, TracedEpisode

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHARES = np.array([*DECILES[:-1], 0.99, 1.0])  # of the rows, whose displacements are known
POINTS = 200  # of a curve
MOST_STREAMS = 12  # that are drawn
ACROSS = 3


@dataclass(slots=True)
class Stream:
    """One stream in all episodes that have it."""

    name: str
    episodes: list[TracedEpisode] = field(default_factory=list)

    def moved(self) -> list[Moved]:
        """What each of its episodes says of it."""
        return [episode.displacement[self.name] for episode in self.episodes]

    def rows(self) -> Float64:
        """`(E,)` rows of each of its episodes."""
        return np.array([episode.frames for episode in self.episodes], np.float64)

    def max_s(self) -> float:
        """The farthest any row was moved."""
        return max(moved.max_s for moved in self.moved())


def displacements_section(subject: Subject) -> Section | None:
    """Of a dataset whose streams were resampled, and that says how far."""
    streams = streams_of(subject.trace.episodes if subject.trace else ())
    if not streams:
        return None
    parts: list[Part] = [_table(streams)]
    told = [stream for stream in streams if all(moved.deciles_s for moved in stream.moved())]
    if told:
        parts.append(_drawing(told))
    if len(told) < len(streams):
        parts.append(Words("Built before distributions were kept: build it again to see those that are missing."))
    lead = (
        "Each row takes of every stream the sample nearest in time; nothing is interpolated and nothing shifted. "
        "A displacement is how far that sample lies from its row's time. Half the stream's usual interval is the bound "
        "no nearest sample of an even stream exceeds; what lies beyond it fell into a hiccup, or beside a late sample."
    )
    return Section("displacements", "How far samples were moved in time", lead, tuple(parts))


def streams_of(episodes: Sequence[TracedEpisode]) -> list[Stream]:
    """Every stream, in the order they are met."""
    found = dict[str, Stream]()
    for episode in episodes:
        for name in episode.displacement:
            found.setdefault(name, Stream(name)).episodes.append(episode)
    return list(found.values())


def _table(streams: Sequence[Stream]) -> Table:
    columns = (
        Column("stream"),
        Column("max", "ms", True),
        Column("worst p99", "ms", True),
        Column("bound", "ms", True),
        Column("past bound", "%", True),
        Column("hiccups", "", True),
        Column("episodes", "", True),
        Column("worst"),
    )
    rows = []
    for stream in streams:
        moved, weights = stream.moved(), stream.rows()
        worst = stream.episodes[int(np.argmax([each.max_s for each in moved]))]
        past = float(np.dot([each.past_bound for each in moved], weights) / weights.sum())
        rows.append(
            (
                Cell(stream.name),
                amount(stream.max_s() * MS, 2),
                amount(max(each.p99_s for each in moved) * MS, 2),
                _bounds(moved),
                percent(past),
                count(sum(each.gaps for each in moved)),
                count(len(moved)),
                Cell(f"{worst.split} {worst.episode_index}"),
            )
        )
    caption = (
        "All rows of all episodes. Worst p99 is that of the episode where it is largest, worst the episode that holds "
        "the maximum. A hiccup is an interval of the stream longer than three of its usual ones."
    )
    return table("displacement", caption, columns, rows, sortable=True)


def _bounds(moved: Sequence[Moved]) -> Cell:
    """The bound, from the least to the largest of any episode where they differ."""
    least, most = (find(each.bound_s for each in moved) * MS for find in (min, max))
    texts = list(dict.fromkeys(f"{bound:,.2f}" for bound in (least, most)))
    return Cell(" – ".join(texts), most)


def mixture(stream: Stream, at_s: Float64) -> Float64:
    """Share of all the stream's rows that were moved by at most `at_s` `(N,)` [s], `(N,)` in 0 .. 1.

    Within an episode the distribution is piecewise linear between what is known of it: deciles, p99 and maximum.
    """
    weights, total = stream.rows(), np.zeros(len(at_s))
    for moved, weight in zip(stream.moved(), weights, strict=True):
        known = np.maximum.accumulate([*moved.deciles_s[:-1], moved.p99_s, moved.max_s])
        # Of equal values `interp` takes the last, which is the share of all rows up to it.
        total += weight * np.interp(at_s, known, SHARES, left=0.0, right=1.0)
    return np.asarray(total / weights.sum())


def _drawing(streams: Sequence[Stream]) -> Drawing:
    from quickdraw.report.plots import drawing, sheet

    shown = sorted(streams, key=lambda stream: -stream.max_s())[:MOST_STREAMS]
    shown = [stream for stream in streams if stream in shown]
    across = min(ACROSS, len(shown))
    down = -(-len(shown) // across)
    figure, grid = sheet(down, across, height_in=0.4 + 1.7 * down)
    for number, axes in enumerate(grid.flat):
        if number >= len(shown):
            axes.set_visible(False)
            continue
        _draw(axes, shown[number])
        if number % across == 0:
            axes.set_ylabel("share of rows [%]")
        if number + across >= len(shown):
            axes.set_xlabel("displacement, at most [ms]")
    left = (
        f" The {len(shown)} streams that were moved farthest, of {len(streams)}." if len(streams) > len(shown) else ""
    )
    caption = (
        "Share of all rows that were moved by at most so much. The dashed line is the bound (a band where it differs "
        f"from episode to episode): an even stream rises straight to it and is at 100 % there.{left}"
    )
    alt = "; ".join(f"{stream.name}: at most {stream.max_s() * MS:.2f} ms" for stream in shown)
    return drawing(figure, name="displacement-distribution", caption=caption, alt=f"Displacements. {alt}.")


def _draw(axes: Axes, stream: Stream) -> None:
    from quickdraw.report.plots import ACCENT, SERIES, WARN

    least, most = (find(moved.bound_s for moved in stream.moved()) * MS for find in (min, max))
    end = max(stream.max_s() * MS, most) * 1.05 or 1.0
    at = np.unique(np.concatenate([np.linspace(0, end, POINTS), _steps(stream) * MS]))
    share = 100 * mixture(stream, at / MS)
    axes.plot(at, share, color=SERIES[0], linewidth=1.4)
    axes.fill_between(at, share, color=SERIES[0], alpha=0.12, linewidth=0)
    axes.axvline(most, color=WARN, linewidth=1.0, linestyle=(0, (4, 2)))
    if most - least > end / POINTS:
        axes.axvspan(least, most, color=ACCENT, alpha=0.15, linewidth=0)
    axes.set_xlim(0, end)
    axes.set_ylim(0, 103)
    axes.set_title(stream.name, fontsize=8, loc="left")


def _steps(stream: Stream) -> Float64:
    """Where the curve may be bent or step, of so few episodes that it shows."""
    moved = stream.moved()
    return np.array([value for each in moved for value in each.deciles_s]) if len(moved) <= ACROSS else np.zeros(0)
