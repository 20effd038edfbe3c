"""How the pictures of a dataset are encoded, and the one way an encoder is opened."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from av.container import OutputContainer
from av.video.frame import PictureType, VideoFrame
from av.video.stream import VideoStream

PIXEL_FORMAT = "yuv420p"
SMPTE170M = 6  # ITU-T H.273 code point of the BT.601 525-line matrix, primaries and transfer
LIMITED = 1  # AVCOL_RANGE_MPEG

# Settings nobody may choose. No B-frames: every picture's time is its number over the rate, in decoding order too.
# No scene-cut keyframes: the gop is what it says. No macroblock tree, and so no lookahead: its AVX-512 code reads
# memory nobody wrote, and the bytes change from run to run; over so few pictures it gains little.
FIXED = {"bf": "0", "sc_threshold": "0", "mbtree": "0", "rc-lookahead": "0"}


@dataclass(frozen=True, slots=True)
class Encoding:
    """H.264 at `height_px` x `width_px` (both even) and `rate_hz` pictures a second.

    `crf` 0 (lossless) to 51, `preset` as x264 names them, `gop` pictures from one keyframe to the next. One encoder
    thread, for x264's bytes depend on the number of threads.
    """

    height_px: int
    width_px: int
    rate_hz: int
    crf: int
    preset: str
    gop: int

    @property
    def picture_px(self) -> int:
        """Pixels of a picture."""
        return self.height_px * self.width_px

    def open_stream(self, container: OutputContainer) -> VideoStream:
        """Add the encoder to a container."""
        options = {"crf": str(self.crf), "preset": self.preset, "g": str(self.gop), **FIXED}
        stream = container.add_stream("libx264", rate=self.rate_hz, options=options)
        stream.width, stream.height, stream.pix_fmt = self.width_px, self.height_px, PIXEL_FORMAT
        context: Any = stream.codec_context
        context.thread_count = 1
        context.time_base = Fraction(1, self.rate_hz)
        context.colorspace = context.color_primaries = context.color_trc = SMPTE170M
        context.color_range = LIMITED
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
            "video.codec": "h264",
            "video.pix_fmt": PIXEL_FORMAT,
            "video.fps": self.rate_hz,
            "video.channels": 3,
            "has_audio": False,
            "video.g": self.gop,
            "video.crf": self.crf,
            "video.preset": self.preset,
            "video.fast_decode": 0,
            "video.video_backend": "pyav",
            "video.extra_options": {**FIXED, "threads": "1"},
            "is_depth_map": False,
        }
