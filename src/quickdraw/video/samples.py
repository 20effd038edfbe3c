"""The sample table of a track: how many pictures, when they are shown, where their bytes lie.

ISO/IEC 14496-12, 8.6 and 8.7. Counts in it are claims: nothing is allocated by them, only by the bytes that are there.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from quickdraw.video.boxes import first, unpack

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]
NONE = np.zeros((0, 2), np.int64)


@dataclass(frozen=True, slots=True)
class Samples:
    """`count` pictures; the first is shown `first_s` after decoding starts, the last is decoded at `last_s`.

    `end_byte` is where the last of their bytes ends in the file. `steps` and `shifts` `(N, 2)` int64 are times of
    `scale` ticks a second as they are stored, each as (how often, ticks): from one decoding to the next, and from a
    picture's decoding until it is shown.
    """

    count: int
    first_s: float
    last_s: float
    end_byte: int
    steps: Int64 = field(default_factory=NONE.copy, compare=False, repr=False)
    shifts: Int64 = field(default_factory=NONE.copy, compare=False, repr=False)
    scale: int = 1

    def shown_s(self) -> Float64:
        """When each picture is shown after the first, `(count,)` float64 [s], in that order."""
        decoded = np.cumsum(np.repeat(self.steps[:, 1], self.steps[:, 0]))
        shown = np.concatenate([[0], decoded[:-1]])[: self.count]
        ends = np.minimum(np.cumsum(self.shifts[:, 0]), self.count)
        if len(ends):
            shown[: ends[-1]] += np.repeat(_signed(self.shifts), np.diff(ends, prepend=0))
        shown.sort()
        return np.asarray((shown - shown[:1]) / self.scale, np.float64)


def read_samples(table: bytes, media_scale: int) -> Samples:
    """From an `stbl` box, of `media_scale` ticks a second. Raises ValueError where its boxes contradict each other."""
    constant, count = unpack(">II", _required(table, b"stsz"), 4)
    if not count:
        return Samples(0, 0.0, 0.0, 0)
    times = _pairs(_required(table, b"stts"))
    if int(times[:, 0].sum()) != count:
        raise ValueError(f"times for {int(times[:, 0].sum())} pictures of {count}")
    last = int((times[:, 0] * times[:, 1]).sum()) - int(times[-1, 1])
    offsets = first(table, b"ctts")
    shifts = _pairs(offsets) if offsets is not None else NONE
    return Samples(
        count=int(count),
        first_s=int(_signed(shifts)[0]) / media_scale if len(shifts) else 0.0,
        last_s=last / media_scale,
        end_byte=_end_byte(table, constant, count),
        steps=times,
        shifts=shifts,
        scale=media_scale,
    )


def _signed(shifts: Int64) -> Int64:
    """Ticks until pictures are shown: of 32 bits with a sign, whatever the box's version says."""
    return shifts[:, 1].astype(np.uint32).view(np.int32).astype(np.int64)


def _end_byte(table: bytes, constant: int, count: int) -> int:
    """Where the last byte of any picture ends; `constant` is the size of all, or 0 where each has its own."""
    long = first(table, b"co64")
    starts = _numbers(long, ">u8") if long is not None else _numbers(_required(table, b"stco"), ">u4")
    bounds = np.concatenate([[0], np.cumsum(_chunk_counts(table, len(starts)))])
    if bounds[-1] != count:
        raise ValueError(f"chunks of {bounds[-1]} pictures of {count}")
    if constant:
        before = [int(bound) * constant for bound in bounds]  # in Python's numbers, which do not overflow
    else:
        sizes = _numbers(_required(table, b"stsz")[4:], ">u4")
        if len(sizes) != count:
            raise ValueError(f"sizes of {len(sizes)} pictures of {count}")
        before = np.concatenate([[0], np.cumsum(sizes)])[bounds].tolist()
    last = max(int(start) + end - begin for start, begin, end in zip(starts, before[:-1], before[1:], strict=True))
    if before[-1] > last:  # else a count of any size could be told of a few bytes
        raise ValueError(f"pictures of {before[-1]} bytes before byte {last}")
    return last


def _chunk_counts(table: bytes, chunks: int) -> Int64:
    """`(chunks,)` pictures in each chunk."""
    box = _required(table, b"stsc")
    (count,) = unpack(">I", box, 4)
    there = min(count, (len(box) - 8) // 12)
    runs = np.frombuffer(box, ">u4", 3 * there, 8).reshape(-1, 3).astype(np.int64)
    firsts = np.append(runs[:, 0] - 1, chunks)
    lengths = np.diff(firsts)
    if not len(runs) or firsts[0] != 0 or (lengths < 0).any():
        raise ValueError("chunks out of order")
    return np.repeat(runs[:, 1], lengths)


def _required(table: bytes, kind: bytes) -> bytes:
    box = first(table, kind)
    if box is None:
        raise ValueError(f"no box {kind.decode()}")
    return box


def _numbers(box: bytes, kind: str) -> Int64:
    """The numbers of a box that begins with their count, as many as are there."""
    (count,) = unpack(">I", box, 4)
    width = np.dtype(kind).itemsize
    there = min(count, (len(box) - 8) // width)
    return np.frombuffer(box, kind, there, 8).astype(np.int64)


def _pairs(box: bytes) -> Int64:
    """`(N, 2)` of a box of (how often, value)."""
    (count,) = unpack(">I", box, 4)
    there = min(count, (len(box) - 8) // 8)
    return np.frombuffer(box, ">u4", 2 * there, 8).reshape(-1, 2).astype(np.int64)
