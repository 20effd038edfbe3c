"""The checksums an FFV1 picture carries, one a slice (RFC 9043, 4.9): the decoder here conceals a slice that fails its.

Slices stand one behind the other, each with its size, a status and its checksum at its end, so that they are found from
the end of the packet backwards. Pictures of level 1, and those whose encoder was told so, carry none.
"""

from __future__ import annotations

import zlib
from typing import Final

FOOTER_BYTES: Final = 8  # size 3, status 1, checksum 4
MOST_SLICES: Final = 1 << 16
# The checksum runs from the highest bit of a byte to the lowest, zlib's the other way.
_REVERSED: Final = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
_ONES: Final = 0xFFFFFFFF


def is_intact(packet: bytes) -> bool:
    """Whether a packet is slices all through, and each passes its checksum; False for one that carries none."""
    turned, end = packet.translate(_REVERSED), len(packet)
    for _ in range(MOST_SLICES):
        start = end - FOOTER_BYTES - int.from_bytes(packet[max(0, end - FOOTER_BYTES) :][:3])
        if start < 0 or not _passes(turned[start:end]):
            return False
        if start == 0:
            return True
        end = start
    return False


def _passes(turned: bytes) -> bool:
    """Whether the register is 0 again behind the checksum, having been 0 at the start; zlib inverts at both ends."""
    return zlib.crc32(turned, _ONES) == _ONES
