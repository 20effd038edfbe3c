"""The units an H.264 or HEVC picture consists of, as MP4 and Matroska store them: each behind its length.

ITU-T H.264, 7.3.1 and 7.4.1; H.265, 7.3.1 and 7.4.2; ISO/IEC 14496-15, 5.3 and 8.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Literal

from quickdraw.video.decoding import LENGTH_SIZE_AT

# IDR, and HEVC's BLA. HEVC's CRA counts on from the pictures before it, which in another film are others.
_RESTARTS: Final = {"h264": frozenset({5}), "hevc": frozenset(range(16, 21))}
_SEEKABLE: Final = {"h264": frozenset({5}), "hevc": frozenset(range(16, 22))}
_HVCC_ARRAYS_AT: Final = 22
_PARAMETERS: Final = {"h264": frozenset({7, 8}), "hevc": frozenset({32, 33, 34})}


class Entry(IntEnum):
    """How decoding may come to a picture: from those before it, by jumping to it, or from any other film's end too."""

    NONE = 0
    SEEK = 1
    RESTART = 2


@dataclass(frozen=True, slots=True)
class UnitReader:
    """Units as the codec's `configuration`, of a file's header, says they are stored."""

    codec: Literal["h264", "hevc"]
    configuration: bytes

    @property
    def is_readable(self) -> bool:
        """Whether it is such a configuration. (Annex B, which has none of it, has start codes instead of lengths.)"""
        return self.configuration[:1] == b"\x01" and len(self.configuration) > LENGTH_SIZE_AT[self.codec] + 1

    def in_any_container(self) -> bytes:
        """The configuration but for what each container says differently: whether HEVC's parameters are all in it.

        Raises ValueError where it is damaged.
        """
        told = bytearray(self.configuration)
        if self.codec == "hevc":
            at = _HVCC_ARRAYS_AT + 1
            for _ in range(told[_HVCC_ARRAYS_AT]):
                if at + 3 > len(told):
                    raise ValueError("a header that ends too early")
                told[at] &= 63
                units, at = int.from_bytes(told[at + 1 : at + 3]), at + 3
                for _ in range(units):
                    at += 2 + int.from_bytes(told[at : at + 2])
        return bytes(told)

    def entry(self, picture: bytes) -> Entry:
        """How decoding may come to a picture of a film that is shown in the order it is stored in.

        Raises ValueError where the picture is damaged, or carries parameters that the configuration does not.
        """
        kinds = set[int]()
        for unit in self._units(picture):
            kind = unit[0] & 31 if self.codec == "h264" else unit[0] >> 1 & 63
            kinds.add(kind)
            if kind in _PARAMETERS[self.codec] and unit not in self.configuration:
                raise ValueError("the codec's parameters change on the way")
        if not kinds.isdisjoint(_RESTARTS[self.codec]):
            return Entry.RESTART
        return Entry.NONE if kinds.isdisjoint(_SEEKABLE[self.codec]) else Entry.SEEK

    def _units(self, picture: bytes) -> Iterator[bytes]:
        at, prefix = 0, (self.configuration[LENGTH_SIZE_AT[self.codec]] & 3) + 1
        while at < len(picture):
            start = at + prefix
            at = start + int.from_bytes(picture[at:start])
            if not start < at <= len(picture):
                raise ValueError("units that do not fill it")
            yield picture[start:at]
