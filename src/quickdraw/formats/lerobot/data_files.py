"""The data files of anybody's split: columns whole, of one episode, or some thousands of rows at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from quickdraw.errors import Fault, Refused
from quickdraw.formats.lerobot.arrays import opened, values_of
from quickdraw.formats.lerobot.info import split_fault

NUMBER: Final = {"dtype": "int64", "shape": [1]}  # bookkeeping that info.json does not describe


@dataclass(frozen=True, slots=True)
class DataFiles:
    """`data/` of the split at `root`. `features` are what info.json says of its columns.

    All of it raises Refused where a file cannot be read, lacks a column or holds something else than info.json says.
    """

    root: Path
    features: Mapping[str, Mapping[str, Any]]

    @property
    def rows(self) -> int:
        """How many rows there are; 0 where there are no files."""
        with self._reading(()):
            return sum(pq.read_metadata(opened(path)).num_rows for path in self._files())

    def column(self, name: str, episode: int | None) -> npt.NDArray[Any]:
        """A column as `(T, D)`, or `(T,)` for scalars, in its dtype; of one episode where asked."""
        # One row group an episode: this filter reads one.
        filters = None if episode is None else [("episode_index", "=", episode)]
        with self._reading([name]):
            tables = [pq.read_table(opened(path), columns=[name], filters=filters) for path in self._files()]
            column = pa.concat_tables([table for table in tables if table.num_rows] or tables[:1])[name]
            return values_of(name, column.combine_chunks(), self._described(name))

    def blocks(self, names: Sequence[str], most_rows: int, most_values: int) -> Iterator[dict[str, npt.NDArray[Any]]]:
        """Those columns, all rows in order, at most so many rows and values at a time."""
        width = sum(math.prod(self._described(name)["shape"]) for name in names)
        rows = max(1, min(most_rows, most_values // max(1, width)))
        with self._reading(names):
            for path in self._files():
                with pq.ParquetFile(opened(path)) as file:
                    for groups in _together(file.metadata, rows):
                        for batch in file.iter_batches(rows, groups, list(names), use_threads=False):
                            yield {name: values_of(name, batch[name], self._described(name)) for name in names}

    def _described(self, name: str) -> Mapping[str, Any]:
        return self.features.get(name, NUMBER)

    def _files(self) -> list[Path]:
        return sorted((self.root / "data").glob("*/*.parquet"))

    @contextmanager
    def _reading(self, names: Sequence[str]) -> Iterator[None]:
        """What goes wrong meanwhile, in words."""
        try:
            if names and not self._files():
                raise FileNotFoundError("there are none")
            yield
        except (OSError, LookupError, ValueError, pa.ArrowException) as error:
            fault = split_fault(self.root, self.root / "data", "data files", f"unreadable ({error})")
            raise Refused(list(self._damaged(names)) or [fault]) from error

    def _damaged(self, names: Sequence[str]) -> Iterator[Fault]:
        """Files that do not open, and columns that others lack."""
        for path in self._files():
            try:
                there = pq.read_schema(opened(path)).names
            except (OSError, ValueError, pa.ArrowException) as error:
                yield split_fault(self.root, path, "data files", f"unreadable ({error})")
                continue
            for name in sorted(set(names) - set(there)):
                yield Fault(str(self.root), name, "no such column", "one, as info.json has it", path=str(path))


def _together(metadata: pq.FileMetaData, rows: int) -> Iterator[list[int]]:
    """Row groups that hold about so many rows each time: all at once they would all be prepared for."""
    upto = np.cumsum([metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)])
    for _, groups in groupby(range(len(upto)), key=lambda number: int(upto[number] - 1) // rows):
        yield list(groups)
