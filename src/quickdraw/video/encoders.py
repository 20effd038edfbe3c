"""The encoders a recording may be written by: what ffmpeg is told, and what it is given (sheet, section 8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

GOP: Final = 30  # pictures from one keyframe to the next, so that any time is found quickly (sheet, P-84)
RGB_CRF: Final = 16
LOG12_QP: Final = 6


@dataclass(frozen=True, slots=True)
class Encoder:
    """What ffmpeg is told to make of pictures of `pixel_format`.

    `container` is the muxer, for a file that grows aside has no telling extension; `extension` is its name's in the
    end. Each of `streams` video streams holds every picture.
    """

    codec: str
    pixel_format: str
    container: str
    options: tuple[str, ...]
    streams: int = 1

    @property
    def extension(self) -> str:
        """What a finished file's name ends in, without the dot."""
        return "mkv" if self.container == "matroska" else "mp4"

    def shape(self, height_px: int, width_px: int) -> tuple[int, ...]:
        """Of one picture's array."""
        return (height_px, width_px, 3) if self.pixel_format == "rgb24" else (height_px, width_px)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of one picture's array: bytes, or little-endian 16-bit samples."""
        return np.dtype("u1" if self.pixel_format == "rgb24" else "<u2")


# BT.601 limited, and said so, as `transcode` writes it; without the words players guess by the size of the picture.
_TO_YUV = "scale=out_color_matrix=bt601:out_range=limited:flags=accurate_rnd+full_chroma_int+bicubic,format=yuv420p"
_BT601 = ("-colorspace", "smpte170m", "-color_primaries", "smpte170m", "-color_trc", "smpte170m", "-color_range", "tv")
_X264 = ("-preset", "veryfast", "-g", str(GOP), "-bf", "0", "-sc_threshold", "0")

RGB: Final = Encoder(
    codec="h264",
    pixel_format="rgb24",
    container="mp4",
    options=("-vf", _TO_YUV, "-c:v", "libx264", *_X264, "-crf", str(RGB_CRF), *_BT601, "-movflags", "+faststart"),
)

# Level 3 carries a checksum of every slice; each picture stands alone.
_FFV1 = ("ffv1", "-level", "3", "-slicecrc", "1", "-g")
FFV1: Final = Encoder("ffv1", "gray16le", "matroska", ("-c:v", *_FFV1, "1"))

# What a player shows of stream 0 (era v1.0.14): log codes in 8 bits, in the colours JET, whose three channels are ramps
# of the slope 4 around 3/4, 1/2 and 1/4. All in ffmpeg, so that one pipe feeds both streams in step.
_CODES = r"if(lt(val\,1)\,0\,clip((log(val)-log(100))*4095/log(50)*16\,0\,65535))"
_JET = ":".join(rf"{name}=clip(382-abs(4*val-{peak})\,0\,255)" for name, peak in (("r", 765), ("g", 510), ("b", 255)))
_FULL = "scale=in_range=full:out_range=full"
_EVEN = "pad=w=ceil(iw/2)*2:h=ceil(ih/2)*2"
_HEAT_MAP = f"[0:v]split=2[mm][see];[see]lut=c0={_CODES},{_FULL},format=gray,{_FULL},format=gbrp,lutrgb={_JET},{_EVEN},"
FFV1_WITH_PREVIEW: Final = Encoder(
    codec="ffv1",
    pixel_format="gray16le",
    container="matroska",
    options=(
        *("-filter_complex", f"{_HEAT_MAP}{_TO_YUV}[heat]", "-map", "[heat]", "-map", "[mm]"),
        *("-c:v:0", "libx264", "-preset:v:0", "veryfast", "-crf:v:0", "23", "-g:v:0", str(GOP), "-bf:v:0", "0"),
        *("-c:v:1", "ffv1", "-level:v:1", "3", "-slicecrc:v:1", "1", "-g:v:1", "1"),
    ),
    streams=2,
)

# Full range, or a reader scales the codes. A fixed step, for a rate factor spares what is near. No profile: main12
# knows no 4:0:0. No B-frames: picture k is the k-th in the file, too. A hash of each picture, which decoders can check.
LOG12: Final = Encoder(
    codec="hevc",
    pixel_format="gray12le",
    container="mp4",
    options=(
        *("-c:v", "libx265", "-preset", "fast", "-pix_fmt", "gray12le", "-tag:v", "hvc1", "-x265-params"),
        f"qp={LOG12_QP}:range=full:keyint={GOP}:min-keyint={GOP}:scenecut=0:open-gop=0:bframes=0:hash=1:log-level=error",
        *("-movflags", "+faststart"),
    ),
)
