"""Whether the ffmpeg there is writes what it is told: asked before a recording relies on it.

Builds differ. Some crash as they start, some have no 12-bit x265, and a lost range flag scales depth codes in silence.
"""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from quickdraw.errors import VideoError
from quickdraw.video.decoding import as_gray, as_rgb, pictures
from quickdraw.video.encoder_process import EncoderProcess, ffmpeg
from quickdraw.video.encoders import Encoder
from quickdraw.video.probing import StreamFacts, streams

HEIGHT_PX, WIDTH_PX, PICTURES, FPS = 96, 128, 4, 30.0
TOP: Final = {"rgb24": 255, "gray12le": 4095, "gray16le": 65535}
MOST_ERROR: Final = {"rgb24": 6.0, "gray12le": 3.0, "gray16le": 0.0}  # mean, of a smooth ramp [samples]


def self_test(encoder: Encoder) -> None:
    """Encode a moving ramp in a temporary folder, decode it and compare; asked once a process, encoder and ffmpeg.

    Raises VideoError, with what was found, where ffmpeg fails, the pixel format or colour range is another, or the
    mean difference is above `MOST_ERROR`.
    """
    _tested(encoder, ffmpeg())


@functools.cache
def _tested(encoder: Encoder, binary: str) -> None:
    with tempfile.TemporaryDirectory(prefix="quickdraw-") as folder:
        path = Path(folder) / f"test.{encoder.extension}"
        given = [_ramp(encoder, number) for number in range(PICTURES)]
        with EncoderProcess(path, encoder, height_px=HEIGHT_PX, width_px=WIDTH_PX, fps=FPS) as process:
            for each in given:
                process.write(each)
        facts = streams(path)[-1]
        _refuse_other_format(binary, encoder, facts)
        convert = as_rgb if encoder.pixel_format == "rgb24" else as_gray
        read = [convert(each).astype(np.int64) for each in pictures(path, facts.index)]
        error = float(np.mean(np.abs(np.stack(read) - np.stack(given))))
    if error > MOST_ERROR[encoder.pixel_format]:
        found = f"{encoder.codec} that differs by {error:.1f} of {TOP[encoder.pixel_format]} on average"
        raise VideoError(binary, found, f"at most {MOST_ERROR[encoder.pixel_format]:.0f}")


def _refuse_other_format(binary: str, encoder: Encoder, facts: StreamFacts) -> None:
    expected = (encoder.codec, "yuv420p", "tv") if encoder.pixel_format == "rgb24" else (
        encoder.codec, encoder.pixel_format, "pc")  # fmt: skip
    found = (facts.codec, facts.pix_fmt, facts.color_range)
    if found != expected:
        raise VideoError(binary, f"an encoder of {' '.join(found)}", " ".join(expected))


def _ramp(encoder: Encoder, number: int) -> npt.NDArray[Any]:
    """A picture whose samples rise from corner to corner, `number` steps on."""
    rows, columns = np.mgrid[:HEIGHT_PX, :WIDTH_PX]
    share = (rows + columns + number) / (HEIGHT_PX + WIDTH_PX + PICTURES)
    plane = (share * TOP[encoder.pixel_format]).astype(encoder.dtype)
    return np.stack([plane, plane[::-1], plane[:, ::-1]], axis=-1) if encoder.pixel_format == "rgb24" else plane
