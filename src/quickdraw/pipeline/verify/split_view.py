"""One split as checks see it: parts read when they are asked for, each refused alone where it cannot be read.

Rows are read piece by piece: a split may have more of them than fit in memory, and so may a file.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import numpy as np

from quickdraw.core.grid import Int64
from quickdraw.core.passes import Size, of_passes
from quickdraw.core.statistics import Statistics
from quickdraw.formats.lerobot import schema
from quickdraw.formats.lerobot.tables import PIECE, Column, TableFile, read_table_file
from quickdraw.pipeline.verify.json_reading import read_object, refusal
from quickdraw.pipeline.verify.metadata import Entry, Info, parse_entries, read_info, renumbered

STORED = "stats/"  # what the columns of meta/episodes begin with that hold statistics


def width_of(info: Info, name: str) -> int:
    """How many numbers a row of a column has."""
    feature = info.features.get(name)
    return feature.shape[0] if feature is not None and feature.is_vector else 1


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

    def pieces(self, name: str, first: int = 0, rows: int | None = None) -> Iterator[Column]:
        """A column of numbers, piece by piece. Raises Refused where it is none, or not as wide as its feature."""
        return (self._numbers(name, values) for values in self.table.pieces(name, first, rows))

    def _numbers(self, name: str, values: Column) -> Column:
        width = width_of(self.info, name)
        shapes = [(len(values), width), *([(len(values),)] if width == 1 else [])]
        if values.dtype.kind not in "biuf" or values.shape not in shapes:
            raise refusal(self.path, f"{name}: {list(values.shape)} {values.dtype}", f"{width} numbers in each row")
        return values

    def whole(self, name: str) -> Iterator[Column]:
        """The same, of exactly the rows of its episodes. Raises Refused where there are others."""
        self._refuse_others()
        return self.pieces(name)

    def _refuse_others(self) -> None:
        if self.table.rows != self.rows:
            raise refusal(self.path, f"{self.table.rows} rows", f"{self.rows}, the length of its episodes")

    def episodes(self, name: str) -> Iterator[tuple[Entry, Column]]:
        """Each of its episodes with its rows of a column, one after another. Raises Refused as `whole` does."""
        pieces, held = self.whole(name), list[Column]()
        for entry in self.entries:
            while sum(map(len, held)) < entry.length:
                held.append(next(pieces))
            rows = held[0] if len(held) == 1 else np.concatenate(held)
            yield entry, rows[: entry.length]
            held = [rows[entry.length :]]

    def stretch(self, name: str, first: int, rows: int) -> Column:
        """So many `rows` of a column, or what there is of them, from the file's row `first` on; Refused as `whole`."""
        self._refuse_others()
        return np.concatenate(list(self.pieces(name, first, rows)))


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
        rows = (row for path in sorted(folder.glob("*/*.parquet")) for row in self._records(path))
        entries = parse_entries(self.info, rows, folder)
        claimed = {entry.lies_in for entry in entries if entry.meta == entry.lies_in}
        kept = [entry for entry in entries if entry.lies_in in claimed or not claimed]
        if not kept:
            raise refusal(folder, "no episode", "a Parquet file with one row per episode")
        return tuple(kept if len(kept) == len(entries) else renumbered(kept))

    def _records(self, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
        lies_in, table = str(path.relative_to(self.root)), read_table_file(path)
        for row in table.records(name for name in table.types if not name.startswith(STORED)):
            yield lies_in, row

    def entry(self, number: int) -> Entry | None:
        """An episode, where there is one of that number."""
        return self.entries[number] if 0 <= number < len(self.entries) else None

    def stored_statistics(self, feature: str, first: int = 0) -> Iterator[dict[str, Any] | None]:
        """What meta/episodes says of the rows of a feature of each episode, from episode `first` on.

        Statistic -> nested lists; None for nothing. Raises Refused. Read one after another, for all of them together
        are many numbers.
        """
        prefix = f"{STORED}{feature}/"
        for path in dict.fromkeys(entry.lies_in for entry in self.entries):
            table = read_table_file(self.root / path)
            names = [name for name in table.types if name.startswith(prefix) and "/" not in name[len(prefix) :]]
            for row in table.records(names, first) if first < table.rows else ():
                yield {name[len(prefix) :]: value for name, value in row.items()} or None
            first = max(0, first - table.rows)

    def stored_beside(self, part: DataPart, feature: str) -> list[dict[str, Any] | None]:
        """The same, of the episodes of a data file."""
        return list(islice(self.stored_statistics(feature, part.entries[0].number), len(part.entries)))

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

    def rows_of(self, entry: Entry, name: str) -> Column:
        """One episode's rows of a column. Raises Refused where its file is damaged or holds another number of rows."""
        part = self._part_of[entry.number]
        begun = entry.first - part.first
        held = self._held.get(name)
        if held is None or held[0] is not part or not held[1] <= begun <= held[1] + len(held[2]) - entry.length:
            # The episodes after it too, which are most likely asked for next: a row group may hold many.
            held = self._held[name] = part, begun, part.stretch(name, begun, max(entry.length, PIECE))
        return held[2][begun - held[1] :][: entry.length]

    @cached_property
    def _held(self) -> dict[str, tuple[DataPart, int, Column]]:
        """Of each column, the stretch of a data file that was read last, and where in it that begins."""
        return {}

    @cached_property
    def _measured(self) -> dict[str, Statistics]:
        return {}

    def measured(self, name: str) -> Statistics:
        """Plain statistics of a column of all rows. Raises Refused as `rows_of` does."""
        if name not in self._measured:
            self._measured[name] = self.measure(name)
        return self._measured[name]

    def measure(self, name: str, share: slice | None = None) -> Statistics:
        """The same, of one of the shares of its `size`, by reading it."""
        single = all(re.search(r"\bfloat\b", part.table.types.get(name, "")) for part in self.data)

        def read() -> Iterator[Column]:
            pieces = (rows for part in self.data for rows in part.whole(name))
            return pieces if share is None else (rows[:, share] for rows in pieces)

        return of_passes(read, np.float32 if single else np.float64, self.size(name), share)

    def size(self, name: str) -> Size:
        """Rows of all its episodes, and columns of a column."""
        return Size(self.rows, width_of(self.info, name))

    def know(self, name: str, measured: Statistics) -> None:
        """What `measured` would say, for somebody else has measured it."""
        self._measured[name] = measured

    def place(self, row: int) -> str:
        """A row in words."""
        entry = self.entry(bisect_right(self.entries, row, key=lambda entry: entry.first) - 1)
        within = entry is not None and row < entry.first + entry.length
        return f"row {row}" + (f" (episode {entry.number}, its row {row - entry.first})" if entry and within else "")

    def places(self, rows: Int64) -> str:
        """Rows `(N,)` in words, N >= 1: the first, and how many more."""
        return self.many(int(rows[0]), len(rows))

    def many(self, first: int, rows: int) -> str:
        """So many rows in words, by the first of them."""
        return self.place(first) + (f" and {rows - 1} more" if rows > 1 else "")
