"""Opening a Parquet file that may be damaged in any way: the open file, or why it cannot be read.

Damage shows in three places: in the footer, in the pages as they are decoded, and in text as Python makes strings of
it, for Arrow does not look at bytes it only copies. Whoever reads a file guards all three with UNREADABLE.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

# What pyarrow raises over damage: its own errors, and Python's where it maps them or decodes a name.
UNREADABLE: Final = (
    OSError,
    ValueError,  # UnicodeDecodeError among them
    KeyError,
    TypeError,
    IndexError,
    MemoryError,
    OverflowError,
    pa.ArrowException,
)
SMALL_BYTES: Final = 1 << 20  # read at once, which is faster than piece by piece


@contextmanager
def opened(path: Path, *, buffer_bytes: int = 0) -> Iterator[Any]:
    """The `pyarrow.parquet.ParquetFile`, its footer read. Raises one of UNREADABLE, over what is no file at all too.

    Of a file that is not small no more than is asked for is read, `buffer_bytes` at a time, where that is not 0. Left
    alone, Arrow reads every row group ahead and keeps them all.
    """
    state = path.stat()
    if not stat.S_ISREG(state.st_mode):  # a pipe would wait for its other end
        raise OSError("no regular file")
    source = pa.BufferReader(path.read_bytes()) if state.st_size <= SMALL_BYTES else path
    with pq.ParquetFile(source, buffer_size=buffer_bytes, pre_buffer=False) as file:
        yield file


def check_chunks(file: Any, leaves: Sequence[int]) -> None:
    """Make sure that the footer of an open file may be asked about its leaf columns `leaves`, by position.

    `metadata.row_group(g).column(c)` and its `statistics` end the process where Arrow finds the entry wrong. Reading no
    row of a group asks Arrow the same in a way that raises: one of UNREADABLE. It takes 0.02 ms a chunk.
    """
    footer = file.metadata
    kinds = {leaf: footer.schema.column(leaf).physical_type for leaf in leaves}
    for group in range(footer.num_row_groups):
        next(file.reader.iter_batches(0, [group], leaves, use_threads=False), None)
        chunks = footer.row_group(group)
        wrong = [leaf for leaf in leaves if chunks.column(leaf).physical_type != kinds[leaf]]
        if wrong:
            raise ValueError(f"column chunks {wrong} of row group {group} of another type than their column")


def table(path: Path) -> Any:
    """A small file whole, as a `pyarrow.Table` of valid arrays: its text is text. Raises one of UNREADABLE."""
    with opened(path) as file:
        read = file.read(use_threads=False)
    read.validate(full=True)
    return read


def why(error: BaseException) -> str:
    """An error in one line."""
    return " ".join(str(error).split())[:200] or type(error).__name__
