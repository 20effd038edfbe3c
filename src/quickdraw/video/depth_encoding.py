"""Depth to a clip of the dataset, as lerobot's own depth video: 12-bit logarithmic codes in lossless HEVC."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import av
import numpy as np
from av.container import OutputContainer
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from quickdraw.core.depth import LEROBOT, Codes, Depth, DepthScale
from quickdraw.core.episode import DepthPlan
from quickdraw.core.grid import Float64
from quickdraw.errors import InvariantError, VideoError
from quickdraw.video.codecs import HEVC

PIXEL_FORMAT: Final = "gray12le"
FULL = 2  # AVCOL_RANGE_JPEG: limited, a reader scales the codes
LEAST_PX: Final = 16  # x265 takes no less in height or width; above it even and odd ones

# Measured by one thread on 848x480: a wall at 0.6 to 3 m with 0.4 % of noise, holes and specks, a keyframe every 5, all
# of it lossless. "ffmpeg" is the plain binary of imageio-ffmpeg told the same (in the last row by its CPU time).
#
#                                pictures/s   ffmpeg   kB a picture
#     ultrafast                        18.6     20.0      314
#     superfast                        11.4     12.1      281
#     veryfast                          9.4      9.3      279
#     faster                            9.3      9.6      279
#     fast                              8.9      9.5      279
#     medium                            7.1      7.8      264
#     ultrafast, ctu=16                29.2               320
#     ultrafast, ctu=16:rd=1           38.0               321
#     ultrafast, ctu=16:rd=3           25.7     26.4      280
#
# The last is faster than any preset and as small as `fast`. rd=1 would save a third of the time once, and cost 15 % of
# the disk for good. Small blocks cost nothing more, for what is left after prediction is noise. Decoding takes 63 to 76
# pictures/s of any of them.
PRESET: Final = "ultrafast"
X265: Final = (
    "lossless=1:ctu=16:rd=3:pools=none:frame-threads=1:wpp=0:bframes=0:scenecut=0:open-gop=0:rc-lookahead=0:cutree=0"
    ":info=0:log-level=none"
)
BYTES_PER_PX = 0.7  # of noisy depth


@dataclass(frozen=True, slots=True)
class DepthEncoding:
    """Depth of `height_px` x `width_px`, each at least `LEAST_PX`, `rate_hz` a second, a keyframe every `gop` pictures.

    Every code of `scale` comes back as it was. One encoder thread, so that equal depth makes equal bytes.
    """

    height_px: int
    width_px: int
    rate_hz: int
    gop: int
    scale: DepthScale = LEROBOT

    @property
    def picture_px(self) -> int:
        """Pixels of a picture."""
        return self.height_px * self.width_px

    @property
    def picture_bytes(self) -> float:
        """What a picture takes, about."""
        return BYTES_PER_PX * self.picture_px

    @property
    def channels(self) -> int:
        """Of a picture."""
        return 1

    @property
    def levels(self) -> Float64:
        """The depth [mm] of each sample a picture may hold, `(4096,)`."""
        return self.scale.levels

    def open_stream(self, container: OutputContainer) -> VideoStream:
        """Add the encoder to a container."""
        options = {"preset": PRESET, "g": str(self.gop), "x265-params": X265}
        stream = container.add_stream(HEVC.encoder, rate=self.rate_hz, options=options)
        assert isinstance(stream, VideoStream)
        stream.width, stream.height, stream.pix_fmt = self.width_px, self.height_px, PIXEL_FORMAT
        context: Any = stream.codec_context
        context.thread_count = 1
        context.time_base = Fraction(1, self.rate_hz)
        context.color_range = FULL
        context.codec_tag = HEVC.tag
        return stream

    def info(self) -> dict[str, Any]:
        """What LeRobot's info.json says of the feature; by `video.extra_options` lerobot would encode as we did."""
        return {
            "video.height": self.height_px,
            "video.width": self.width_px,
            "video.codec": HEVC.name,
            "video.pix_fmt": PIXEL_FORMAT,
            "video.fps": self.rate_hz,
            "video.channels": self.channels,
            "has_audio": False,
            "video.g": self.gop,
            "video.crf": None,
            "video.preset": PRESET,
            "video.fast_decode": 0,
            "video.video_backend": "pyav",
            "video.extra_options": {"x265-params": X265},
            **self.scale.info(),
        }


def encode_depth(plan: DepthPlan, target: Path, encoding: DepthEncoding) -> int:
    """Write a clip whose i-th picture is the `plan.frame_index[i]`-th frame; how many pixels in it were too far away.

    All frames are read, so that their number is known. Raises VideoError where the source is damaged, does not hold
    `plan.pictures` frames of the encoding's size, or they are smaller than x265 takes.
    """
    _refuse_small(plan.path, encoding)
    times = np.bincount(plan.frame_index + 1, minlength=plan.pictures + 1)  # the first, of the frame that is all 0
    beyond_px, read = 0, 0
    with av.open(str(target), "w", format="mp4", options={"movflags": "faststart"}) as container:
        film = _Film(container, encoding)
        film.show(np.zeros((encoding.height_px, encoding.width_px), np.uint16), times[0])
        for read, depth_mm in enumerate(plan.frames(), 1):
            _refuse_other_size(plan.path, depth_mm, encoding)
            if read < len(times) and times[read]:
                film.show(depth_mm, times[read])
                beyond_px += encoding.scale.beyond(depth_mm) * int(times[read])
        row = film.end()
    if read != plan.pictures:
        raise VideoError(str(plan.path), f"{read} pictures", f"{plan.pictures}")
    if row != len(plan.frame_index):
        raise InvariantError(f"{target}: {row} pictures written for {len(plan.frame_index)} rows")
    return beyond_px


class _Film:
    """The encoder, and how many pictures it has been given."""

    def __init__(self, container: OutputContainer, encoding: DepthEncoding) -> None:
        self._container, self._stream, self._encoding = container, encoding.open_stream(container), encoding
        self._row = 0

    def show(self, depth_mm: Depth, times: int) -> None:
        """Append a frame `times` times."""
        picture = _picture(self._encoding.scale.codes(depth_mm))
        picture.time_base = Fraction(1, self._encoding.rate_hz)
        for _ in range(times):
            picture.pts = self._row
            self._container.mux(self._stream.encode(picture))
            self._row += 1

    def end(self) -> int:
        """Write what the encoder holds back; how many pictures there are."""
        self._container.mux(self._stream.encode())
        return self._row


def _picture(codes: Codes) -> VideoFrame:
    height_px, width_px = codes.shape
    picture = VideoFrame(width_px, height_px, PIXEL_FORMAT)
    samples = np.frombuffer(picture.planes[0], np.uint16).reshape(height_px, -1)  # its lines are padded
    samples[:, :width_px] = codes
    return picture


def _refuse_small(path: Path, encoding: DepthEncoding) -> None:
    if min(encoding.height_px, encoding.width_px) < LEAST_PX:
        found = f"pictures of {encoding.width_px}x{encoding.height_px}"
        raise VideoError(str(path), found, f"at least {LEAST_PX}x{LEAST_PX}, for x265 takes no smaller ones")


def _refuse_other_size(path: Path, depth_mm: Depth, encoding: DepthEncoding) -> None:
    if depth_mm.shape != (encoding.height_px, encoding.width_px):
        found = f"pictures of {depth_mm.shape[1]}x{depth_mm.shape[0]}"
        raise VideoError(str(path), found, f"{encoding.width_px}x{encoding.height_px}")
