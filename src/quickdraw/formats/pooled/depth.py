"""Depth videos: which file is one, its pictures in millimetres, and how one is recorded (sheet, section 8).

Whether a file holds depth is told by its streams alone. A slot called `D435_depth_rgb` is colour, and an mp4 may be
either.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Self

import numpy as np

from quickdraw.errors import VideoError
from quickdraw.formats.pooled.depth_codes import Codes, Depth, metric, quantise
from quickdraw.video.cut_off import refuse_cut
from quickdraw.video.decoding import as_gray, pictures
from quickdraw.video.encoder_process import EncoderProcess
from quickdraw.video.encoders import FFV1, FFV1_WITH_PREVIEW, LOG12, LOG12_QP, Encoder
from quickdraw.video.probing import StreamFacts, streams
from quickdraw.video.self_test import self_test

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
    for facts in streams(path):
        kind = _kind(facts)
        if kind is not None:
            return DepthVideo(path, kind, facts.index, facts.height, facts.width, facts.fps, facts.color_range)
    return None


def _kind(facts: StreamFacts) -> Mode | None:
    if (facts.codec, facts.pix_fmt) == ("ffv1", "gray16le"):
        return "ffv1"
    return "log12" if (facts.codec, facts.pix_fmt) == ("hevc", "gray12le") else None


def encoder_of(mode: Mode, *, preview: bool = False) -> Encoder:
    """How depth is written: `preview` puts a heat map that players show before the depth of an `ffv1` file.

    Raises ValueError where no such file is known to readers.
    """
    if mode == "log12" and not preview:
        return LOG12
    if mode == "ffv1":
        return FFV1_WITH_PREVIEW if preview else FFV1
    raise ValueError(f"depth as {mode}{' with a preview' if preview else ''}; known are ffv1, log12 without preview")


def extension(mode: Mode) -> str:
    """What the name of a file of that mode ends in: `mkv` or `mp4`."""
    return encoder_of(mode).extension


def described(mode: Mode) -> dict[str, Any]:
    """What `video_codec.depth` of an episode's row says of a slot (sheet, section 6)."""
    if mode == "log12":
        return {"codec": "HEVC (Rext) gray12le", "qp": LOG12_QP, "format": "12bit log codes"}
    return {"codec": "FFV1 gray16le", "format": "uint16 mm"}


class DepthWriter:
    """A depth video being recorded, to `path` as it is named. Closed at the end of a context, killed at an error."""

    def __init__(
        self, path: Path, *, height_px: int, width_px: int, fps: float, mode: Mode = "ffv1", preview: bool = False
    ) -> None:
        """Start the encoder. `log12` is tried first, once a process. Raises VideoError where this ffmpeg cannot."""
        encoder = encoder_of(mode, preview=preview)
        if mode == "log12":
            self_test(encoder)
        self.mode, self._process = mode, EncoderProcess(
            path, encoder, height_px=height_px, width_px=width_px, fps=fps
        )  # fmt: skip

    @property
    def written(self) -> int:
        """Pictures so far."""
        return self._process.written

    def write(self, depth_mm: Depth) -> None:
        """Append `(H, W)` uint16 depth [mm]. Raises VideoError where the encoder is gone, ValueError for other arrays.

        `ffv1` keeps every value; `log12` keeps 113 to 4998 mm to about 0.3 %, and what is nearer reads as no depth.
        """
        if depth_mm.dtype != np.uint16:
            raise ValueError(f"depth of {depth_mm.dtype}, not uint16 millimetres")
        samples = quantise(depth_mm) if self.mode == "log12" else depth_mm
        self._process.write(samples)

    def close(self) -> None:
        """Return when the file is whole. Raises VideoError where it is not."""
        self._process.close()

    def kill(self) -> None:
        """End the encoder at once; what is in the file is not to be used."""
        self._process.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.kill()
