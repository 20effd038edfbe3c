"""What of a dataset is sent to which repository, as it lies on this disk."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from quickdraw.errors import Fault, Refused
from quickdraw.formats.json_document import json_object
from quickdraw.pipeline.digests import FileDigest, digest
from quickdraw.pipeline.inventory import read_inventory
from quickdraw.pipeline.places import INVENTORY, NORMALIZATION, REPORT
from quickdraw.pipeline.progress import Progress
from quickdraw.pipeline.view_files import obstructed, stamp_in, stamp_of
from quickdraw.report.views import VERSION

MEDIA = "media/"
READERS = 4  # threads that read files through; hashing lets others run
CHANGED = "a file that was changed since"
WHOLE = "a dataset as `quickdraw` built it; `quickdraw verify` tells more"


@dataclass(frozen=True, slots=True)
class Item:
    """A file of a repository: its name there, its content, or where that lies, and the content's size and digest."""

    place: str
    content: Path | bytes
    bytes: int
    sha256: str

    def blob_id(self) -> str:
        """The name git gives to its content. Raises Refused as `content_of`."""
        content = content_of(self)
        return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


@dataclass(frozen=True, slots=True)
class Cargo:
    """What one repository, `address`, is to hold. `split` is the one it is of, None for a whole dataset.

    `spared` are files of the dataset that are not sent, by name: they may stay where they are there, if they are these.
    """

    address: str
    split: str | None
    items: Mapping[str, Item]
    spared: Mapping[str, FileDigest] = field(default_factory=dict)


def item_of(place: str, content: bytes) -> Item:
    """A file that is made here."""
    return Item(place, content, len(content), hashlib.sha256(content).hexdigest())


def content_of(item: Item) -> bytes:
    """The content of a file. Raises Refused where that is no more what its digest says."""
    if isinstance(item.content, bytes):
        return item.content
    try:
        content = item.content.read_bytes()
    except OSError:
        content = b""
    if len(content) != item.bytes or hashlib.sha256(content).hexdigest() != item.sha256:
        raise Refused([Fault(item.place, "content", CHANGED, WHOLE, path=str(item.content))])
    return content


def cargo_of(dataset: Path, address: str, media: bool) -> Cargo:
    """A whole dataset, its card apart: the files its build lists, the list first, and its page where it is current."""
    listed = read_inventory(dataset)
    spared = {} if media else {name: told for name, told in listed.items() if name.startswith(MEDIA)}
    sent = {name: _listed(dataset, name, told, name) for name, told in listed.items() if name not in spared}
    unlisted = (INVENTORY, *((REPORT,) if is_current(dataset, REPORT) else ()))
    made = [item_of(name, (dataset / name).read_bytes()) for name in unlisted if (dataset / name).is_file()]
    return Cargo(address, None, {item.place: item for item in made} | sent, spared)


def is_current(dataset: Path, view: str) -> bool:
    """Whether a view of a dataset is there, made of what the dataset holds now, and as this version makes it."""
    path = dataset / view
    return not path.is_symlink() and stamp_in(path) == stamp_of(dataset, VERSION) is not None


def misplaced(dataset: Path) -> Iterator[Fault]:
    """What is in the place of a view and is no file: a link may lead anywhere, and no list says what it leads to."""
    expected = "a file of the dataset's own, or nothing: please move it"
    for name, found in obstructed(dataset).items():
        path = dataset / name
        if path.is_symlink() or not path.is_file():
            yield Fault(str(dataset), name, found, expected, path=str(path))


def split_cargo_of(dataset: Path, split: str, address: str) -> Cargo:
    """One split at the root of its own repository, its card apart, with a list of its own and train's statistics."""
    listed, folder = read_inventory(dataset), f"{split}/"
    places = {name: name.removeprefix(folder) for name in listed if name.startswith(folder)}
    places |= {NORMALIZATION: NORMALIZATION} if NORMALIZATION in listed else {}
    items = [_listed(dataset, name, listed[name], place) for name, place in sorted(places.items())]
    entries = ((item.place, {"bytes": item.bytes, "sha256": item.sha256}) for item in items)
    inventory = item_of(INVENTORY, "".join(json_object(entries, indent=1)).encode())
    return Cargo(address, split, {item.place: item for item in (inventory, *items)})


def _listed(dataset: Path, name: str, told: FileDigest, place: str) -> Item:
    return Item(place, dataset / name, told.bytes, told.sha256)


def missing(dataset: Path, cargos: Iterable[Cargo]) -> Iterator[Fault]:
    """What of the files to be sent is not there, or cannot be what its build listed: none is read."""
    if not read_inventory(dataset):
        yield Fault(str(dataset), "inventory", "none of ours", WHOLE, path=str(dataset / INVENTORY))
    for item in _on_disk(cargos):
        if _is_outside(item):
            yield _fault(dataset, item, "a place outside the dataset")
        elif not _path(item).is_file():
            yield _fault(dataset, item, "nothing there")
        elif _path(item).stat().st_size != item.bytes:
            yield _fault(dataset, item, CHANGED)


def changed(dataset: Path, cargos: Iterable[Cargo], progress: Progress) -> Iterator[Fault]:
    """What of the files to be sent is not what its build listed; all of them are read."""
    items = _on_disk(cargos)
    total = in_kb(sum(item.bytes for item in items))
    with progress.stage("read", total, "kB") as meter, ThreadPoolExecutor(READERS) as pool:
        advance = in_kilobytes(meter.advance)
        for item, found in zip(items, pool.map(_state, items), strict=True):
            advance(item.bytes)
            if found:
                yield _fault(dataset, item, found)


def _on_disk(cargos: Iterable[Cargo]) -> list[Item]:
    """Every file to be sent, once; those that are made here are what they are."""
    found = {item.content: item for cargo in cargos for item in cargo.items.values() if isinstance(item.content, Path)}
    return list(found.values())


def _path(item: Item) -> Path:
    assert isinstance(item.content, Path)
    return item.content


def _is_outside(item: Item) -> bool:
    return PurePosixPath(item.place).is_absolute() or ".." in PurePosixPath(item.place).parts


def _state(item: Item) -> str:
    """What is wrong with a file; "" for nothing."""
    try:
        return "" if digest(_path(item)) == FileDigest(item.bytes, item.sha256) else CHANGED
    except OSError as error:
        return f"unreadable ({error.strerror})"


def _fault(dataset: Path, item: Item, found: str) -> Fault:
    return Fault(str(dataset), "files", found, WHOLE, path=str(item.content))


def in_kb(size: int) -> int:
    """Bytes in kB, a started one counted."""
    return -(-size // 1000)


def in_kilobytes(advance: Callable[[int], None]) -> Callable[[int], None]:
    """`advance` by kB, as a function that is told bytes: what is over counts with the next."""
    told = shown = 0

    def advanced(size: int) -> None:
        nonlocal told, shown
        told += size
        advance(in_kb(told) - shown)
        shown = in_kb(told)

    return advanced


def splits_in(dataset: Path) -> Iterator[str]:
    """The splits its inventory lists, train first, val next."""
    found = {name.split("/")[0] for name in read_inventory(dataset) if name.endswith("/meta/info.json")}
    yield from sorted(found, key=lambda name: (name != "train", name != "val", name))


def inventory_in(text: bytes) -> set[str]:
    """The files that an inventory lists; none where it is none of ours."""
    try:
        listed = json.loads(text)
        names = {name for name, told in listed.items() if set(told) == {"bytes", "sha256"}}
    except (ValueError, AttributeError, TypeError, RecursionError):
        return set()
    return names if len(names) == len(listed) else set()


def name_in(summary: bytes) -> str:
    """The name that a dataset's summary.json tells; "" where it tells none."""
    try:
        name = json.loads(summary)["name"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return name if isinstance(name, str) else ""
