"""Episodes to one LeRobot v3.0 split: rows to Parquet, block by block, metadata beside; videos are `videos.py`'s."""

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
from quickdraw.formats.lerobot.blocks import Block, blocks_of
from quickdraw.formats.lerobot.bookkeeping import bookkeeping, bookkeeping_statistics
from quickdraw.formats.lerobot.files import Place
from quickdraw.formats.lerobot.schema import DatasetSpec
from quickdraw.formats.lerobot.writer import EpisodesWriter, RowGroups, write_stats, write_tasks


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
class Contents:
    """The episodes of a split, in order: rows of each, which of the `tasks` it shows, and the texts of these."""

    lengths: tuple[int, ...]
    task_of: tuple[int, ...]
    tasks: tuple[str, ...]

    @classmethod
    def of(cls, episodes: Iterable[tuple[int, str]]) -> Contents:
        """Of each episode's rows and task text; tasks are numbered in the order they come."""
        numbers, lengths, task_of = dict[str, int](), list[int](), list[int]()
        for frames, task in episodes:
            lengths.append(frames)
            task_of.append(numbers.setdefault(task, len(numbers)))
        return cls(tuple(lengths), tuple(task_of), tuple(numbers))

    def blocks(self, spec: DatasetSpec) -> list[Block]:
        """Which of them share files."""
        sizes = [len(task.encode()) for task in self.tasks]
        return blocks_of(spec, self.lengths, [sizes[task] for task in self.task_of])


@dataclass(frozen=True, slots=True)
class BlockPlan:
    """The files of `block` about to be written; `task_of` and `places` are of its episodes alone.

    `episodes` are asked for once, in order. `places` is camera -> where the pictures of each of them lie. `pin` says
    whether each episode's own statistics leave identity dimensions alone, so that what lerobot's split and delete
    rebuild from them does too.
    """

    spec: DatasetSpec
    block: Block
    episodes: Iterable[PackedEpisode]
    task_of: Sequence[int]
    places: Mapping[str, Sequence[Place]]
    pin: bool


def pack_block(plan: BlockPlan, root: Path) -> None:
    """Write the rows of some episodes of a split, and their rows in meta/episodes, below `root`."""
    spec, block = plan.spec, plan.block
    file = block.place.indices(spec.limits)
    data = RowGroups(root / schema.DATA_PATH.format(**file), schema.data_schema(spec.features))
    first = block.first_row
    with data, EpisodesWriter(root, spec, block.place) as meta:
        for number, episode in enumerate(plan.episodes):
            task, index = plan.task_of[number], block.first + number
            books = bookkeeping(episode.frames, spec.rate_hz, episode=index, first=first, task=task)
            rows = episode.rows()
            data.write(_table(spec, rows, books))
            row = {"episode_index": index, "tasks": [episode.task], "length": episode.frames,
                   "dataset_from_index": first, "dataset_to_index": first + episode.frames}  # fmt: skip
            row |= {f"data/{name}": value for name, value in file.items()}
            for camera, places in plan.places.items():
                row |= _video_columns(spec, camera, places[number], episode.frames)
            meta.add(row, _episode_statistics(plan, episode, rows, books))
            first += episode.frames


def write_documents(root: Path, spec: DatasetSpec, contents: Contents, statistics: Mapping[str, Statistics]) -> None:
    """Write what tells of all of a split: its tasks, info.json and stats.json; `statistics` but for bookkeeping."""
    lengths, tasks = contents.lengths, contents.tasks
    write_tasks(root, tasks)
    info = schema.info_dict(spec, episodes=len(lengths), frames=sum(lengths), tasks=len(tasks))
    write_json(root / schema.INFO_PATH, info)
    books = bookkeeping_statistics(lengths, contents.task_of, spec.rate_hz)
    write_stats(root, spec, {**statistics, **books})


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
    plan: BlockPlan,
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
