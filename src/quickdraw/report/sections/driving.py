"""How the operator drove, from what the recorder noted of its commands: shown here, and no part of the dataset."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from quickdraw.report.parts import Cell, Column, Drawing, Part, Section, Table
from quickdraw.report.sections.cells import NOTHING, count, percent, table
from quickdraw.report.subject import Driven, Subject, TracedEpisode

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WORST = 10  # episodes that are listed
BINS = 20  # of equal width


def driving_section(subject: Subject) -> Section | None:
    """Of a dataset whose recorder noted what it commanded."""
    episodes = [episode for episode in (subject.trace.episodes if subject.trace else ()) if episode.commanded]
    if not episodes:
        return None
    parts: list[Part] = [_by_campaign(episodes)]
    if any(driven(episode).idle_share is not None for episode in episodes):
        parts.append(_drawing(subject, episodes))
    parts.append(_worst(episodes))
    lead = (
        "This is no part of the dataset: it is counted in the commands the recorder noted, inside each episode's "
        "window, and kept in provenance.json. Idle is a tick whose command moved nothing; clamped one whose target "
        "was cut at the workspace; re-anchored one at which the target was set anew to where the arm was."
    )
    return Section("driving", "How the operator drove", lead, tuple(parts))


def driven(episode: TracedEpisode) -> Driven:
    """What was counted of an episode, nothing where there is nothing to count."""
    return episode.commanded or Driven(0, None, None, None)


def total(counts: Iterable[int | None]) -> int | None:
    """Their sum; None where none of them is known."""
    known = [number for number in counts if number is not None]
    return sum(known) if known else None


def idle_share(episodes: Sequence[TracedEpisode]) -> float | None:
    """Of all their ticks; None where it is known of none."""
    known = [driven(e) for e in episodes if driven(e).idle_share is not None and driven(e).ticks]
    ticks = sum(each.ticks for each in known)
    return sum(each.ticks * (each.idle_share or 0.0) for each in known) / ticks if ticks else None


def _by_campaign(episodes: Sequence[TracedEpisode]) -> Table:
    campaigns = dict[str, list[TracedEpisode]]()
    for episode in episodes:
        campaigns.setdefault(episode.campaign, []).append(episode)
    rows = [(Cell(name), count(len(campaigns[name])), *_cells(campaigns[name])) for name in sorted(campaigns)]
    rows.append((Cell("all"), count(len(episodes)), *_cells(episodes)))
    columns = (Column("campaign"), Column("episodes", "", True), *_columns())
    return table("driving-campaigns", "All episodes of each campaign together.", columns, rows)


def _columns() -> Iterable[Column]:
    yield Column("ticks", "", True)
    yield Column("idle", "% of ticks", True)
    for name in ("clamped", "re-anchored"):
        yield Column(name, "ticks", True)
        yield Column(name, "% of ticks", True)


def _cells(episodes: Sequence[TracedEpisode]) -> Iterable[Cell]:
    yield count(sum(driven(episode).ticks for episode in episodes))
    yield percent(idle_share(episodes))
    for name in ("clamped", "reanchored"):
        known = [driven(episode) for episode in episodes if getattr(driven(episode), name) is not None]
        found, ticks = total(getattr(each, name) for each in known), sum(each.ticks for each in known)
        yield NOTHING if found is None else count(found)
        yield percent(None if found is None or not ticks else found / ticks)


def _worst(episodes: Sequence[TracedEpisode]) -> Table:
    """Those that stood still, were clamped or re-anchored most: the more of it, the higher up."""

    def troubled(episode: TracedEpisode) -> float:
        told = driven(episode)
        ticks = max(told.ticks, 1)
        return max(told.idle_share or 0.0, (told.clamped or 0) / ticks, (told.reanchored or 0) / ticks)

    worst = sorted(episodes, key=lambda e: (-troubled(e), e.split, e.episode_index))[:WORST]
    columns = (Column("split"), Column("episode", "", True), Column("campaign"), Column("run"), *_columns())
    rows = [(Cell(e.split), count(e.episode_index), Cell(e.campaign), Cell(e.run), *_cells([e])) for e in worst]
    caption = "The episodes of which the largest share of ticks was idle, clamped or re-anchored."
    return table("driving-worst", caption, columns, rows, sortable=True)


def _drawing(subject: Subject, episodes: Sequence[TracedEpisode]) -> Drawing:
    from matplotlib.ticker import MaxNLocator

    from quickdraw.report.plots import colour_of, drawing, sheet

    splits = list(subject.splits)
    shares = {name: [driven(e).idle_share for e in episodes if e.split == name] for name in splits}
    known = {name: [100 * share for share in held if share is not None] for name, held in shares.items()}
    known = {name: held for name, held in known.items() if held}
    figure, grid = sheet(1, 1, height_in=2.2)
    axes: Axes = grid[0, 0]
    most = max((max(held) for held in known.values()), default=0.0)
    edges = np.linspace(0, 100 if most > 50 else max(5.0, float(np.ceil(most))), BINS + 1)
    colours = [colour_of(name, splits) for name in known]
    axes.hist(list(known.values()), bins=edges.tolist(), stacked=True, color=colours, label=list(known), rwidth=0.9)
    axes.set_xlabel("idle ticks of an episode [%]")
    axes.set_ylabel("episodes")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(fontsize=8, loc="upper right")
    caption = "In how many episodes the operator commanded nothing for so much of the time."
    alt = "; ".join(f"{name}: {max(held):.1f} % at most" for name, held in known.items())
    return drawing(figure, name="idle", caption=caption, alt=f"Idle share by episode. {alt}.")
