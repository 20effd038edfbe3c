"""One split as checks see it: parts read when they are asked for, each refused alone where it cannot be read."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from quickdraw.core.grid import Int64
from quickdraw.core.statistics import Statistics, of_rows
from quickdraw.formats.lerobot import schema
from quickdraw.formats.lerobot.tables import Column, TableFile, read_table_file
from quickdraw.pipeline.verify.json_reading import read_object, refusal
from quickdraw.pipeline.verify.metadata import Entry, Info, parse_entries, read_info, renumbered

STORED = "stats/"  # what the columns of meta/episodes begin with that hold statistics


@dataclass(frozen=True)
class DataPart:
    """One data file and the episodes that say they are in it, in a split whose rows are as `info` says."""

    path: Path
    entries: tuple[Entry, ...]
    info: Info

    @property
    def first(self) -> int:
        """The split's row it begins with."""
        return self.entries[0].first

    @property
    def rows(self) -> int:
        """How many rows it should hold."""
        return sum(entry.length for entry in self.entries)

    @cached_property
    def table(self) -> TableFile:
        """The file. Raises Refused."""
        return read_table_file(self.path)

    @cached_property
    def _read(self) -> dict[str, Column]:
        return {}

    def column(self, name: str) -> Column:
        """A column of numbers. Raises Refused where it is none, or not as wide as its feature."""
        if name not in self._read:
            self._read[name] = self._numbers(name, self.table.columns([name])[name])
        return self._read[name]

    def _numbers(self, name: str, values: Column) -> Column:
        feature = self.info.features.get(name)
        width = feature.shape[0] if feature is not None and feature.is_vector else 1
        shapes = [(len(values), width), *([(len(values),)] if width == 1 else [])]
        if values.dtype.kind not in "biuf" or values.shape not in shapes:
            raise refusal(self.path, f"{name}: {list(values.shape)} {values.dtype}", f"{width} numbers in each row")
        return values

    def whole(self, name: str) -> Column:
        """The same, of exactly the rows of its episodes. Raises Refused where there are others."""
        if self.table.rows != self.rows:
            raise refusal(self.path, f"{self.table.rows} rows", f"{self.rows}, the length of its episodes")
        return self.column(name)


@dataclass(frozen=True)
class VideoPart:
    """One video file of the camera `key`, and the episodes that say they are in it, in their order."""

    key: str
    path: Path
    entries: tuple[Entry, ...]

    @property
    def camera(self) -> str:
        """The camera's name."""
        return camera_name(self.key)

    @property
    def pictures(self) -> int:
        """How many pictures it should hold."""
        return sum(entry.length for entry in self.entries)


def camera_name(key: str) -> str:
    """A camera's name, from its feature's."""
    return key.removeprefix("observation.images.")


@dataclass(frozen=True)
class SplitView:
    """A LeRobot split folder and its name in the dataset."""

    name: str
    root: Path

    @cached_property
    def info(self) -> Info:
        """meta/info.json. Raises Refused."""
        return read_info(self.root / schema.INFO_PATH)

    @cached_property
    def statistics(self) -> dict[str, Any]:
        """meta/stats.json. Raises Refused."""
        return read_object(self.root / schema.STATS_PATH)

    @cached_property
    def tasks(self) -> TableFile:
        """meta/tasks.parquet. Raises Refused."""
        return read_table_file(self.root / schema.TASKS_PATH)

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Every episode, by the rows of meta/episodes. Raises Refused.

        A file none of whose rows says it is there is left out, where another one has rows that do: a stray copy.
        """
        folder = self.root / "meta/episodes"
        rows = [row for path in sorted(folder.glob("*/*.parquet")) for row in self._records(path)]
        entries = parse_entries(self.info, rows, folder)
        claimed = {entry.lies_in for entry in entries if entry.meta == entry.lies_in}
        kept = [entry for entry in entries if entry.lies_in in claimed or not claimed]
        if not kept:
            raise refusal(folder, "no episode", "a Parquet file with one row per episode")
        return tuple(kept if len(kept) == len(entries) else renumbered(kept))

    def _records(self, path: Path) -> list[tuple[str, dict[str, Any]]]:
        lies_in, table = str(path.relative_to(self.root)), read_table_file(path)
        return [(lies_in, row) for row in table.records(name for name in table.types if not name.startswith(STORED))]

    def entry(self, number: int) -> Entry | None:
        """An episode, where there is one of that number."""
        return self.entries[number] if 0 <= number < len(self.entries) else None

    def stored_statistics(self, feature: str) -> list[dict[str, Any] | None]:
        """What meta/episodes says of each episode's rows of a feature: statistic -> nested lists; None for nothing.

        Raises Refused. Read for one feature at a time, for all of them together are many numbers.
        """
        told = list[dict[str, Any] | None]()
        for path in dict.fromkeys(entry.lies_in for entry in self.entries):
            table, prefix = read_table_file(self.root / path), f"{STORED}{feature}/"
            names = [name for name in table.types if name.startswith(prefix) and "/" not in name[len(prefix) :]]
            for row in table.records(names):
                told.append({name[len(prefix) :]: value for name, value in row.items()} or None)
        return told

    @property
    def rows(self) -> int:
        """How many rows its episodes have together."""
        return self.entries[-1].first + self.entries[-1].length

    @cached_property
    def data(self) -> tuple[DataPart, ...]:
        """The data files its episodes say they are in, in order."""
        by_file = groupby(self.entries, lambda entry: entry.data)
        return tuple(DataPart(self.root / path, tuple(held), self.info) for path, held in by_file)

    @cached_property
    def _part_of(self) -> tuple[DataPart, ...]:
        return tuple(part for part in self.data for _ in part.entries)

    @cached_property
    def videos(self) -> tuple[VideoPart, ...]:
        """The video files its episodes say they are in, camera by camera."""
        return tuple(part for key in self.info.cameras for part in self._videos_of(key))

    def _videos_of(self, key: str) -> Iterator[VideoPart]:
        held: dict[str, list[Entry]] = {}
        for entry in self.entries:
            held.setdefault(entry.windows[key].path, []).append(entry)
        for path, entries in held.items():
            yield VideoPart(key, self.root / path, tuple(entries))

    def column(self, name: str) -> Column:
        """A column of all rows. Raises Refused where a data file is damaged or holds another number of rows."""
        return np.concatenate([part.whole(name) for part in self.data])

    def rows_of(self, entry: Entry, name: str) -> Column:
        """A column of one episode's rows. Raises Refused as `column` does, for its own file."""
        part = self._part_of[entry.number]
        first = entry.first - part.first
        return part.whole(name)[first : first + entry.length]

    @cached_property
    def _measured(self) -> dict[str, Statistics]:
        return {}

    def measured(self, name: str) -> Statistics:
        """Plain statistics of a column. Raises Refused as `column` does."""
        if name not in self._measured:
            self._measured[name] = of_rows(self.column(name))
        return self._measured[name]

    def place(self, row: int) -> str:
        """A row in words."""
        entry = self.entry(bisect_right(self.entries, row, key=lambda entry: entry.first) - 1)
        within = entry is not None and row < entry.first + entry.length
        return f"row {row}" + (f" (episode {entry.number}, its row {row - entry.first})" if entry and within else "")

    def places(self, rows: Int64) -> str:
        """Rows `(N,)` in words, N >= 1: the first, and how many more."""
        more = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
        return self.place(int(rows[0])) + more
