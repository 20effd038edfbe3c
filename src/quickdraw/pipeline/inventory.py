"""fingerprints/files.json: what files a dataset consists of, for whoever got it from somewhere."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import batched
from pathlib import Path
from typing import Any

import msgspec

from quickdraw.formats.json_document import json_object, write_json_object
from quickdraw.pipeline.digests import DigestIndex, FileDigest, digest
from quickdraw.pipeline.executors import Executor
from quickdraw.pipeline.places import INVENTORY, LOG
from quickdraw.pipeline.view_files import VIEW_FILES

FILES = 32  # that a worker digests before it answers
# The inventory itself, the one file that differs from build to build, and what is made from a dataset.
NOT_CONTENT = (INVENTORY, LOG, *VIEW_FILES)


def files_of(dataset: Path) -> Iterator[str]:
    """Every file of a dataset that an inventory lists, relative to it, sorted."""
    root, names = str(dataset), list[str]()
    for folder, _, files in os.walk(root):  # text alone: of a million files paths would take minutes
        inside = folder.removeprefix(root).lstrip("/")
        names += (f"{inside}/{file}" for file in files) if inside else files
    return iter(sorted(name for name in names if name not in NOT_CONTENT))


def take_inventory(dataset: Path, executor: Executor) -> None:
    """Write the inventory of a finished dataset."""
    names = list(files_of(dataset))
    found: dict[str, FileDigest] = {}
    for digests in executor.run(_digest, (_Files(dataset, tuple(some)) for some in batched(names, FILES))):
        found |= digests
    write_json_object(dataset / INVENTORY, _entries((name, found[name]) for name in names), indent=1)


def _entries(digests: Iterable[tuple[str, FileDigest]]) -> Iterator[tuple[str, dict[str, Any]]]:
    return ((name, {"bytes": digest.bytes, "sha256": digest.sha256}) for name, digest in digests)


@dataclass(frozen=True, slots=True)
class _Files:
    dataset: Path
    names: tuple[str, ...]


def _digest(files: _Files) -> dict[str, FileDigest]:
    return {name: digest(files.dataset / name) for name in files.names}


def read_inventory(dataset: Path) -> dict[str, FileDigest]:
    """File -> its digest. Empty where there is no inventory, or none of ours."""
    try:
        return msgspec.json.decode((dataset / INVENTORY).read_bytes(), type=dict[str, FileDigest])
    except (OSError, ValueError, RecursionError, msgspec.MsgspecError):
        return {}


def unlisted(dataset: Path) -> set[str]:
    """Files in a dataset that its build did not put there; none are known where it has no inventory."""
    inventory = read_inventory(dataset)
    return set(files_of(dataset)) - set(inventory) if inventory else set()


def is_whole(dataset: Path, index: DigestIndex) -> bool:
    """Whether a dataset consists of the files of its inventory; all are read unless it looks as when it last did."""
    if not (dataset / INVENTORY).is_file():
        return False
    looks = _looks(dataset)
    if index.was_whole(dataset, looks):
        return True
    inventory = read_inventory(dataset)
    if not inventory or list(files_of(dataset)) != list(inventory):
        return False
    written = "".join(json_object(_entries(inventory.items()), indent=1))
    if (dataset / INVENTORY).read_text(encoding="utf-8") != written:
        return False
    if any(not (dataset / name).is_file() or digest(dataset / name) != told for name, told in inventory.items()):
        return False
    index.is_whole(dataset, looks)
    return True


def remember(dataset: Path, index: DigestIndex) -> None:
    """Put a dataset that was just published into the index."""
    index.is_whole(dataset, _looks(dataset))


def _looks(dataset: Path) -> str:
    """Stands for name, size and time of every file of a dataset, its inventory too."""
    sha256 = hashlib.sha256()
    for name in (*files_of(dataset), INVENTORY):
        stat = os.lstat(f"{dataset}/{name}")
        sha256.update(f"{name}\0{stat.st_size}\0{stat.st_mtime_ns}\0".encode(errors="surrogateescape"))
    return sha256.hexdigest()
