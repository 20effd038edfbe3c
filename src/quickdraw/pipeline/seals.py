"""Lines of the indexes beside a dataset that tell whether they still are what was written, and for what."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path


def sealed(body: bytes, context: str = "") -> bytes:
    """A line that ends with a digest of itself and of `context`; `body` holds no line end."""
    return body + b"\t" + _digest(body, context) + b"\n"


def read_sealed(path: Path, context: str = "") -> Iterator[bytes]:
    """The bodies of a file's lines that were sealed in this context and are whole; none where there is no file."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for line in file:
            body, _, digest = line.removesuffix(b"\n").rpartition(b"\t")
            if body and digest == _digest(body, context):
                yield body


def _digest(body: bytes, context: str) -> bytes:
    return hashlib.sha256(context.encode() + b"\0" + body).hexdigest()[:32].encode()
