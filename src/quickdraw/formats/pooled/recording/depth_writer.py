"""How depth is recorded: by which encoder, into which kind of file (sheet, section 8)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np

from quickdraw.core.depth import Depth
from quickdraw.formats.pooled.depth import Mode
from quickdraw.formats.pooled.depth_codes import quantise
from quickdraw.video.encoder_process import EncoderProcess
from quickdraw.video.encoders import FFV1, FFV1_WITH_PREVIEW, LOG12, LOG12_QP, Encoder
from quickdraw.video.self_test import self_test


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
