"""Boxes, of which an MP4 is made: four letters, a size, and what is in it. ISO/IEC 14496-12, 4.2."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Box:
    """A box's four letters, and where its content lies [bytes]."""

    kind: bytes
    start: int
    end: int

    @property
    def name(self) -> str:
        """The four letters, to be shown."""
        return ascii(self.kind.decode("latin-1"))[1:-1]

    @classmethod
    def at(cls, head: bytes, at: int, end: int) -> Box | None:
        """The box that begins at `at` with the bytes `head`, in something that ends at `end`; None where none does."""
        if len(head) < 8:
            return None
        size, kind = struct.unpack_from(">I4s", head)
        start = at + 8
        if size == 1 and len(head) >= 16:
            (size,), start = struct.unpack_from(">Q", head, 8), at + 16
        elif size == 0:  # to the end
            size = end - at
        return cls(kind, start, at + size) if at + size >= start else None


def children(content: bytes, kind: bytes) -> Iterator[bytes]:
    """What is in each box of that kind directly within. Raises ValueError where a box is none or reaches too far."""
    at = 0
    while at + 8 <= len(content):
        box = Box.at(content[at : at + 16], at, len(content))
        if box is None or box.end > len(content):
            raise ValueError(f"a box of a wrong size at byte {at}")
        if box.kind == kind:
            yield content[box.start : box.end]
        at = box.end


def first(content: bytes, *path: bytes) -> bytes | None:
    """What is in the first box down a path of kinds, or None."""
    for kind in path:
        found = next(children(content, kind), None)
        if found is None:
            return None
        content = found
    return content


def unpack(layout: str, content: bytes, at: int) -> tuple[Any, ...]:
    """Numbers at a place. Raises ValueError where the box ends before."""
    if at + struct.calcsize(layout) > len(content):
        raise ValueError("a box that ends too early")
    return struct.unpack_from(layout, content, at)
