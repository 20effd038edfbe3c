"""fingerprints/files.json: what files a dataset consists of, for whoever got it from somewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from quickdraw.formats.json_document import write_json
from quickdraw.pipeline.digests import DigestIndex, FileDigest, digest, stamp_of
from quickdraw.pipeline.executors import Executor
from quickdraw.pipeline.places import INVENTORY, LOG

NOT_CONTENT = (INVENTORY, LOG)  # the inventory itself, and the one file that differs from build to build


def files_of(dataset: Path) -> Iterator[str]:
    """Every file of a dataset that an inventory lists, relative to it, sorted."""
    names = (str(path.relative_to(dataset)) for path in dataset.rglob("*") if not path.is_dir())
    return iter(sorted(name for name in names if name not in NOT_CONTENT))


def take_inventory(dataset: Path, executor: Executor) -> None:
    """Write the inventory of a finished dataset."""
    tasks = (_File(dataset, name) for name in files_of(dataset))
    found = dict(executor.run(_digest, tasks))
    write_json(dataset / INVENTORY, {name: asdict(found[name]) for name in sorted(found)}, indent=1)


@dataclass(frozen=True, slots=True)
class _File:
    dataset: Path
    name: str


def _digest(file: _File) -> tuple[str, FileDigest]:
    return file.name, digest(file.dataset / file.name)


def read_inventory(dataset: Path) -> dict[str, FileDigest]:
    """File -> its digest. Empty where there is no inventory, or none of ours."""
    try:
        document = json.loads((dataset / INVENTORY).read_bytes())
        return {name: FileDigest(int(entry["bytes"]), str(entry["sha256"])) for name, entry in document.items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}


def unlisted(dataset: Path) -> set[str]:
    """Files in a dataset that its build did not put there; none are known where it has no inventory."""
    inventory = read_inventory(dataset)
    return set(files_of(dataset)) - set(inventory) if inventory else set()


def is_whole(dataset: Path, index: DigestIndex) -> bool:
    """Whether a dataset consists of the files of its inventory; files the index does not know are read."""
    inventory = read_inventory(dataset)
    if not inventory or list(files_of(dataset)) != sorted(inventory):
        return False
    for name, promised in inventory.items():
        path = dataset / name
        if not path.is_file():
            return False
        stamp = stamp_of(path)
        if (index.known(path, stamp) or digest(path)) != promised:
            return False
        index.add(path, stamp, promised.sha256)
    return True


def remember(dataset: Path, index: DigestIndex) -> None:
    """Put the files of a dataset that was just published into the index."""
    for name, known in read_inventory(dataset).items():
        index.add(dataset / name, stamp_of(dataset / name), known.sha256)
