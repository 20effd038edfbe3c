"""Which number a recording gets, so that a finished one is never given again (contract 2 and 7.5).

A number leaves traces: files, a row, our own key in info.json, the caller's watermark. The next is above them all, but
for a number freed by an abort, which goes first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Set
from datetime import UTC, datetime

from quickdraw.formats import durable
from quickdraw.formats.pooled import row_tables
from quickdraw.formats.pooled.documents import read_regular
from quickdraw.formats.pooled.info import Info
from quickdraw.formats.pooled.layout import CHUNK_FOLDER, Layout, Place
from quickdraw.formats.pooled.scan import scan

MOST = 1 << 53  # what a number in JSON holds exactly


def known_numbers(layout: Layout) -> set[int]:
    """Every N that has files or a row. Names tell, except of `file-` rows, which are opened: they may be shards.

    No recorder makes a shard of an `episode-` name. Of one made so by hand only the N of its name is known here: to
    tell it, each of ten thousand files would have to be opened, which takes seconds.
    """
    return {*scan(layout), *_with_row(layout)}


def next_number(layout: Layout, info: Info | None, *, watermark: int = 0, known: Set[int] | None = None) -> int:
    """The N of the next recording. Must run under `exclusive.changing`: a marker of a taken number is deleted.

    `watermark` is the caller's own proposal from its progress (episodes completed + 1), 0 for none. `info` is None
    where the task is new. `known` is what `known_numbers` tells, where the caller has asked already.
    """
    number = foreseen_number(layout, info, watermark=watermark, known=known)
    if number != read_marker(layout):
        clear_marker(layout)
    return number


def foreseen_number(layout: Layout, info: Info | None, *, watermark: int = 0, known: Set[int] | None = None) -> int:
    """What `next_number` would give now. Changes nothing."""
    taken = known_numbers(layout) if known is None else known
    last = info.last_number if info else 0
    return freed_number(layout, info, taken) or max(0, last, watermark - 1, *taken) + 1


def freed_number(layout: Layout, info: Info | None, known: Set[int]) -> int:
    """The number an abort freed, 0 for none. One with files or a row, or not above the last finished one, is not free.

    `known` is what `known_numbers` tells.
    """
    marked = read_marker(layout)
    return 0 if marked in known or marked <= (info.last_number if info else 0) else marked


def read_marker(layout: Layout) -> int:
    """The number in the marker of an aborted recording; 0 where there is none, or none that can be read."""
    try:
        found = json.loads(read_regular(layout.recycled))
    except (OSError, ValueError, RecursionError):
        return 0
    number = found.get("episode_index") if isinstance(found, dict) else None
    return number if isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= MOST else 0


def write_marker(layout: Layout, number: int) -> None:
    """Mark a number as free again; below 1 clears the marker. There is room for one: a second replaces the first."""
    if number < 1:
        clear_marker(layout)
        return
    content = {"episode_index": number, "freed_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
    layout.meta.mkdir(parents=True, exist_ok=True)
    durable.write_aside(layout.recycled, [json.dumps(content, separators=(",", ":")).encode()])
    durable.sync(layout.meta)


def clear_marker(layout: Layout) -> None:
    """Remove the marker, if there is one. A folder of that name is none."""
    if layout.recycled.is_file():
        layout.recycled.unlink()
        durable.sync(layout.meta)


def _with_row(layout: Layout) -> Iterator[int]:
    for path in row_tables.row_files(layout):
        chunk, name = CHUNK_FOLDER.fullmatch(path.parent.name), row_tables.ROW_FILE.fullmatch(path.name)
        if chunk and name and name[1] == "episode":
            yield layout.number(Place(int(chunk[1]), int(name[2])))
        else:
            table = row_tables.read_table(path)
            yield from (each for each in ([] if table is None else row_tables.numbers_in(table)) if each > 0)
