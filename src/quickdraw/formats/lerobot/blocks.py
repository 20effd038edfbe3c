"""Which episodes share a file of rows: known before any is written, so that each file can be written by itself.

A block of episodes is one file of data/ and one of meta/episodes, of the same number. How large they become is known
when they are written; here it is bounded, by what numbers take where nothing in them repeats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from quickdraw.formats.lerobot import schema
from quickdraw.formats.lerobot.files import Place
from quickdraw.formats.lerobot.schema import MB, DatasetSpec

# Row groups of a file have so many columns together at most: writers and readers hold something of each, which for
# thousands of short episodes is more than their rows.
MOST_CHUNKS = 4_000
BATCH = 10  # episodes to a row group of meta/episodes, as lerobot does

# What Parquet takes besides numbers. A column begins with a dictionary of at most 1 MB, and numbers that are in it take
# an index of up to 18 bits, too; a list takes its levels; a column of a row group takes headers and its share of the
# footer, in which it has its name twice.
INDEX_BYTES, DICTIONARY_BYTES = 3, 1 << 20
LIST_BYTES = 8
CHUNK_BYTES = 400


@dataclass(frozen=True, slots=True)
class Block:
    """Episodes `first` to `stop`, exclusive, of a split, which are its files `number`; they begin with `first_row`."""

    number: int
    first: int
    stop: int
    first_row: int
    rows: int

    def __str__(self) -> str:
        return f"episodes {self.first} to {self.stop - 1}"

    @property
    def place(self) -> Place:
        """Of its files."""
        return Place(self.number, 0)


def blocks_of(spec: DatasetSpec, lengths: Sequence[int], texts_bytes: Sequence[int]) -> list[Block]:
    """The blocks of a split of episodes of so many rows, and task texts of so many bytes.

    A block takes episodes while neither file can reach `data_mb`, nor `MOST_CHUNKS` columns in its row groups; an
    episode that could alone has a block of its own, for it is never split.
    """
    sizes, limit = _Sizes.of(spec), spec.limits.data_mb * MB
    blocks: list[Block] = []
    first, first_row, row = 0, 0, 0
    data, meta = 0, 0
    for number, (rows, text) in enumerate(zip(lengths, texts_bytes, strict=True)):
        data, meta = data + sizes.data(rows), meta + sizes.meta(number - first, text)
        full = number - first >= sizes.most or max(data + sizes.empty_data, meta + sizes.empty_meta) >= limit
        if full and number > first:
            blocks.append(Block(len(blocks), first, number, first_row, row - first_row))
            first, first_row = number, row
            data, meta = sizes.data(rows), sizes.meta(0, text)
        row += rows
    blocks.append(Block(len(blocks), first, len(lengths), first_row, row - first_row))
    return blocks


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Bounds [bytes] of what an episode adds to its files, and the `most` episodes that share them."""

    columns: tuple[tuple[int, int], ...]  # of data: numbers a row, and bytes of one
    data_group: int
    meta_group: int
    statistics: int
    empty_data: int
    empty_meta: int
    most: int

    @classmethod
    def of(cls, spec: DatasetSpec) -> _Sizes:
        data, meta = schema.data_schema(spec.features), schema.episodes_schema(spec)
        widths = {feature.name: feature.width for feature in spec.features}
        kinds = {feature.name: feature.dtype for feature in spec.features} | schema.BOOKKEEPING
        numbers = sum(_numbers(widths.get(name, 1), 8, 1) * len(schema.STATISTICS) for name in widths)
        pictures = sum(_numbers(camera.channels, 8, 2 * camera.channels + 1) for camera in spec.camera_specs)
        return cls(
            columns=tuple((widths.get(name, 1), np.dtype(kinds[name]).itemsize) for name in data.names),
            data_group=_group(data),
            meta_group=_group(meta),
            statistics=numbers + pictures * len(schema.STATISTICS) + _numbers(1, 8, 1) * len(meta),
            empty_data=_empty(data),
            empty_meta=_empty(meta),
            most=max(1, min(MOST_CHUNKS // len(data), BATCH * max(1, MOST_CHUNKS // len(meta)))),
        )

    def data(self, rows: int) -> int:
        """Of an episode's rows, a row group."""
        return self.data_group + sum(_numbers(rows * width, bytes_, rows) for width, bytes_ in self.columns)

    def meta(self, before: int, text: int) -> int:
        """Of its row in meta/episodes, which begins a row group where so many are before it."""
        return self.statistics + 6 * text + (self.meta_group if before % BATCH == 0 else 0)


def _numbers(count: int, bytes_: int, lists: int) -> int:
    indexed = min(count, DICTIONARY_BYTES // bytes_)
    return count * bytes_ + indexed * INDEX_BYTES + lists * LIST_BYTES


def _group(arrow: pa.Schema) -> int:
    """A row group without its numbers."""
    return sum(CHUNK_BYTES + 2 * len(name.encode()) for name in arrow.names)


def _empty(arrow: pa.Schema) -> int:
    """A file without a row group."""
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, arrow):
        pass
    return int(sink.getvalue().size)
