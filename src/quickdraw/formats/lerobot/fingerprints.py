"""fingerprints/<split>.parquet: CRC-32 of every encoded picture and every vector, row by row, from when it was made.

LeRobot joins rows and pictures by time alone: a frame shifted, frozen or taken from another camera plays as well as the
right one, and a vector moved to another row trains as well. Here each row names its pictures and its vectors.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from quickdraw.errors import Fault, Refused
from quickdraw.formats.lerobot.tables import batches, scalars

FINGERPRINTS_PATH = "fingerprints/{split}.parquet"
GROUP_ROWS = 1 << 16

type Crcs = npt.NDArray[np.uint32]


def vector_crcs(rows: npt.NDArray[Any]) -> Crcs:
    """CRC-32 of each row of `(T, D)`, as its values stand in memory, little-endian: `(T,)` uint32."""
    little = np.ascontiguousarray(rows, rows.dtype.newbyteorder("<"))
    return np.array([zlib.crc32(row) for row in little], np.uint32)


def write_fingerprints(path: Path, episodes: Iterable[Mapping[str, Crcs]]) -> None:
    """Columns `index`, the row's number in the split, and uint32 per camera and per vector; `(T,)` each of an episode.

    Every episode must have the first one's columns, each of one length; there must be an episode. A row group holds
    whole episodes, 65,536 rows or more: a writer holds something of each until its file ends.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    writer, begun = None, 0
    try:
        for crcs in _gathered(episodes):
            rows = len(next(iter(crcs.values())))
            table = pa.table({"index": np.arange(begun, begun + rows, dtype=np.int64), **crcs})
            writer = writer or pq.ParquetWriter(path, table.schema, compression="snappy")
            writer.write_table(table, row_group_size=max(1, rows))
            begun += rows
    finally:
        if writer is not None:
            writer.close()


def _gathered(episodes: Iterable[Mapping[str, Crcs]]) -> Iterator[dict[str, Crcs]]:
    """As many episodes together as make a row group."""
    held, rows = list[Mapping[str, Crcs]](), 0
    for crcs in episodes:
        held.append(crcs)
        rows += len(next(iter(crcs.values())))
        if rows >= GROUP_ROWS:
            yield _joined(held)
            held, rows = [], 0
    if held:
        yield _joined(held)


def _joined(episodes: Sequence[Mapping[str, Crcs]]) -> dict[str, Crcs]:
    return {name: np.concatenate([crcs[name] for crcs in episodes]) for name in episodes[0]}


@dataclass(frozen=True, slots=True)
class Fingerprints:
    """A file of fingerprints: its `rows`, and which `columns` there are beside `index`."""

    path: Path
    rows: int
    columns: tuple[str, ...]
    groups: tuple[int, ...]

    def crcs(self, column: str, first: int = 0, rows: int | None = None) -> Crcs:
        """`(rows,)` uint32 from row `first` on, all that are left where no number is told. Raises Refused."""
        pieces = list(self.pieces(column, first, rows))
        return np.concatenate(pieces) if pieces else np.zeros(0, np.uint32)

    def pieces(self, column: str, first: int = 0, rows: int | None = None) -> Iterator[npt.NDArray[Any]]:
        """The same, piece by piece; of `index` too."""
        try:
            for batch in batches(
                self.path, self.groups, [column], first=first, rows=self.rows if rows is None else rows
            ):
                yield scalars(batch.column(column))
        except (OSError, ValueError, LookupError, pa.ArrowException) as error:
            raise _refusal(self.path, f"unreadable ({error})", "a column `index` and others beside it") from error


def open_fingerprints(path: Path) -> Fingerprints:
    """What a file of fingerprints holds. Raises Refused where it is unreadable, or a column is no uint32."""
    try:
        with pq.ParquetFile(path) as file:
            arrow, footer = file.schema_arrow, file.metadata
            groups = tuple(footer.row_group(number).num_rows for number in range(footer.num_row_groups))
        columns = {field.name: str(field.type) for field in arrow}
        del columns["index"]
    except (OSError, LookupError, pa.ArrowException) as error:
        raise _refusal(path, f"unreadable ({error})", "a column `index` and others beside it") from error
    odd = [f"{name} {kind}" for name, kind in columns.items() if kind != "uint32"]
    if odd:
        raise _refusal(path, ", ".join(odd), "uint32")
    return Fingerprints(path, sum(groups), tuple(columns), groups)


def check_index(file: Fingerprints) -> None:
    """Raises Refused where its `index` is not 0, 1, 2, ..., or that column is damaged."""
    begun = 0
    for index in file.pieces("index"):
        if not np.array_equal(index, np.arange(begun, begun + len(index))):
            raise _refusal(file.path, "rows out of order", "`index` 0, 1, 2, ...")
        begun += len(index)


def _refusal(path: Path, found: str, expected: str) -> Refused:
    return Refused([Fault(path.stem, "fingerprints", found, expected, path=str(path))])
