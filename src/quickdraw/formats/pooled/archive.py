"""One episode as the zip a server takes: its files and the task's documents, under their own names (contract 9).

The order is fixed and so is every byte: nothing is compressed, and no date of today gets in. Hidden files, temporaries,
markers and `_aux` streams stay out. What is incomplete is refused, never packed.
"""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from quickdraw.errors import Fault, Refused, VideoError
from quickdraw.formats import durable
from quickdraw.formats.pooled import journal
from quickdraw.formats.pooled.data import DataFile
from quickdraw.formats.pooled.info import Info, recognise
from quickdraw.formats.pooled.layout import EXTENSIONS, PLAIN_NAME, Layout
from quickdraw.formats.pooled.row_tables import numbers_in, read_table
from quickdraw.formats.pooled.rows import read_row, row_bytes
from quickdraw.formats.pooled.scan import EpisodeFiles, scan
from quickdraw.video.cut_off import refuse_cut

DATE: Final = (1980, 1, 1, 0, 0, 0)  # the first a zip can tell
MODE: Final = 0o100644 << 16
UNIX: Final = 3

type Member = tuple[str, Path | bytes]


def pack(layout: Layout, number: int, target: Path) -> Path:
    """Write episode N as a zip to `target`, or into the folder `target` as `<task>_ep000011.zip`; the file's path.

    An archive of the same episode is replaced, once the new one is whole. Raises Refused, with everything that is
    missing, for an incomplete episode or one that is recorded anew meanwhile, for a place inside the task, and for one
    at which anything else stands, as another chunk's episode of the same `_ep` name may; ValueError below N = 1.
    """
    if target.is_dir():
        target = target / f"{layout.task}{layout.place(number).suffix}.zip"
    if layout.root.resolve() in target.resolve().parents:
        fault = Fault(layout.task, "target", str(target), "a place outside the task's folder", path=str(target))
        raise Refused([fault])
    members = list(_members(layout, number))
    _refuse_other(layout, number, target)
    packed = {path: path.stat().st_ino for _, path in members if isinstance(path, Path) and path.parent != layout.meta}
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = durable.aside(target)
    try:
        with zipfile.ZipFile(fresh, "w", zipfile.ZIP_STORED) as archive:
            for name, content in members:
                _write(archive, name, content)
        _refuse_replaced(layout, number, packed)
        durable.sync(fresh)
        fresh.replace(target)
    finally:
        fresh.unlink(missing_ok=True)
    durable.sync(target.parent)
    return target


def _refuse_other(layout: Layout, number: int, target: Path) -> None:
    """Raise Refused where something stands at `target` that is no archive of this episode of this task."""
    if not target.exists():
        return
    try:
        with zipfile.ZipFile(target) as archive:
            of_it = _relative(layout, layout.row(number)) in archive.namelist()
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError):
        of_it = False
    if not of_it:
        found = f"{target}, which is no archive of episode {number}"
        raise Refused([Fault(layout.task, "target", found, "a free place", path=str(target), option="--out")])


def _refuse_replaced(layout: Layout, number: int, packed: Mapping[Path, int]) -> None:
    """Raise Refused where a recorder replaced the episode meanwhile, or has begun to: old and new make no episode."""
    there = {path: path.stat().st_ino for path in packed if path.exists()}
    if there != packed or packed.keys() & journal.awaited(layout):
        found = f"episode {number} replaced while it was packed"
        raise Refused([Fault(layout.task, "episode", found, "one recording; pack it again", path=str(layout.root))])


def _write(archive: zipfile.ZipFile, name: str, content: Path | bytes) -> None:
    """Store one member. Names beyond ASCII are UTF-8 and flagged so, by zipfile itself."""
    entry = zipfile.ZipInfo(name, DATE)
    entry.create_system, entry.external_attr = UNIX, MODE
    if isinstance(content, bytes):
        archive.writestr(entry, content)
        return
    with content.open("rb") as source:
        entry.file_size = content.stat().st_size  # tells zipfile whether the entry needs 64 bits
        with archive.open(entry, "w") as sink:
            shutil.copyfileobj(source, sink, 1 << 20)


def _members(layout: Layout, number: int) -> Iterator[Member]:
    """(arcname, file or bytes), in the order of the contract. Raises Refused where anything is missing."""
    info = recognise(layout.root)
    files = scan(layout).get(number) or EpisodeFiles(number)
    row = _row(layout, number)
    faults = list(_faults(info, files, row))
    if faults or row is None or files.data is None:
        raise Refused(faults)
    for slot in sorted(files.videos):
        path = files.videos[slot][0]
        yield _relative(layout, path), path
    yield _relative(layout, files.data), files.data
    yield _relative(layout, layout.row(number)), row
    for path in (layout.info, layout.stats, layout.tasks):
        yield _relative(layout, path), path


def _row(layout: Layout, number: int) -> Path | bytes | None:
    """The episode's own file of one row, else a slice of the shard its row is in; None where it has none."""
    for path in (layout.row(number), layout.old_row(number)):
        table = read_table(path)
        if table is not None and numbers_in(table) == [number]:
            return path
    row = read_row(layout, number)
    return None if row is None else row_bytes(row)


def _faults(info: Info, files: EpisodeFiles, row: Path | bytes | None) -> Iterator[Fault]:
    layout, number = info.layout, files.number
    where = f"{layout.task}: episode {number} ({layout.place(number).suffix})"

    def missing(field: str, path: Path) -> Fault:
        return Fault(where, field, "nothing", "a complete episode", path=str(path))

    home = layout.data(number)
    if files.data != home or not _has_bytes(home):
        yield missing("data", home)
    else:
        yield from _data_faults(where, home)
    if row is None:
        yield missing("row", layout.row(number))
    if not files.videos and info.document.get("video", True) is not False:
        yield missing("video", layout.root / "videos")
    for slot, paths in files.videos.items():
        yield from _video_faults(layout, number, slot, where=where, paths=paths)
    for path in (layout.stats, layout.tasks):
        if not _has_bytes(path):
            yield missing(path.name, path)
    videos = (path for paths in files.videos.values() for path in paths)
    for path in (*videos, home, layout.row(number), layout.info, layout.stats, layout.tasks):
        if path.is_symlink():  # it might lead anywhere, and what is there would leave the machine
            yield Fault(where, path.name, f"a link to {path.readlink()}", "the file itself", path=str(path))


def _data_faults(where: str, path: Path) -> Iterator[Fault]:
    try:
        rows = DataFile(path).rows
    except Refused as refused:
        yield Fault(where, "data", refused.faults[0].found, "a readable data file", path=str(path))
        return
    if not rows:
        yield Fault(where, "data", "no row", "rows", path=str(path))


def _video_faults(layout: Layout, number: int, slot: str, *, where: str, paths: list[Path]) -> Iterator[Fault]:
    field, path = f"video of {slot}", paths[0]
    if len(paths) > 1:
        yield Fault(where, field, ", ".join(each.name for each in paths), "one file", path=str(path.parent))
    elif path.suffix[1:] not in EXTENSIONS:
        yield Fault(where, field, path.name, "an mp4 or mkv", path=str(path))
    elif not _has_bytes(path):
        yield Fault(where, field, "no bytes", "a video", path=str(path))
    elif not PLAIN_NAME.fullmatch(slot) or slot.encode("utf-8", "ignore").decode() != slot:
        yield Fault(where, field, repr(slot), "a slot of a plain folder name", path=str(path))
    elif path != (home := layout.video(number, slot, path.suffix[1:])):
        yield Fault(where, field, str(path), f"it at {home}", path=str(path))
    else:
        yield from _cut_faults(where, field, path)


def _cut_faults(where: str, field: str, path: Path) -> Iterator[Fault]:
    """By headers alone: no picture is decoded."""
    try:
        refuse_cut(path)
    except VideoError as error:
        yield Fault(where, field, error.found, error.expected, path=str(path))


def _has_bytes(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size > 0
    except OSError:
        return False


def _relative(layout: Layout, path: Path) -> str:
    return path.relative_to(layout.root).as_posix()
