"""Depth videos: which file is one, and its pictures in millimetres (sheet, section 8).

Whether a file holds depth is told by its streams alone. A slot called `D435_depth_rgb` is colour, and an mp4 may be
either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from quickdraw.core.depth import Codes, Depth
from quickdraw.errors import VideoError
from quickdraw.formats.pooled.depth_codes import metric
from quickdraw.video.cut_off import refuse_cut
from quickdraw.video.decoding import as_gray, pictures
from quickdraw.video.probing import StreamFacts, streams

type Mode = Literal["ffv1", "log12"]
FULL_RANGE: Final = "pc"


@dataclass(frozen=True, slots=True)
class DepthVideo:
    """The depth in one file: `kind` `ffv1` holds millimetres, `log12` logarithmic codes, in stream number `index`.

    Of a file with a heat map beside its depth (era v1.0.14) this is the depth.
    """

    path: Path
    kind: Mode
    index: int
    height: int
    width: int
    fps: float
    color_range: str

    def frames(self) -> Iterator[Depth]:
        """Each picture as `(H, W)` uint16 depth [mm]; 0 is no depth.

        Raises VideoError at a damaged picture (each of ours has a checksum or a hash; codes others recorded may have
        none), and for codes whose range is not flagged full: a program may have scaled them, and how is not known.
        """
        if self.kind == "ffv1":
            yield from self._samples()
            return
        if self.color_range != FULL_RANGE:
            raise VideoError(str(self.path), f"depth codes of colour range {self.color_range}", "range=full (pc)")
        yield from (metric(codes) for codes in self._samples())

    def codes(self) -> Iterator[Codes]:
        """Each picture of a `log12` file as `(H, W)` uint16 codes, 0 to 4095, as they are stored.

        Raises VideoError at a damaged picture, ValueError where the file holds millimetres.
        """
        if self.kind != "log12":
            raise ValueError(f"{self.path}: {self.kind}, which has no codes")
        yield from self._samples()

    def _samples(self) -> Iterator[Depth]:
        return map(as_gray, pictures(self.path, self.index))


def open_depth(path: Path) -> DepthVideo | None:
    """The depth in a file, None where it is colour; only headers are read.

    Raises VideoError for no playable video, and for one that is cut off, colour or depth.
    """
    refuse_cut(path)
    return depth_in(path, streams(path))


def depth_in(path: Path, found: Iterable[StreamFacts]) -> DepthVideo | None:
    """The depth in a file whose streams are `found`; None where all are colour."""
    for facts in found:
        kind = _kind(facts)
        if kind is not None:
            return DepthVideo(path, kind, facts.index, facts.height, facts.width, facts.fps, facts.color_range)
    return None


def _kind(facts: StreamFacts) -> Mode | None:
    if (facts.codec, facts.pix_fmt) == ("ffv1", "gray16le"):
        return "ffv1"
    return "log12" if (facts.codec, facts.pix_fmt) == ("hevc", "gray12le") else None
