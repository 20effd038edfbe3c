"""Opening a Parquet file that may be damaged in any way: the open file, or why it cannot be read."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

# What pyarrow raises over damage: its own errors, and Python's where it maps them or decodes a name.
UNREADABLE: Final = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    IndexError,
    MemoryError,
    OverflowError,
    pa.ArrowException,
)

SMALL_BYTES: Final = 1 << 20  # read at once, which is faster than piece by piece


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """The `pyarrow.parquet.ParquetFile`, its footer read. Raises one of UNREADABLE."""
    state = path.stat()
    if not stat.S_ISREG(state.st_mode):  # a pipe would wait for its other end
        raise OSError("no regular file")
    source = pa.BufferReader(path.read_bytes()) if state.st_size <= SMALL_BYTES else path
    with pq.ParquetFile(source, pre_buffer=False) as file:
        yield file


def is_there(path: Path) -> bool:
    """Whether a path is a regular file; no, where its folder may not be searched."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False


def table(path: Path) -> Any:
    """A small file whole, as a `pyarrow.Table` of valid arrays. Raises one of UNREADABLE."""
    with opened(path) as file:
        read = file.read(use_threads=False)
    read.validate(full=True)
    return read


def why(error: BaseException) -> str:
    """An error in one line."""
    return " ".join(str(error).split())[:200] or type(error).__name__
