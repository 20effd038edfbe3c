"""How the pictures of a dataset are encoded, and the one way an encoder is opened."""

from __future__ import annotations

import contextlib
import math
import os
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np
from av.container import OutputContainer
from av.video.frame import PictureType, VideoFrame
from av.video.stream import VideoStream

from quickdraw.core.grid import Float64
from quickdraw.video.codecs import CODECS, Codec

PIXEL_FORMAT = "yuv420p"
SMPTE170M = 6  # ITU-T H.273 code point of the BT.601 525-line matrix, primaries and transfer
LIMITED = 1  # AVCOL_RANGE_MPEG
REFERENCE_PX = 144 * 192  # that codecs tell a picture's bytes of
LEVELS: Final[Float64] = np.arange(256) / 255  # what lerobot reads from each sample
LEVELS.flags.writeable = False


@dataclass(frozen=True, slots=True)
class Encoding:
    """Pictures of `height_px` x `width_px` (both even), `rate_hz` a second, by one of `codecs.CODECS`.

    `crf` and `preset` mean what the codec's encoder takes them for, `gop` is pictures from one keyframe to the next.
    One encoder thread, for x264's bytes depend on the number of threads.
    """

    height_px: int
    width_px: int
    rate_hz: int
    crf: int
    preset: str
    gop: int
    codec: str = "h264"

    @property
    def picture_px(self) -> int:
        """Pixels of a picture."""
        return self.height_px * self.width_px

    @property
    def picture_bytes(self) -> float:
        """What a picture takes, about."""
        codec = CODECS[self.codec]
        halvings = (self.crf - codec.crf) / codec.halving_crf
        return typical_bytes(codec, self.picture_px) * math.exp2(-halvings)

    @property
    def channels(self) -> int:
        """Of a picture."""
        return 3

    @property
    def levels(self) -> Float64:
        """What each sample of a channel stands for, `(256,)` of 0 to 1."""
        return LEVELS

    def open_stream(self, container: OutputContainer) -> VideoStream:
        """Add the encoder to a container."""
        codec = CODECS[self.codec]
        options = codec.options(self.crf, self.preset, self.gop)
        stream = container.add_stream(codec.encoder, rate=self.rate_hz, options=options)
        assert isinstance(stream, VideoStream)
        stream.width, stream.height, stream.pix_fmt = self.width_px, self.height_px, PIXEL_FORMAT
        context: Any = stream.codec_context
        context.thread_count = 1
        context.time_base = Fraction(1, self.rate_hz)
        context.colorspace = context.color_primaries = context.color_trc = SMPTE170M
        context.color_range = LIMITED
        if codec.tag:
            context.codec_tag = codec.tag
        if codec.name == "av1":
            _open_politely(context)
        return stream

    def stamp(self, picture: VideoFrame, number: int) -> None:
        """Make `picture` the `number`-th of its clip, its type left to the encoder (a decoded one carries its old)."""
        picture.pts = number
        picture.time_base = Fraction(1, self.rate_hz)
        picture.pict_type = PictureType.NONE

    def info(self) -> dict[str, Any]:
        """What LeRobot's info.json says of a video feature: probed facts first, then encoder settings."""
        return {
            "video.height": self.height_px,
            "video.width": self.width_px,
            "video.codec": self.codec,
            "video.pix_fmt": PIXEL_FORMAT,
            "video.fps": self.rate_hz,
            "video.channels": 3,
            "has_audio": False,
            "video.g": self.gop,
            "video.crf": self.crf,
            "video.preset": self.preset,
            "video.fast_decode": 0,
            "video.video_backend": "pyav",
            "video.extra_options": {**CODECS[self.codec].fixed, "threads": "1"},
            "is_depth_map": False,
        }


def typical_bytes(codec: Codec, picture_px: int) -> float:
    """What a picture of so many pixels takes at the codec's own quality, about."""
    return codec.picture_bytes * picture_px / REFERENCE_PX


def _open_politely(context: Any) -> None:
    """Open SVT-AV1, which writes to stderr whatever ffmpeg's level is, and where it may starves all other processes."""
    os.environ.setdefault("SVT_LOG", "1")  # its errors, no more
    context.open()
    for thread in Path("/proc/self/task").glob("*"):  # as root it gives its threads real-time priority
        with contextlib.suppress(OSError):  # one may have ended
            os.sched_setscheduler(int(thread.name), os.SCHED_OTHER, os.sched_param(0))
