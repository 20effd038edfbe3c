"""The Parquet and JSON files of a split, each written once, in order, and rolled over by size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from quickdraw.core.statistics import Statistics
from quickdraw.formats.json_document import write_json
from quickdraw.formats.lerobot import schema
from quickdraw.formats.lerobot.files import Place
from quickdraw.formats.lerobot.schema import MB, DatasetSpec, Limits


class RollingParquet:
    """Tables to numbered Parquet files of one kind: a row group per table, a new file where the next would not fit.

    A file ends after so many row groups, too, that they have `MOST_CHUNKS` columns together: writers and readers hold
    something of each, which for thousands of short episodes is more than their rows.
    """

    MOST_CHUNKS = 4_000

    def __init__(self, root: Path, template: str, arrow: pa.Schema, limits: Limits) -> None:
        self.root, self.template, self.arrow, self.limits = root, template, arrow, limits
        self.number, self.rows, self.groups = 0, 0, 0
        self.most_groups = max(1, self.MOST_CHUNKS // len(arrow))
        self.sink: Any = None
        self.writer: Any = None

    def place(self, rows: int) -> Place:
        """Where the next table, of `rows` rows, will go."""
        full = self.groups >= self.most_groups
        if self.rows and (full or self.sink.tell() * (1 + rows / self.rows) >= self.limits.data_mb * MB):
            self.close()
            self.number, self.rows, self.groups = self.number + 1, 0, 0
        return Place(self.number, self.rows)

    def write(self, table: pa.Table) -> None:
        """Append one table as one row group, in the file `place` named."""
        if self.writer is None:
            path = self.root / self.template.format(**Place(self.number, 0).indices(self.limits))
            path.parent.mkdir(parents=True, exist_ok=True)
            self.sink = path.open("wb")
            self.writer = pq.ParquetWriter(self.sink, self.arrow, compression="snappy", use_dictionary=True)
        self.writer.write_table(table, row_group_size=max(1, len(table)))
        self.rows += len(table)
        self.groups += 1

    def close(self) -> None:
        """Finish the open file."""
        if self.writer is not None:
            self.writer.close()
            self.sink.close()
            self.writer = self.sink = None


class EpisodesWriter:
    """meta/episodes: rows gathered ten to a row group, as lerobot does."""

    BATCH = 10

    def __init__(self, root: Path, spec: DatasetSpec) -> None:
        self.spec, self.arrow = spec, schema.episodes_schema(spec)
        self.file = RollingParquet(root, schema.EPISODES_PATH, self.arrow, spec.limits)
        self.batch: list[dict[str, Any]] = []

    def add(self, row: Mapping[str, Any], statistics: Mapping[str, Statistics]) -> None:
        """One episode, in order; its statistics by feature."""
        flat = dict(row)
        for column, values in statistics.items():
            lists = schema.statistics_lists(values, column in self.spec.video_keys)
            flat |= {f"stats/{column}/{name}": value for name, value in lists.items()}
        self.batch.append(flat)
        if len(self.batch) == self.BATCH:
            self.flush()

    def flush(self) -> None:
        """Write what is gathered."""
        if self.batch:
            indices = self.file.place(len(self.batch)).indices(self.spec.limits)
            for row in self.batch:
                row |= {f"meta/episodes/{name}": value for name, value in indices.items()}
            self.file.write(pa.Table.from_pylist(self.batch, schema=self.arrow))
            self.batch = []

    def close(self) -> None:
        """Write what is gathered and finish the file."""
        self.flush()
        self.file.close()


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
