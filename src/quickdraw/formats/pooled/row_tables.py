"""Files of episode rows as Arrow tables: the eleven columns, and which rows a file holds (contract 6).

A file is opened anew on each access, read whole and closed, for it may be replaced at any moment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from quickdraw.formats.pooled import parquet_files
from quickdraw.formats.pooled.documents import entries
from quickdraw.formats.pooled.layout import CHUNK_FOLDER, Layout

SCHEMA: Final[Any] = pa.schema(
    [
        ("episode_index", pa.int64()),
        ("task_index", pa.int64()),
        ("start_frame_index", pa.int64()),
        ("end_frame_index", pa.int64()),
        ("length", pa.int64()),
        ("created_at", pa.float64()),
        ("duration_sec", pa.float64()),
        ("drop_stats", pa.string()),
        ("video_codec", pa.string()),
        ("calibration", pa.string()),
        ("force_matrix_specs", pa.string()),
    ]
)
ROW_FILE = re.compile(r"(episode|file)-(\d+)\.parquet")


def row_files(layout: Layout) -> Iterator[Path]:
    """Every file of rows, by path: per-episode files and shards. Raises Refused where a folder cannot be listed."""
    for folder in _matching(layout, layout.rows, CHUNK_FOLDER):
        yield from _matching(layout, folder, ROW_FILE)


def read_table(path: Path) -> Any:
    """A file of rows as an Arrow table with its columns as they stand; None where missing, empty or damaged.

    What it returns is sound in every cell: its text is text.
    """
    try:
        return parquet_files.table(path)
    except parquet_files.UNREADABLE:
        return None


def is_shard(table: Any) -> bool:
    """Whether a file of rows is a shard: by its content alone. A file of one row is that episode's own."""
    return bool(table.num_rows > 1)


def numbers_in(table: Any) -> list[int]:
    """The N of each row of a table, 0 where it has none."""
    return [whole(value) for value in column(table, "episode_index")]


def table_bytes(table: Any) -> bytes:
    """A file of rows of any columns; Parquet, zstd."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue())


def conformed(table: Any) -> Any:
    """A table with the eleven columns first, nulls and missing ones filled with defaults, and unknown ones after.

    Raises pyarrow.ArrowException where a known column has values that are none of its type.
    """
    defaults = {"int64": 0, "double": 0.0, "string": "{}"}
    arrays, fields = [], []
    for wanted in SCHEMA:
        default = pa.scalar(defaults[str(wanted.type)], wanted.type)
        at = table.schema.get_all_field_indices(wanted.name)
        found = table.column(at[0]).cast(wanted.type) if at else pa.repeat(default, table.num_rows)
        arrays.append(found.fill_null(default))
        fields.append(wanted)
    for at, name in enumerate(table.column_names):
        if name not in SCHEMA.names:
            arrays.append(table.column(at))
            fields.append(table.schema.field(at))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields, table.schema.metadata))


def column(table: Any, name: str) -> list[Any]:
    """A column's values; where a name is there twice, of the first. None for each where Python has no such values."""
    at = table.schema.get_all_field_indices(name)
    try:
        return list(table.column(at[0]).to_pylist()) if at else [None] * table.num_rows
    except parquet_files.UNREADABLE:  # as a date of the year 10000
        return [None] * table.num_rows


def whole(value: Any) -> int:
    """A cell as a whole number; 0 for what is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _matching(layout: Layout, folder: Path, form: re.Pattern[str]) -> list[Path]:
    names = sorted(entry.name for entry in entries(folder, layout.root))
    return [folder / name for name in names if form.fullmatch(name)]
