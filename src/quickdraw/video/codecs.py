"""The codecs a dataset may be encoded by, and what is fixed for each. Needs no PyAV, for the command's options do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_NAMED_PRESETS = ("ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower", "veryslow")


@dataclass(frozen=True, slots=True)
class Codec:
    """A codec by ffmpeg's name for it, and the `encoder` it is made by.

    `presets` and crf `best_crf` to `worst_crf` are the encoder's own, `crf` and `preset` what is taken where none is
    given, `most_hz` pictures a second it can be told of. `fixed` are ffmpeg's options nobody may choose. `tag` is what
    an MP4 calls the codec, where ffmpeg would say otherwise.

    A picture of 144x192 takes about `picture_bytes` at `crf` and a keyframe every 5, half of it `halving_crf` higher.
    """

    name: str
    encoder: str
    presets: tuple[str, ...]
    best_crf: int
    worst_crf: int
    preset: str
    crf: int
    most_hz: int
    fixed: Mapping[str, str]
    picture_bytes: int
    halving_crf: float
    tag: str = ""

    def options(self, crf: int, preset: str, gop: int) -> dict[str, str]:
        """The encoder's options."""
        return {"crf": str(crf), "preset": preset, "g": str(gop), **self.fixed}


# No B-frames: every picture's time is its number over the rate, in decoding order too. No scene-cut keyframes: the gop
# is what it says. One thread. No lookahead, for without B-frames, scene cuts and trees of blocks nothing needs one.
H264: Final = Codec(
    name="h264",
    encoder="libx264",
    presets=_NAMED_PRESETS,
    best_crf=0,
    worst_crf=51,
    preset="veryfast",
    crf=15,
    most_hz=1000,
    # No macroblock tree: its AVX-512 code reads memory nobody wrote, and the bytes change from run to run; over so few
    # pictures it gains little. No adaptive steps, and qcomp 1: still and smooth footage gets no finer steps than lively
    # footage, whose residual is what has to be bounded. Chroma has a quarter of the samples; finer steps there bring
    # more, byte by byte, than in luma.
    fixed={
        "bf": "0",
        "sc_threshold": "0",
        "mbtree": "0",
        "rc-lookahead": "0",
        "aq-mode": "0",
        "qcomp": "1",
        "chromaoffset": "-3",
    },
    picture_bytes=1800,
    halving_crf=5.0,
)

HEVC: Final = Codec(
    name="hevc",
    encoder="libx265",
    presets=_NAMED_PRESETS,
    best_crf=0,
    worst_crf=51,
    preset="ultrafast",
    crf=14,
    most_hz=1000,
    fixed={  # qcomp and chroma as for H.264
        "x265-params": "pools=none:frame-threads=1:wpp=0:bframes=0:scenecut=0:open-gop=0:rc-lookahead=0:cutree=0"
        ":qcomp=1:cbqpoffs=-3:crqpoffs=-3:info=0:log-level=none"
    },
    picture_bytes=2000,
    halving_crf=5.0,
    tag="hvc1",  # browsers and QuickTime do not play ffmpeg's own hev1
)

AV1: Final = Codec(
    name="av1",
    encoder="libsvtav1",
    presets=tuple(str(preset) for preset in range(14)),
    best_crf=1,  # 0, lossless, makes pictures of most sizes that no decoder decodes, and ffmpeg takes it for 35
    worst_crf=63,
    preset="10",
    crf=13,
    most_hz=240,
    # Prediction structure 1 is "low delay": no picture is coded before its turn, or hidden.
    fixed={"svtav1-params": "lp=1:pred-struct=1:scd=0"},
    picture_bytes=1800,
    halving_crf=7.5,
)

CODECS: Final[Mapping[str, Codec]] = {codec.name: codec for codec in (H264, HEVC, AV1)}
