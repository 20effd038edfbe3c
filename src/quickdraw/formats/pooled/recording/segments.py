"""Parquet files of a recording, and their rows once more in a file of more columns (contract 7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from quickdraw.formats.pooled import columns
from quickdraw.formats.pooled.recording.row_groups import schema, widened

GROUP_ROWS = 256  # at most: offsets of lists are 32 bits wide, 11,453 matrices
GROUP_BYTES = 16 << 20  # of samples in memory, at which a row group ends
MATRIX_ROWS = 16  # of a copied group: reading Parquet takes ten times the memory that matrices take in the file


def new_file(path: Path, types: Mapping[str, Any]) -> Any:
    """A writer of the columns `types`."""
    return of_schema(path, schema(types))


def of_schema(path: Path, wanted: Any) -> Any:
    """A writer of zstd. No dictionaries: of measured values they cost twice the time for a seventh of the bytes."""
    texts = [name for name in wanted.names if columns.STATUS.fullmatch(name)]
    plain = [name for name in columns.KEYS if name != "action" and name in wanted.names]
    return pq.ParquetWriter(path, wanted, compression="zstd", use_dictionary=texts, write_statistics=plain)


def copy(paths: Sequence[Path], target: Any, types: Mapping[str, Any]) -> None:
    """Write the rows of files into `target`, filled where a file lacks a column. One thread reads ahead.

    Raises OSError and Arrow's errors.
    """
    pa.default_memory_pool().release_unused()
    pieces = _pieces(paths, types)
    with ThreadPoolExecutor(1, "copy") as reading:
        piece = next(pieces, None)
        while piece is not None:
            coming = reading.submit(next, pieces, None)
            target.write_table(piece)
            piece = coming.result()


def _pieces(paths: Sequence[Path], types: Mapping[str, Any]) -> Iterator[Any]:
    rows = MATRIX_ROWS if any(columns.MATRIX.fullmatch(name) for name in types) else GROUP_ROWS
    for path in paths:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            for group in range(file.num_row_groups):
                for batch in file.iter_batches(rows, row_groups=[group], use_threads=False):
                    yield widened(pa.Table.from_batches([batch]), types)
