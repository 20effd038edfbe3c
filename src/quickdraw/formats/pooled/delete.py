"""One episode's files removed. Its number stays taken, and what it added to statistics and counts stays (contract 2).

Videos and data go; the row stays, unless it is asked for too (pitfall P-68). All of it is one transaction. A folder
that is a link is followed, and stays; a file that is one is removed as the link it is, what it leads to never.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from quickdraw.errors import Fault, Refused
from quickdraw.formats.pooled import exclusive, info_merge, journal, numbers, row_tables, shards
from quickdraw.formats.pooled.documents import remove_empty
from quickdraw.formats.pooled.info import LAST_NUMBER, read_document
from quickdraw.formats.pooled.layout import Layout
from quickdraw.formats.pooled.scan import EpisodeFiles, scan


@dataclass(frozen=True, slots=True)
class Report:
    """What was removed, or would be: `files` whole, and N's row out of each of `shards`. `applied` tells which."""

    number: int
    files: tuple[Path, ...]
    shards: tuple[Path, ...]
    applied: bool


def delete(layout: Layout, number: int, *, with_row: bool = False, apply: bool = False) -> Report:
    """Remove the videos (every slot, extension, `_aux` stream) and the data of episode N, with `with_row` its row too.

    Without `apply` nothing is changed. An episode of which nothing is left is deleted successfully. Before anything
    goes, info.json is made to remember N, so that no recording gets it again. Raises Refused for a number below 1, a
    task without readable info.json, or one that is being changed; then nothing is changed.
    """
    if number < 1:
        raise Refused([Fault(layout.task, "episode", str(number), "a number from 1 on", option="--episode")])
    if not apply:
        return Report(number, *_targets(layout, number, with_row), applied=False)
    with exclusive.changing(layout):
        files, parted = _targets(layout, number, with_row)
        if number in numbers.known_numbers(layout):
            _remove(layout, number, files, with_row=with_row)
        for path in (*files, *parted):
            remove_empty(path.parent, layout)
    return Report(number, files, parted, applied=True)


def _remove(layout: Layout, number: int, files: Iterable[Path], *, with_row: bool) -> None:
    with ExitStack() as held:
        renames, removals = held.enter_context(shards.parting(layout, number)) if with_row else ([], [])
        taken = numbers.read_marker(layout) == number  # it is not free, whatever its marker says
        gone = [*files, *removals, *([layout.recycled] if taken else [])]
        journal.commit(layout, [*_remembering(layout, number), *renames], gone)


def _targets(layout: Layout, number: int, with_row: bool) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    found = scan(layout).get(number, EpisodeFiles(number))
    files = [each for videos in found.videos.values() for each in videos] + found.auxiliary
    files += [found.data, *found.others] if found.data else []
    if not with_row:
        return tuple(files), ()
    own = row_tables.read_table(layout.row(number))
    if layout.row(number).is_file() and (own is None or row_tables.numbers_in(own) == [number]):
        files.append(layout.row(number))  # by its name where it cannot be read
    return tuple(files), tuple(shards.holders(layout, number))


def _remembering(layout: Layout, number: int) -> list[tuple[Path, Path]]:
    document = read_document(layout.info, layout.root)
    remembered = info_merge.merged(document, {LAST_NUMBER: number})
    if remembered == document:
        return []
    return [(journal.prepare(layout.info, info_merge.document_bytes(remembered)), layout.info)]
