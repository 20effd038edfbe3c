"""The section on cubes: how much each view saw of each colour, and the tracks of one episode a split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from quickdraw.core.cubes import CUBE, MEASURES, VIEWS
from quickdraw.core.episode import Float32
from quickdraw.core.grid import Int64
from quickdraw.core.hues import COLOURS
from quickdraw.errors import VideoError
from quickdraw.formats.lerobot.reader import SplitReader
from quickdraw.report.parts import Cell, Column, Part, Section, Table, Words
from quickdraw.report.sections.cube_plots import Shown, cube_plot
from quickdraw.report.subject import Subject

SHAPE: Final = (len(COLOURS), len(VIEWS), len(MEASURES))
MOST_SPLITS: Final = 4
# As block_stack has it; what all processors share, as the door that writes a report, may know none of them.
CAMERAS: Final = {"scene": "scene_right", "wrist": "gripper_right_top"}


@dataclass(frozen=True, slots=True)
class Sightings:
    """Rows in which each cube was seen: `seen` `(E, 4, 2)` by episode, colour and view, of `rows` `(E,)`."""

    rows: Int64
    seen: Int64


def cube_tracks_section(subject: Subject) -> Section | None:
    """Tracks over a frame of each view and timelines of visibility, an episode a split, and a table of all rows."""
    splits = {name: split for name, split in subject.splits.items() if _has_cubes(split)}
    if not splits:
        return None
    counted = {name: _sightings(split) for name, split in splits.items()}
    parts: list[Part] = [_table(counted)]
    drawn = list(splits)[:MOST_SPLITS]
    for name in drawn:
        parts += _drawn(name, splits[name], counted[name])
    if len(splits) > len(drawn):
        parts.append(
            Words(f"Tracks of {len(drawn)} splits are drawn; not drawn: {', '.join(list(splits)[len(drawn) :])}.")
        )
    lead = (
        "A track should stay on its cube, and a colour that was not on the table should not appear at all. "
        "Of each split the episode is drawn in which most cubes are seen."
    )
    return Section("cubes", "Cubes", lead, tuple(parts))


def _has_cubes(split: SplitReader) -> bool:
    described = split.info["features"].get(CUBE.name)
    return described is not None and list(described["shape"]) == [CUBE.width]


def _sightings(split: SplitReader) -> Sightings:
    episodes = len(split.episodes)
    rows, seen = np.zeros(episodes, np.int64), np.zeros((episodes, *SHAPE[:2]), np.int64)
    for block in split.blocks([CUBE.name]):
        number = block["episode_index"]
        np.add.at(rows, number, 1)
        np.add.at(seen, number, block[CUBE.name].reshape(-1, *SHAPE)[..., 3] > 0)
    return Sightings(rows, seen)


def _table(counted: dict[str, Sightings]) -> Table:
    """A row a split; a colour that no view of any split saw has no column."""
    there = [number for number in range(len(COLOURS)) if any(each.seen[:, number].any() for each in counted.values())]
    columns = (
        Column("split"), Column("rows", numeric=True),
        *(Column(f"{COLOURS[number]}, {view}", "%", numeric=True) for number in there for view in VIEWS),
    )  # fmt: skip
    rows = []
    for split, each in counted.items():
        total = int(each.rows.sum())
        cells = [Cell(split), Cell(str(total), total)]
        for number in there:
            for place in range(len(VIEWS)):
                share = int(each.seen[:, number, place].sum()) / max(1, total)
                cells.append(Cell(f"{100 * share:.1f}" if each.seen[:, number].any() else "–", share))
        rows.append(tuple(cells))
    caption = "Share of all rows in which each view sees each cube; – where neither view ever does."
    return Table("cubes-seen", caption, columns, tuple(rows), sortable=True)


def _drawn(name: str, split: SplitReader, counted: Sightings) -> list[Part]:
    if not len(counted.rows) or not counted.seen.any():
        return [Words(f"{name}: no cube is seen in any row.")]
    episode = _most_seen(counted)
    measured: Float32 = split.array(CUBE.name, episode).reshape(-1, *SHAPE)
    row = _fullest(measured)
    cameras = {view: camera for view, camera in CAMERAS.items() if camera in split.cameras}
    frames, said = {}, list[Part]()
    for view, camera in cameras.items():
        try:
            frames[view] = np.asarray(
                next(picture for _, picture in split.pictures_at(episode, camera, [row])), np.uint8
            )
        except VideoError as error:
            said.append(
                Words(
                    f"{name}, episode {episode}, {camera}: found {error.found}, expected {error.expected}.",
                    warning=True,
                )
            )
    shown = Shown(
        split=name, episode=episode, rate_hz=split.rate_hz, measured=measured, row=row, frames=frames, cameras=cameras
    )
    return [*said, cube_plot(shown)]


def _most_seen(counted: Sightings) -> int:
    """The episode in which most of colours and views see something, and of those the one that sees most."""
    kinds = (counted.seen > 0).sum(axis=(1, 2))
    return int(np.lexsort((-np.arange(len(kinds)), counted.seen.sum(axis=(1, 2)), kinds))[-1])


def _fullest(measured: Float32) -> int:
    """The row in which most is seen, of those the one nearest to the middle."""
    seen = (measured[..., 3] > 0).sum(axis=(1, 2))
    full = np.flatnonzero(seen == seen.max())
    return int(full[np.abs(full - len(seen) // 2).argmin()])
