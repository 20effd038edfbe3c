"""One split as checks see it: parts read when they are asked for, each refused alone where it cannot be read."""

from __future__ import annotations

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
from quickdraw.pipeline.verify.metadata import Entry, Info, parse_entries, read_info
from quickdraw.video.checksums import Packets, read_packets


@dataclass(frozen=True)
class DataPart:
    """One data file and the episodes that say they are in it."""

    path: Path
    entries: tuple[Entry, ...]

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
        """A column. Raises Refused."""
        if name not in self._read:
            self._read.update(self.table.columns([name]))
        return self._read[name]


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

    @cached_property
    def packets(self) -> Packets:
        """Its encoded pictures. Raises VideoError."""
        return read_packets(self.path)


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
        records = {path: self._records(path) for path in sorted(folder.glob("*/*.parquet"))}
        claimed = [path for path, rows in records.items() if any(e.meta == e.lies_in for e in self._parsed(rows, path))]
        rows = [row for path in claimed or records for row in records[path]]
        if not rows:
            raise refusal(folder, "no episode", "a Parquet file with one row per episode")
        return self._parsed(rows, folder)

    def _parsed(self, rows: list[tuple[str, dict[str, Any]]], path: Path) -> tuple[Entry, ...]:
        return parse_entries(self.info, rows, path)

    def _records(self, path: Path) -> list[tuple[str, dict[str, Any]]]:
        lies_in = str(path.relative_to(self.root))
        return [(lies_in, row) for row in read_table_file(path).records()]

    @property
    def rows(self) -> int:
        """How many rows its episodes have together."""
        return sum(entry.length for entry in self.entries)

    @cached_property
    def data(self) -> tuple[DataPart, ...]:
        """The data files its episodes say they are in, in order."""
        return tuple(
            DataPart(self.root / path, tuple(held)) for path, held in groupby(self.entries, lambda entry: entry.data)
        )

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
        for part in self.data:
            if part.table.rows != part.rows:
                raise refusal(part.path, f"{part.table.rows} rows", f"{part.rows}, the length of its episodes")
        return np.concatenate([part.column(name) for part in self.data])

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
        entry = next((e for e in self.entries if e.first <= row < e.first + e.length), None)
        return f"row {row}" + (f" (episode {entry.number}, its row {row - entry.first})" if entry else "")

    def places(self, rows: Int64) -> str:
        """Rows `(N,)` in words, N >= 1: the first, and how many more."""
        more = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
        return self.place(int(rows[0])) + more
