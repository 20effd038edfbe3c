"""How Rerun's viewer shows an episode at once: cameras, poses and curves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import batched
from typing import TYPE_CHECKING, Any, Final

from quickdraw.formats.lerobot.reader import SplitReader
from quickdraw.report.viewer.poses import poses_of
from quickdraw.report.viewer.rows import Shown, camera_path, entity_path

if TYPE_CHECKING:
    from rerun.blueprint import Blueprint

UNITS: Final = ("mm", "m", "rad", "deg", "pct", "mn", "n", "s", "ns")
MOST_TOGETHER: Final = 5  # plots in one column, so that each can be read


def layout_of(shown: Shown) -> Blueprint:
    """Cameras and the way of the poses on the left, curves on the right, by unit."""
    import rerun.blueprint as rrb

    split = shown.split
    cameras = [rrb.Spatial2DView(origin=camera_path(camera), name=camera) for camera in split.cameras]
    left: list[Any] = [rrb.Grid(*cameras, name="cameras")] if cameras else []
    if poses_of(split):
        left.append(rrb.Spatial3DView(origin="world", name="poses"))
    plots = [plot for feature in shown.features for plot in _plots(split, feature)]
    columns = [
        rrb.Vertical(*together, name=f"curves {number}")
        for number, together in enumerate(batched(plots, MOST_TOGETHER), 1)
    ]
    right = rrb.Tabs(*columns, rrb.TextDocumentView(origin="about", name="about"))
    body = rrb.Horizontal(rrb.Vertical(*left, row_shares=[3, 2][: len(left)]), right, column_shares=[3, 2])
    return rrb.Blueprint(body, rrb.TimePanel(timeline="time", state="collapsed"), collapse_panels=True)


def _plots(split: SplitReader, feature: str) -> Iterator[Any]:
    """A plot for each group of a feature's dimensions that can share an axis."""
    import rerun.blueprint as rrb

    groups = dict[str, list[str]]()
    for name in split.dimensions(feature):
        groups.setdefault(_axis_of(name), []).append(name)
    for axis, names in groups.items():
        title = f"{feature} {axis or (names[0] if len(names) == 1 else '')}".strip()
        yield rrb.TimeSeriesView(name=title, contents=[entity_path(feature, name) for name in names])


def _axis_of(name: str) -> str:
    """What dimensions on one axis have in common: the unit their names end in, or all but their number."""
    ending = name.rpartition("_")[2]
    if ending in UNITS:
        return f"[{ending}]"
    return name[: -len(ending) - 1] if re.fullmatch(r".+_\d+", name) else ""
