"""Encoded pictures as they lie in a file: checksum and time of each, by demuxing alone.

A stream copy keeps the checksums, any other change of a picture does not.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt
from av.error import FFmpegError

from quickdraw.core.grid import Int64
from quickdraw.errors import VideoError
from quickdraw.video.decoding import opened


@dataclass(frozen=True, slots=True)
class Packets:
    """The packets of a file's video stream, in the order of the file; N of them, each one picture.

    `crcs` `(N,)` uint32, `pts` `(N,)` int64 in units of `tick_s` seconds (the least int64 where a packet has none).
    `discarded` is how many of them the file's edit list throws away.
    """

    crcs: npt.NDArray[np.uint32]
    pts: Int64
    tick_s: Fraction
    height_px: int
    width_px: int
    codec: str
    pixel_format: str | None
    discarded: int


def read_packets(path: Path, index: int | None = None) -> Packets:
    """Every packet of a file's first video stream, or of its stream number `index`.

    Raises VideoError where it cannot be demuxed.
    """
    none = int(np.iinfo(np.int64).min)
    with opened(path, index) as (container, stream):
        crcs, pts, discarded = [], [], 0
        try:
            for packet in container.demux(stream):
                if packet.size:  # the demuxer ends with an empty one, which is none of the file's
                    crcs.append(zlib.crc32(packet))
                    pts.append(none if packet.pts is None else packet.pts)
                    discarded += packet.is_discard
        except FFmpegError as error:
            raise VideoError(str(path), f"picture {len(crcs)}: {error.strerror}", "a readable picture") from error
        tick_s = stream.time_base or Fraction(1)
        return Packets(
            crcs=np.array(crcs, np.uint32),
            pts=np.array(pts, np.int64),
            tick_s=tick_s,
            height_px=stream.height,
            width_px=stream.width,
            codec=stream.codec_context.codec.canonical_name,
            pixel_format=stream.codec_context.pix_fmt,
            discarded=discarded,
        )


def packet_crcs(path: Path) -> npt.NDArray[np.uint32]:
    """CRC-32 of every packet of a file, `(N,)` uint32: in files without B-frames, as ours are, packet k is picture k.

    Raises VideoError where the file cannot be demuxed.
    """
    return read_packets(path).crcs
