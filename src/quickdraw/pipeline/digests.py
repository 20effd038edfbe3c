"""Digests of files, and an index of them so that an unchanged file is not read again.

Unchanged is a file of the same size and modification time. The index lies beside a dataset, not in it, for times differ
from machine to machine. It is a log: a line a file, the last one counts, and one that a crash tore off is no harm.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from quickdraw.core.episode import FileStamp


@dataclass(frozen=True, slots=True)
class FileDigest:
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
    """The digests of files that were read before, as long as `trusted`; new ones are added to `path` at once."""

    def __init__(self, path: Path, trusted: bool) -> None:
        self.path = path
        lines = path.read_bytes().splitlines() if path.exists() else []
        self.entries = dict(entry for line in lines if trusted and (entry := _entry(line)) is not None)
        if trusted and len(lines) > 2 * len(self.entries):  # most of it is out of date
            fresh = path.with_name(f"{path.name}.new")
            fresh.write_text("".join(map(_line, self.entries.items())))
            fresh.replace(path)
        elif lines:
            with path.open("a") as file:
                file.write("\n")  # the last line may be torn

    def known(self, path: Path, stamp: FileStamp) -> FileDigest | None:
        """The digest of a file that looks like `stamp`, if it looked like that when it was read."""
        found = self.entries.get(str(path))
        return FileDigest(stamp.bytes, found[1]) if found and found[0] == stamp else None

    def add(self, path: Path, stamp: FileStamp, sha256: str) -> None:
        """Remember the digest of a file that looked like `stamp` when it was read."""
        if self.entries.get(str(path)) != (stamp, sha256):
            self.entries[str(path)] = stamp, sha256
            with self.path.open("a") as file:
                file.write(_line((str(path), (stamp, sha256))))


type _Entry = tuple[str, tuple[FileStamp, str]]


def _line(entry: _Entry) -> str:
    path, (stamp, sha256) = entry
    return json.dumps({"path": path, **asdict(stamp), "sha256": sha256}) + "\n"


def _entry(line: bytes) -> _Entry | None:
    """A line of the index; None where it is none."""
    try:
        read = json.loads(line)
        return str(read["path"]), (FileStamp(int(read["bytes"]), int(read["mtime_ns"])), str(read["sha256"]))
    except (ValueError, TypeError, LookupError, RecursionError):
        return None
