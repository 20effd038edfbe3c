"""A file that a job appends to while another process reads it, over a network file system, whatever dies when.

Each frame is framed by a mark, its length and a checksum. What a killed job, or the network, left half written has no
checksum and is passed over as soon as a whole frame stands behind it: whoever appends syncs what must not be lost
before it appends anything else.
"""

from __future__ import annotations

import os
import struct
import zlib
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

MARK = b"\x89qdjob\r\n"
HEAD = struct.Struct(">8sIIBI")  # mark, CRC-32 of the rest, length of the payload, kind, number


class Kind(IntEnum):
    """What a job tells."""

    STARTED = 1  # it runs, on the node that the payload names
    UNFIT = 2  # the node is not as it must be; the payload are pickled faults
    BEGUN = 3  # a task was given to a worker
    LEFT = 4  # a task was begun, and given up when the job was told to leave: no fault of the task
    DONE = 5  # a task has ended; the payload is its pickled result, or Failed
    ENDED = 6  # the job has begun all it will begin, and all of that is done
    LATE = 7  # as LEFT, because the job's time was up


@dataclass(frozen=True, slots=True)
class Frame:
    """`number` is a task's, within its job."""

    kind: Kind
    number: int = 0
    payload: bytes = b""

    def packed(self) -> bytes:
        """Its bytes in the file."""
        rest = HEAD.pack(MARK, 0, len(self.payload), self.kind, self.number)[12:] + self.payload
        return MARK + struct.pack(">I", zlib.crc32(rest)) + rest


def frames_in(data: bytes) -> tuple[list[Frame], int]:
    """The whole frames, and where the last of them ends."""
    found, end = list[Frame](), 0
    at = data.find(MARK)
    while at >= 0:
        frame = _frame_at(data, at)
        if frame is None:
            at = data.find(MARK, at + 1)
        else:
            found.append(frame)
            end = at + HEAD.size + len(frame.payload)
            at = data.find(MARK, end)
    return found, end


def _frame_at(data: bytes, at: int) -> Frame | None:
    if len(data) < at + HEAD.size:
        return None
    _, crc, length, kind, number = HEAD.unpack_from(data, at)
    end = at + HEAD.size + length
    if len(data) < end or zlib.crc32(memoryview(data)[at + 12 : end]) != crc:
        return None
    return Frame(Kind(kind), number, data[at + HEAD.size : end])


class Appending:
    """The job's side. The file must be there: a job that nobody waits for any more finds it gone. Raises OSError."""

    def __init__(self, path: Path) -> None:
        self.descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)

    def add(self, frame: Frame) -> None:
        """Append one; all but what was only begun lasts when this returns."""
        rest = memoryview(frame.packed())
        while rest:
            rest = rest[os.write(self.descriptor, rest) :]
        if frame.kind is not Kind.BEGUN:
            os.fsync(self.descriptor)

    def close(self) -> None:
        """Give back the file."""
        os.close(self.descriptor)


@dataclass(slots=True)
class Following:
    """The reader's side."""

    path: Path
    offset: int = field(default=0)

    def read(self) -> list[Frame]:
        """What came since it was read last.

        The file is opened anew, for only that makes a client of NFS ask how long it is now.
        """
        with self.path.open("rb", buffering=0) as file:
            file.seek(self.offset)
            found, end = frames_in(file.read())
        self.offset += end
        return found
