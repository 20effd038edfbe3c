"""Video files by their packets: one picture a row, evenly timed from 0, in the declared size. Nothing is decoded."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from quickdraw.core.grid import Float64, Int64
from quickdraw.formats.lerobot.files import TOLERANCE_S
from quickdraw.pipeline.verify.demuxing import Demuxed
from quickdraw.pipeline.verify.ledger import Ledger
from quickdraw.pipeline.verify.split_view import SplitView, VideoPart
from quickdraw.video.checksums import Packets

COUNT, TIMES, SIZE, CODEC = "picture count", "picture times", "picture size", "codec"


def check_video(split: SplitView, part: VideoPart, demuxed: Demuxed, ledger: Ledger, *, exact: bool) -> None:
    """A video file; times to the tick where we wrote it."""
    with ledger.checking(COUNT, split.name):
        packets = demuxed.packets()
        _check_count(split, part, packets, ledger)
        _check_times(split, part, packets, ledger, exact=exact)
        check_size(split, part, (packets.height_px, packets.width_px), ledger)
        _check_codec(split, part, packets, ledger)


def _check_count(split: SplitView, part: VideoPart, packets: Packets, ledger: Ledger) -> None:
    found = len(packets.crcs)
    ledger.saw(COUNT, found)
    if found != part.pictures:
        episodes = f"episodes {part.entries[0].number} to {part.entries[-1].number}"
        expected = f"{part.pictures}, a picture per row of {episodes}"
        ledger.fault(COUNT, split.name, found=f"{part.camera}: {found} pictures", expected=expected, path=part.path)


def _check_times(split: SplitView, part: VideoPart, packets: Packets, ledger: Ledger, *, exact: bool) -> None:
    rate_hz = split.info.rate_hz
    ledger.saw(TIMES, len(packets.pts))
    # Pictures are stored in decoding order; where there are B-frames, times are in order only once sorted.
    pts = packets.pts if exact else np.sort(packets.pts)
    wrong = np.flatnonzero(_off_s(pts, packets.tick_s, rate_hz) > (0.0 if exact else TOLERANCE_S))
    if wrong.size:
        at = int(wrong[0])
        found = f"{part.camera}: picture {at} at {float(pts[at] * packets.tick_s):.6f} s ({_more(wrong.size)})"
        expected = f"{at}/{rate_hz} s, evenly from 0"
        ledger.fault(TIMES, split.name, found=found, expected=expected, path=part.path)


def _off_s(pts: Int64, tick_s: Fraction, rate_hz: int) -> Float64:
    """How far each picture is from its place [s]; exactly 0 where it stands on its tick."""
    step = 1 / (rate_hz * tick_s)  # ticks a picture
    number = np.arange(len(pts), dtype=np.int64)
    off = pts.astype(np.float64) * step.denominator - (number * step.numerator).astype(np.float64)
    return np.abs(off) * float(tick_s / step.denominator)


def check_size(split: SplitView, part: VideoPart, size: tuple[int, int], ledger: Ledger) -> None:
    """Height and width of a file's pictures are those info.json declares."""
    ledger.saw(SIZE)
    declared = split.info.features[part.key].shape[:2]
    if size != declared:
        found = f"{part.camera}: pictures {size[0]} high, {size[1]} wide"
        expected = f"{list(declared)} of info.json"
        ledger.fault(SIZE, split.name, found=found, expected=expected, path=part.path)


def _check_codec(split: SplitView, part: VideoPart, packets: Packets, ledger: Ledger) -> None:
    """What info.json says of how the pictures are encoded, as far as it says something."""
    declared = split.info.features[part.key].video
    found = {"video.codec": packets.codec, "video.pix_fmt": packets.pixel_format, "video.fps": split.info.rate_hz}
    for name, value in found.items():
        ledger.saw(CODEC)
        if declared.get(name, value) != value:
            told = f"{part.camera}: {name} {declared[name]}"
            ledger.fault(CODEC, split.name, found=told, expected=f"{value}, as in the file", path=part.path)


def _more(amount: int) -> str:
    return "it alone" if amount == 1 else f"and {amount - 1} more"
