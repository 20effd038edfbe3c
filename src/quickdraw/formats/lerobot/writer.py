"""The Parquet and JSON files of a split, each written once, in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from quickdraw.core.statistics import Statistics
from quickdraw.formats.json_document import write_json
from quickdraw.formats.lerobot import schema
from quickdraw.formats.lerobot.blocks import BATCH
from quickdraw.formats.lerobot.files import Place
from quickdraw.formats.lerobot.schema import DatasetSpec


class RowGroups:
    """Tables to one Parquet file, a row group each; the file is whole when the block is left."""

    def __init__(self, path: Path, arrow: pa.Schema) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.sink = path.open("wb")
        self.writer = pq.ParquetWriter(self.sink, arrow, compression="snappy", use_dictionary=True)

    def write(self, table: pa.Table) -> None:
        """Append one table as one row group."""
        self.writer.write_table(table, row_group_size=max(1, len(table)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.writer.close()
        self.sink.close()


class EpisodesWriter:
    """A file of meta/episodes: rows gathered ten to a row group, as lerobot does."""

    def __init__(self, root: Path, spec: DatasetSpec, place: Place) -> None:
        self.spec, self.arrow, self.indices = spec, schema.episodes_schema(spec), place.indices(spec.limits)
        self.file = RowGroups(root / schema.EPISODES_PATH.format(**self.indices), self.arrow)
        self.batch: list[dict[str, Any]] = []

    def add(self, row: Mapping[str, Any], statistics: Mapping[str, Statistics]) -> None:
        """One episode, in order; its statistics by feature."""
        flat = dict(row) | {f"meta/episodes/{name}": value for name, value in self.indices.items()}
        for column, values in statistics.items():
            lists = schema.statistics_lists(values, column in self.spec.video_keys)
            flat |= {f"stats/{column}/{name}": value for name, value in lists.items()}
        self.batch.append(flat)
        if len(self.batch) == BATCH:
            self._flush()

    def _flush(self) -> None:
        self.file.write(pa.Table.from_pylist(self.batch, schema=self.arrow))
        self.batch = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self.file:
            if self.batch and error is None:
                self._flush()


def write_tasks(root: Path, tasks: Sequence[str]) -> None:
    """meta/tasks.parquet: row i is task i, its text the pandas index: lerobot looks tasks up by position."""
    import pandas as pd

    frame = pd.DataFrame({"task_index": range(len(tasks))}, index=pd.Index(tasks, name="task"))
    path = root / schema.TASKS_PATH
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.to_parquet(path)


def write_stats(root: Path, spec: DatasetSpec, statistics: Mapping[str, Statistics]) -> None:
    """meta/stats.json, features in the order of info.json."""
    document = {
        column: schema.statistics_lists(statistics[column], column in spec.video_keys) for column in spec.columns()
    }
    write_json(root / schema.STATS_PATH, document)
