"""fingerprints/<split>.parquet: CRC-32 of every encoded picture and every vector, row by row, from when it was made.

LeRobot joins rows and pictures by time alone: a frame shifted, frozen or taken from another camera plays as well as the
right one, and a vector moved to another row trains as well. Here each row names its pictures and its vectors.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from quickdraw.errors import Fault, Refused

FINGERPRINTS_PATH = "fingerprints/{split}.parquet"

type Crcs = npt.NDArray[np.uint32]


def vector_crcs(rows: npt.NDArray[Any]) -> Crcs:
    """CRC-32 of each row of `(T, D)`, as its values stand in memory, little-endian: `(T,)` uint32."""
    little = np.ascontiguousarray(rows, rows.dtype.newbyteorder("<"))
    return np.array([zlib.crc32(row) for row in little], np.uint32)


def write_fingerprints(path: Path, episodes: Iterable[Mapping[str, Crcs]]) -> None:
    """One row group an episode: `index`, the row's number in the split, and `(T,)` uint32 per camera and per vector.

    Every episode must have the first one's columns, each of one length; there must be an episode.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    writer, begun = None, 0
    try:
        for crcs in episodes:
            rows = len(next(iter(crcs.values())))
            table = pa.table({"index": np.arange(begun, begun + rows, dtype=np.int64), **crcs})
            writer = writer or pq.ParquetWriter(path, table.schema, compression="snappy")
            writer.write_table(table, row_group_size=max(1, rows))
            begun += rows
    finally:
        if writer is not None:
            writer.close()


def read_fingerprints(path: Path) -> dict[str, Crcs]:
    """Camera or feature -> `(rows,)` uint32.

    Raises Refused where the file is unreadable or its `index` is not 0, 1, 2, ...
    """
    try:
        table = pq.ParquetFile(path).read()
        columns = {name: np.asarray(table[name].to_numpy()) for name in table.column_names}
        index = columns.pop("index")
    except (OSError, LookupError, pa.ArrowException) as error:
        raise _refusal(path, f"unreadable ({error})", "a column `index` and others beside it") from error
    if not np.array_equal(index, np.arange(len(index))):
        raise _refusal(path, "rows out of order", "`index` 0, 1, 2, ...")
    odd = [f"{name} {crcs.dtype}" for name, crcs in columns.items() if crcs.dtype != np.uint32]
    if odd:
        raise _refusal(path, ", ".join(odd), "uint32")
    return columns


def _refusal(path: Path, found: str, expected: str) -> Refused:
    return Refused([Fault(path.stem, "fingerprints", found, expected, path=str(path))])
