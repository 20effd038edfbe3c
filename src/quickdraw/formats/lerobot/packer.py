"""Episodes to one LeRobot v3.0 split: rows to Parquet, metadata beside them; its videos are `videos.py`'s."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from quickdraw.core.episode import Rows
from quickdraw.core.normalization import pinned
from quickdraw.core.statistics import Statistics, of_rows
from quickdraw.formats.json_document import write_json
from quickdraw.formats.lerobot import schema
from quickdraw.formats.lerobot.bookkeeping import bookkeeping, bookkeeping_statistics
from quickdraw.formats.lerobot.files import Place
from quickdraw.formats.lerobot.schema import DatasetSpec
from quickdraw.formats.lerobot.writer import EpisodesWriter, RollingParquet, write_stats, write_tasks


class PackedEpisode(Protocol):
    """One finished episode as the packer needs it; rows are read only when their turn comes."""

    @property
    def task(self) -> str:
        """Task text."""
        ...

    @property
    def frames(self) -> int:
        """Number of rows, T."""
        ...

    def rows(self) -> Rows:
        """Feature name -> `(T, D)`, in the feature's dtype."""
        ...

    def picture_statistics(self, camera: str) -> Statistics:
        """Statistics of the clip's sampled pictures: of colour `(3,)` each, in [0, 1], of depth `(1,)`, in mm."""
        ...


@dataclass(frozen=True, slots=True)
class SplitPlan:
    """A split about to be written to `root`. `statistics` are the ones its stats.json carries, but for bookkeeping.

    `episodes` are asked for once, in order. `places` is camera -> where the pictures of each of them lie. `pin` says
    whether each episode's own statistics leave identity dimensions alone, so that what lerobot's split and delete
    rebuild from them does too.
    """

    root: Path
    spec: DatasetSpec
    episodes: Iterable[PackedEpisode]
    places: Mapping[str, Sequence[Place]]
    statistics: Mapping[str, Statistics]
    pin: bool


def pack_split(plan: SplitPlan) -> int:
    """Write all of the split but its videos; how many rows it has."""
    spec, tasks = plan.spec, dict[str, int]()
    lengths, task_of = list[int](), list[int]()
    data = RollingParquet(plan.root, schema.DATA_PATH, schema.data_schema(spec.features), spec.limits)
    meta = EpisodesWriter(plan.root, spec)
    first = 0
    for number, episode in enumerate(plan.episodes):
        task = tasks.setdefault(episode.task, len(tasks))
        lengths.append(episode.frames)
        task_of.append(task)
        books = bookkeeping(episode.frames, spec.rate_hz, episode=number, first=first, task=task)
        rows = episode.rows()
        place = data.place(episode.frames)
        data.write(_table(spec, rows, books))
        row = {"episode_index": number, "tasks": [episode.task], "length": episode.frames,
               "dataset_from_index": first, "dataset_to_index": first + episode.frames}  # fmt: skip
        row |= {f"data/{name}": value for name, value in place.indices(spec.limits).items()}
        for camera, places in plan.places.items():
            row |= _video_columns(spec, camera, places[number], episode.frames)
        meta.add(row, _episode_statistics(plan, episode, rows, books))
        first += episode.frames
    data.close()
    meta.close()
    write_tasks(plan.root, list(tasks))
    info = schema.info_dict(spec, episodes=len(lengths), frames=first, tasks=len(tasks))
    write_json(plan.root / schema.INFO_PATH, info)
    write_stats(plan.root, spec, {**plan.statistics, **bookkeeping_statistics(lengths, task_of, spec.rate_hz)})
    return first


def _video_columns(spec: DatasetSpec, camera: str, place: Place, frames: int) -> dict[str, Any]:
    """Where an episode's pictures lie, in seconds computed from frame numbers."""
    indices = place.indices(spec.limits)
    seconds = {
        "from_timestamp": place.first_frame / spec.rate_hz,
        "to_timestamp": (place.first_frame + frames) / spec.rate_hz,
    }
    return {f"videos/{spec.video_key(camera)}/{name}": value for name, value in {**indices, **seconds}.items()}


def _table(spec: DatasetSpec, rows: Rows, books: Mapping[str, np.ndarray[Any, Any]]) -> pa.Table:
    arrow = schema.data_schema(spec.features)
    columns = []
    for f in spec.features:
        values, kind = pa.array(rows[f.name].reshape(-1)), arrow.field(f.name).type
        columns.append(values if f.width == 1 else pa.FixedSizeListArray.from_arrays(values, type=kind))
    columns += [pa.array(books[name]) for name in schema.BOOKKEEPING]
    return pa.Table.from_arrays(columns, schema=arrow)


def _episode_statistics(
    plan: SplitPlan,
    episode: PackedEpisode,
    rows: Rows,
    books: Mapping[str, np.ndarray[Any, Any]],
) -> dict[str, Statistics]:
    """The episode's own statistics, by feature."""
    spec = plan.spec
    statistics = {f.name: of_rows(rows[f.name]) for f in spec.features}
    if plan.pin:
        statistics = {f.name: pinned(statistics[f.name], f.identity_dims) for f in spec.features}
    statistics |= {spec.video_key(camera): episode.picture_statistics(camera) for camera in spec.cameras}
    return statistics | {name: of_rows(column) for name, column in books.items()}
