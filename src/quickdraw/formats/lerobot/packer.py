"""Fragments to one LeRobot v3.0 split: rows to Parquet, clips to video files by stream copy, metadata beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from quickdraw.core.episode import Float32
from quickdraw.core.normalization import pinned
from quickdraw.core.statistics import Statistics, of_rows
from quickdraw.formats.json_document import write_json
from quickdraw.formats.lerobot import schema
from quickdraw.formats.lerobot.files import Place, place_clips
from quickdraw.formats.lerobot.schema import DatasetSpec
from quickdraw.formats.lerobot.writer import EpisodesWriter, RollingParquet, write_stats, write_tasks
from quickdraw.video.join import join


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

    def rows(self) -> Mapping[str, Float32]:
        """Feature name -> `(T, D)`, in the feature's dtype."""
        ...

    def clip(self, camera: str) -> Path:
        """A file of T pictures, encoded like all others of the camera."""
        ...

    def picture_statistics(self, camera: str) -> Statistics:
        """Statistics of the clip's sampled pictures, `(3,)` each, in [0, 1]."""
        ...


@dataclass(frozen=True, slots=True)
class SplitPlan:
    """A split about to be written to `root`. `statistics` are the ones its stats.json carries, but for bookkeeping.

    `pin` says whether each episode's own statistics leave identity dimensions alone, so that what lerobot's split and
    delete rebuild from them does too.
    """

    root: Path
    spec: DatasetSpec
    episodes: Sequence[PackedEpisode]
    statistics: Mapping[str, Statistics]
    pin: bool


def pack_split(plan: SplitPlan) -> None:
    """Write the whole split. Raises InvariantError where a clip does not hold one picture per row."""
    spec, episodes = plan.spec, plan.episodes
    tasks = list(dict.fromkeys(episode.task for episode in episodes))
    videos = {camera: _write_videos(plan, camera) for camera in spec.cameras}
    data = RollingParquet(plan.root, schema.DATA_PATH, schema.data_schema(spec.features), spec.limits)
    meta = EpisodesWriter(plan.root, spec)
    first, kept = 0, []
    for number, episode in enumerate(episodes):
        task = tasks.index(episode.task)
        books = bookkeeping(episode.frames, spec.rate_hz, episode=number, first=first, task=task)
        rows = episode.rows()
        place = data.place(episode.frames)
        data.write(_table(spec, rows, books))
        row = {"episode_index": number, "tasks": [episode.task], "length": episode.frames,
               "dataset_from_index": first, "dataset_to_index": first + episode.frames}  # fmt: skip
        row |= {f"data/{name}": value for name, value in place.indices(spec.limits).items()}
        for camera, places in videos.items():
            row |= _video_columns(spec, camera, places[number], episode.frames)
        meta.add(row, _episode_statistics(plan, episode, rows, books))
        kept.append(books)
        first += episode.frames
    data.close()
    meta.close()
    write_tasks(plan.root, tasks)
    write_json(
        plan.root / schema.INFO_PATH,
        schema.info_dict(spec, episodes=len(episodes), frames=first, tasks=len(tasks)),
    )
    whole = {name: of_rows(np.concatenate([books[name] for books in kept])) for name in schema.BOOKKEEPING}
    write_stats(plan.root, spec, {**plan.statistics, **whole})


def bookkeeping(frames: int, rate_hz: int, *, episode: int, first: int, task: int) -> dict[str, np.ndarray[Any, Any]]:
    """The five bookkeeping columns of one episode, each `(frames,)` in its dtype; `first` is its first global index."""
    row = np.arange(frames, dtype=np.int64)
    return {
        "timestamp": (row / rate_hz).astype(np.float32),
        "frame_index": row,
        "episode_index": np.full(frames, episode, np.int64),
        "index": row + first,
        "task_index": np.full(frames, task, np.int64),
    }


def _write_videos(plan: SplitPlan, camera: str) -> list[Place]:
    """All video files of one camera; where each episode lies in them."""
    spec = plan.spec
    clips = [(episode.clip(camera), episode.frames) for episode in plan.episodes]
    sizes = [clip.stat().st_size for clip, _ in clips]
    places = place_clips([frames for _, frames in clips], sizes, spec.rate_hz, spec.limits)
    for number in range(places[-1].number + 1):
        held = [clip for clip, place in zip(clips, places, strict=True) if place.number == number]
        path = schema.VIDEO_PATH.format(video_key=spec.video_key(camera), **Place(number, 0).indices(spec.limits))
        join(held, plan.root / path, spec.rate_hz)
    return places


def _video_columns(spec: DatasetSpec, camera: str, place: Place, frames: int) -> dict[str, Any]:
    """Where an episode's pictures lie, in seconds computed from frame numbers."""
    indices = place.indices(spec.limits)
    seconds = {
        "from_timestamp": place.first_frame / spec.rate_hz,
        "to_timestamp": (place.first_frame + frames) / spec.rate_hz,
    }
    return {f"videos/{spec.video_key(camera)}/{name}": value for name, value in {**indices, **seconds}.items()}


def _table(spec: DatasetSpec, rows: Mapping[str, Float32], books: Mapping[str, np.ndarray[Any, Any]]) -> pa.Table:
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
    rows: Mapping[str, Float32],
    books: Mapping[str, np.ndarray[Any, Any]],
) -> dict[str, Statistics]:
    """The episode's own statistics, by feature."""
    spec = plan.spec
    statistics = {f.name: of_rows(rows[f.name]) for f in spec.features}
    if plan.pin:
        statistics = {f.name: pinned(statistics[f.name], f.identity_dims) for f in spec.features}
    statistics |= {spec.video_key(camera): episode.picture_statistics(camera) for camera in spec.cameras}
    return statistics | {name: of_rows(column) for name, column in books.items()}
