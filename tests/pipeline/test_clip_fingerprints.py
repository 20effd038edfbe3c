"""A clip is made anew where its encoder would make other bytes, by whatever option."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import pytest

from quickdraw.core.depth import CONTRACT
from quickdraw.pipeline.digests import FileDigest
from quickdraw.pipeline.parts import clip_fingerprint
from quickdraw.video import codecs, depth_encoding
from quickdraw.video.copying import Copying
from quickdraw.video.depth_encoding import DepthEncoding
from quickdraw.video.encoding import Encoding
from quickdraw.video.filming import Filming

VIDEO = FileDigest(10, "ab" * 32)
DEPTH = DepthEncoding(48, 64, 30, 5)
COLOUR = Encoding(48, 64, 30, crf=15, preset="ultrafast", gop=5)
COPIED = Copying(48, 64, 30, codec="h264", pix_fmt="yuv420p", gop=5)


def part(filming: Filming) -> str:
    return clip_fingerprint(VIDEO, "cd" * 32, filming)


@pytest.mark.parametrize(("name", "other"), [("PRESET", "superfast"), ("X265", depth_encoding.X265 + ":ctu=32")])
def test_depth_of_other_encoder_options_is_another_clip(name: str, other: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = part(DEPTH)
    monkeypatch.setattr(depth_encoding, name, other)
    assert part(DEPTH) != before


def test_colour_of_other_fixed_options_is_another_clip(monkeypatch: pytest.MonkeyPatch) -> None:
    before, h264 = part(COLOUR), codecs.CODECS["h264"]
    other = MappingProxyType({**codecs.CODECS, "h264": replace(h264, fixed={**h264.fixed, "bf": "2"})})
    monkeypatch.setattr("quickdraw.video.encoding.CODECS", other)
    assert part(COLOUR) != before


def test_every_way_of_filming_and_every_field_of_it_is_another_clip() -> None:
    others: list[Filming] = [
        DEPTH, COLOUR, COPIED, replace(DEPTH, gop=6), replace(DEPTH, scale=CONTRACT), replace(DEPTH, height_px=50),
        replace(DEPTH, width_px=66), replace(DEPTH, rate_hz=15), replace(COLOUR, crf=16), replace(COLOUR, gop=6),
        replace(COLOUR, preset="medium"), replace(COLOUR, codec="hevc"), replace(COLOUR, rate_hz=15),
        replace(COLOUR, height_px=50), replace(COLOUR, width_px=66), replace(COPIED, codec="hevc"),
        replace(COPIED, pix_fmt="gray12le", scale=CONTRACT), replace(COPIED, rate_hz=15),
    ]  # fmt: skip
    assert len({part(each) for each in others}) == len(others)
