"""Digests of files, and an index of them so that an unchanged file is not read again.

Unchanged is a file of the same size and modification time. The index lies beside a dataset, not in it, for times differ
from machine to machine. It is a log: a line a file, the last one counts, and one that a crash tore off is no harm.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import msgspec

from quickdraw.core.episode import FileStamp
from quickdraw.core.pickling import Brief
from quickdraw.formats.durable import write_aside
from quickdraw.pipeline.seals import read_sealed, sealed


@dataclass(frozen=True, slots=True)
class FileDigest(Brief):
    """Size and SHA-256 of a file's content."""

    bytes: int
    sha256: str


def digest(path: Path) -> FileDigest:
    """Read a file through; right before it is used, so that the second read finds it in memory."""
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        return FileDigest(file.tell(), sha256)


def stamp_of(path: Path) -> FileStamp:
    """What a file looks like now."""
    stat = path.stat()
    return FileStamp(stat.st_size, stat.st_mtime_ns)


class DigestIndex:
    """The digests of files that were read before, as long as `trusted`; new ones are added to `path` at once.

    Of a dataset, thousands of files, it holds one value: what all of it looked like when it was known to be whole.
    """

    def __init__(self, path: Path, trusted: bool) -> None:
        self.path = path
        self.files: dict[str, bytes] = {}
        self.datasets: dict[str, str] = {}
        lines = 0
        for line in read_sealed(path) if trusted else ():
            self._learn(line)
            lines += 1
        if lines > 2 * (len(self.files) + len(self.datasets)):  # most of it is out of date
            self._rewrite()
        elif path.exists():
            with path.open("a") as file:
                file.write("\n")  # the last line may be torn

    def known(self, path: Path, stamp: FileStamp) -> FileDigest | None:
        """The digest of a file that looks like `stamp`, if it looked like that when it was read."""
        size, mtime_ns, sha256 = _PACKED.unpack(self.files.get(str(path), _NOTHING))
        return FileDigest(size, sha256.hex()) if (size, mtime_ns) == (stamp.bytes, stamp.mtime_ns) else None

    def add(self, files: Iterable[tuple[Path, FileStamp, str]]) -> None:
        """Remember the SHA-256 of files that looked like that when they were read."""
        lines = b""
        for path, stamp, sha256 in files:
            packed = _PACKED.pack(stamp.bytes, stamp.mtime_ns, bytes.fromhex(sha256))
            if self.files.get(str(path)) != packed:
                self.files[str(path)] = packed
                lines += _file_line(str(path), packed)
        if lines:
            self._append(lines)

    def was_whole(self, dataset: Path, looks: str) -> bool:
        """Whether a dataset looks as it did when it was whole."""
        return self.datasets.get(str(dataset)) == looks

    def is_whole(self, dataset: Path, looks: str) -> None:
        """Remember what a dataset that is whole looks like."""
        if not self.was_whole(dataset, looks):
            self.datasets[str(dataset)] = looks
            self._append(_dataset_line(str(dataset), looks))

    def _append(self, lines: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(lines)

    def _learn(self, line: bytes) -> None:
        """One line of the index; one that is none is passed over."""
        try:
            match _DECODER.decode(line):
                case _File(path, size, mtime_ns, sha256):
                    self.files[path] = _PACKED.pack(size, mtime_ns, bytes.fromhex(sha256))
                case _Dataset(dataset, looks):
                    self.datasets[dataset] = looks
        except (ValueError, RecursionError, struct.error, msgspec.MsgspecError):
            pass

    def _rewrite(self) -> None:
        files = (_file_line(*entry) for entry in self.files.items())
        datasets = (_dataset_line(*entry) for entry in self.datasets.items())
        write_aside(self.path, chain(files, datasets))


_PACKED = struct.Struct("<qq32s")  # size, time, SHA-256: a third of what they take as objects
_NOTHING = _PACKED.pack(-1, 0, b"")


class _File(msgspec.Struct, tag="file"):
    path: str
    bytes: int
    mtime_ns: int
    sha256: str


class _Dataset(msgspec.Struct, tag="dataset"):
    path: str
    looks: str


_DECODER = msgspec.json.Decoder(_File | _Dataset)


def _file_line(path: str, packed: bytes) -> bytes:
    size, mtime_ns, sha256 = _PACKED.unpack(packed)
    return _line(_File(path, size, mtime_ns, sha256.hex()))


def _dataset_line(path: str, looks: str) -> bytes:
    return _line(_Dataset(path, looks))


def _line(entry: _File | _Dataset) -> bytes:
    return sealed(json.dumps(msgspec.to_builtins(entry)).encode())  # msgspec refuses a name that is no UTF-8
