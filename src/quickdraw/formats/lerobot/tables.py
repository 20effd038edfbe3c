"""One Parquet file of a split as it lies there, damaged or not: columns as arrays, types in Arrow's words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from quickdraw.core.features import FeatureSpec
from quickdraw.errors import Fault, Refused
from quickdraw.formats.lerobot import schema

type Column = npt.NDArray[Any]

PIECE = 1 << 14  # rows that are read at a time
RECORDS = 256  # of them that are dicts at a time


@dataclass(frozen=True, slots=True)
class TableFile:
    """A Parquet file that opens: `types` by column, rows of each row group, and its JSON `metadata` by key."""

    path: Path
    types: Mapping[str, str]
    groups: tuple[int, ...]
    metadata: Mapping[str, Any]

    @property
    def rows(self) -> int:
        """How many rows it holds."""
        return sum(self.groups)

    def columns(self, names: Iterable[str]) -> dict[str, Column]:
        """Columns as `(T, D)`, or `(T,)` for scalars, in their dtype; a null among numbers is a NaN.

        Raises Refused where one is missing, damaged, or holds lists of more than one length.
        """
        found = {}
        for name in names:
            if name not in self.types:
                raise _refusal(self.path, f"no column {name}", f"one of {', '.join(self.types)}")
            try:
                found[name] = _array(pq.ParquetFile(self.path).read(columns=[name])[name].combine_chunks())
            except (OSError, ValueError, LookupError, pa.ArrowException) as error:
                raise _refusal(self.path, f"{name} unreadable ({error})", "a sound column") from error
        return found

    def pieces(self, name: str, first: int = 0, rows: int | None = None) -> Iterator[Column]:
        """A column as `columns` has it, piece by piece; from row `first` on, and so many `rows` where they are told.

        Raises Refused as `columns` does, for the pieces that are damaged.
        """
        if name not in self.types:
            raise _refusal(self.path, f"no column {name}", f"one of {', '.join(self.types)}")
        try:
            for batch in batches(self.path, self.groups, [name], first=first, rows=self.rows if rows is None else rows):
                yield _array(batch.column(name))
        except (OSError, ValueError, LookupError, pa.ArrowException) as error:
            raise _refusal(self.path, f"{name} unreadable ({error})", "a sound column") from error

    def records(self, names: Iterable[str], first: int = 0, rows: int | None = None) -> Iterator[dict[str, Any]]:
        """The rows as dicts of the columns `names`, which it has. Raises Refused where the file is damaged."""
        names, rows = list(names), self.rows if rows is None else rows
        if not names:
            yield from ({} for _ in range(min(rows, self.rows - first)))
            return
        try:
            for batch in batches(self.path, self.groups, names, first=first, rows=rows):
                # Arrow takes a name for that of a struct too, and reads what it holds.
                for begun in range(0, len(batch), RECORDS):
                    yield from batch.slice(begun, RECORDS).select(names).to_pylist()
        except (OSError, ValueError, LookupError, pa.ArrowException) as error:
            raise _refusal(self.path, f"unreadable ({error})", "a sound Parquet file") from error


def batches(path: Path, groups: Sequence[int], names: list[str], *, first: int, rows: int) -> Iterator[Any]:
    """Record batches of rows `first` to before `first + rows` of a Parquet file whose row groups are so long.

    Only what is asked for is read. Raises OSError and Arrow's errors.
    """
    ends = np.cumsum([0, *groups])
    wanted = [n for n in range(len(groups)) if ends[n] < first + rows and ends[n + 1] > first]
    begun = int(ends[wanted[0]]) if wanted else 0
    stat = path.stat()
    file = _opened(path, (stat.st_ino, stat.st_size, stat.st_mtime_ns))
    for batch in file.iter_batches(PIECE, row_groups=wanted, columns=names) if wanted else ():
        low, high = max(0, first - begun), min(len(batch), first + rows - begun)
        if low < high:
            yield batch.slice(low, high - low)
        begun += len(batch)
        if begun >= first + rows:
            break


@lru_cache(maxsize=2)
def _opened(path: Path, _stamp: tuple[int, int, int]) -> Any:
    """A file kept open, for its footer may hold thousands of row groups."""
    return pq.ParquetFile(path, pre_buffer=False)  # else all of it that was read stays


def read_table_file(path: Path) -> TableFile:
    """What the file's footer says. Raises Refused where it is missing, no file, or damaged."""
    try:
        with pq.ParquetFile(path) as file:
            arrow, footer = file.schema_arrow, file.metadata
            groups = tuple(footer.row_group(number).num_rows for number in range(footer.num_row_groups))
    except (OSError, ValueError, pa.ArrowException) as error:
        raise _refusal(path, f"unreadable ({error})", "a sound Parquet file") from error
    described = {key.decode(errors="replace"): _document(value) for key, value in (arrow.metadata or {}).items()}
    return TableFile(path, {field.name: str(field.type) for field in arrow}, groups, described)


def data_types(features: Mapping[str, tuple[str, tuple[int, ...]]]) -> tuple[dict[str, str], Any]:
    """What a build gives data files of vector `features` (name -> dtype and shape): column types, and `huggingface`.

    Raises ValueError for a dtype Arrow does not know.
    """
    specs = [
        FeatureSpec(name, tuple(map(str, range(shape[0]))), ("",) * shape[0], dtype=dtype)
        for name, (dtype, shape) in features.items()
    ]
    arrow = schema.data_schema(specs)
    return {field.name: str(field.type) for field in arrow}, _document(arrow.metadata[b"huggingface"])


def _document(value: bytes) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def _array(column: Any) -> Column:
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        lengths = set(column.value_lengths().to_pylist())
        if len(lengths) != 1 or None in lengths:
            raise ValueError(f"lists of {len(lengths)} lengths")
        return scalars(column.flatten()).reshape(len(column), -1)
    if pa.types.is_fixed_size_list(column.type):
        if column.null_count:
            raise ValueError("rows without a value")
        return scalars(column.flatten()).reshape(len(column), column.type.list_size)
    return scalars(column)


def scalars(column: Any) -> Column:
    """An Arrow array of scalars as `(T,)`, a null among numbers as NaN.

    `to_numpy`, which imports pandas, 45 MB in each process, is left to what only it can do.
    """
    if column.null_count == 0 and (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return np.asarray(np.from_dlpack(column))
    if column.null_count == 0 and pa.types.is_string(column.type):
        return np.array(column.to_pylist(), object)
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _refusal(path: Path, found: str, expected: str) -> Refused:
    return Refused([Fault(path.name, "files", found, expected, path=str(path))])
