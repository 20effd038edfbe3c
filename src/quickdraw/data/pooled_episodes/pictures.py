"""Which picture each row shows, and whether pictures may be copied (contract 7.3 and 8).

Row k shows picture k. A recorder that is ended may lose the last frame of one stream; of a depth camera nothing is
written before its first frame, so that its pictures are missing at the head. Pictures that are lost in the middle would
put every later row against a wrong one: where any is missing, the times in the file must tell that none is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from quickdraw.core.grid import Float64, Int64
from quickdraw.data.pooled_episodes.options import PooledOptions
from quickdraw.data.pooled_episodes.slots import Shown
from quickdraw.errors import Fault
from quickdraw.video.copying import CopiedStream
from quickdraw.video.times import TOLERANCE

CODECS: Final = ("h264", "hevc", "av1")
PIX_FMT: Final = "yuv420p"
ENCODE, LOSSLESS = "+source.video.mode=encode", "+source.depth.mode=lossless"
MOST_NAMED: Final = 3  # pictures a clip can begin at


@dataclass(frozen=True, slots=True)
class Match:
    """What is left out so that every row has its pictures.

    `frames` is how many frames of the recording, by frame_index, can be shown, `short` the cameras whose last picture
    is missing, so that the last row is left out. `unused` is camera -> pictures at its end that no row shows,
    `depth_starts` camera -> the frame its first picture is of.
    """

    frames: int
    short: tuple[str, ...] = ()
    unused: dict[str, int] = field(default_factory=dict)
    depth_starts: dict[str, int] = field(default_factory=dict)


def match(needed: int, shown: Sequence[Shown]) -> Match:
    """What to leave out of an episode whose last frame_index is `needed` - 1. It makes sense where nothing is wrong."""
    colour = [each for each in shown if each.kind == "rgb"]
    short = tuple(each.camera for each in colour if each.pictures < needed)
    frames = needed - bool(short)
    starts = {each.camera: 0 if short else max(0, needed - each.pictures) for each in shown if each.kind == "depth"}
    unused = {each.camera: each.pictures - frames for each in shown if each.pictures > frames}
    return Match(frames, short, unused, starts)


def match_faults(where: str, needed: int, shown: Sequence[Shown], rate_hz: int) -> Iterator[Fault]:
    """Why rows might be put against wrong pictures in an episode whose last frame_index is `needed` - 1."""
    found = match(needed, shown)
    for each in shown:
        expected = _count_expected(each, needed, found)
        if expected:
            yield Fault(where, each.slot, _pictures(each.pictures), expected, path=str(each.path))
        elif each.pictures not in (0, needed):
            yield from _time_faults(where, each, needed, found.depth_starts.get(each.camera, 0), rate_hz=rate_hz)


def _count_expected(shown: Shown, needed: int, found: Match) -> str:
    """How many pictures a camera should have; nothing where it has as many."""
    if shown.kind == "rgb":
        return "" if abs(shown.pictures - needed) <= 1 else f"{needed}, one a frame, or one more or less"
    if found.short:
        if needed - 1 <= shown.pictures <= needed:
            return ""
        short = " and ".join(found.short)
        return f"{needed}, or {needed - 1}: which frames depth lacks is not known, for {short} lacks its last one too"
    if min(2, needed) <= shown.pictures <= needed + 1:
        return ""
    return f"{needed}, one a frame, one more, or fewer where depth begins late, but at least two"


def _time_faults(where: str, shown: Shown, needed: int, starts: int, *, rate_hz: int) -> Iterator[Fault]:
    """Why the pictures that a camera has too few or too many might not be missing, or be there, at an end."""
    path, there, times = str(shown.path), f"{_pictures(shown.pictures)} for {needed} frames", shown.times
    odd = times.uneven(rate_hz)
    if odd is not None:
        at_s, before_s = times.at_s[odd], times.at_s[odd - 1]
        expected = f"it at {before_s + 1 / rate_hz:.3f} s, so that no picture is missing in the middle"
        yield Fault(where, shown.slot, f"{there}, and picture {odd} at {at_s:.3f} s", expected, path=path)
        return
    if shown.pictures < needed and not (times.begins(0, rate_hz) or times.begins(starts, rate_hz)):
        late = f" or {starts / rate_hz:.3f} s, as many frames later as are missing" if starts else ""
        found = f"{there}, the first at {times.at_s[0]:.3f} s"
        yield Fault(where, shown.slot, found, f"the first at 0 s{late}", path=path)
    if starts and times.is_cut(rate_hz):
        found = f"{there}, the last at {times.at_s[-1]:.3f} s in a stream of {times.end_s:.3f} s"
        expected = "pictures up to its end, so that those at its head are missing"
        yield Fault(where, shown.slot, found, expected, path=path)


def lost_faults(where: str, shown: Sequence[Shown], frame: Int64, at_s: Float64, rate_hz: int) -> Iterator[Fault]:
    """Where a camera lost pictures in its middle although it has as many as there are frames: there are others behind.

    `frame` and `at_s`, both `(F,)`, are frame_index and time [s] of the frames taken. Where these were parted at that
    place too, the camera stood still and nothing is lost.
    """
    for each in shown:
        lost = each.times.lost(rate_hz) if each.pictures == int(frame[-1]) + 1 else None
        at = int(np.searchsorted(frame, lost)) if lost is not None else 0
        if lost is None or not at or tuple(frame[at - 1 : at + 1]) != (lost - 1, lost):
            continue
        if (at_s[at] - at_s[at - 1]) * rate_hz < 1 + TOLERANCE:
            shown_s, before_s = each.times.at_s[lost], each.times.at_s[lost - 1]
            found = f"picture {lost} at {shown_s:.3f} s, after {before_s:.3f} s, where its row comes a frame later"
            yield Fault(where, each.slot, found, "pictures as evenly apart as their rows", path=str(each.path))


def match_warnings(
    needed: int, shown: Sequence[Shown], rate_hz: int, *, is_first: bool, is_last: bool
) -> Iterator[str]:
    """What is left out of an episode, or of its first or last piece, and what its times say, in words."""
    found = match(needed, shown)
    slot = {each.camera: each for each in shown}
    if is_last:
        for camera in found.short:
            there = _pictures(slot[camera].pictures)
            yield f"the last row is left out: {camera} has {there} for {needed} frames"
        for camera, count in found.unused.items():
            yield f"no row shows the end of {camera}: {_pictures(found.frames + count)} for {found.frames} frames"
    if is_first:
        for camera, start in found.depth_starts.items():
            if start:
                yield f"{camera} begins at frame {start}: all depth before is 0, not known"
        for each in shown:
            odd = each.times.uneven(rate_hz)
            if odd is not None:
                at_s, before_s = each.times.at_s[odd], each.times.at_s[odd - 1]
                times = f"picture {odd} at {at_s:.3f} s, after {before_s:.3f} s"
                yield f"the times of {each.camera} are uneven ({times}), but it has a picture for every frame"


def _pictures(count: int) -> str:
    return f"{count} picture{'s' if count != 1 else ''}"


def copy_faults(shown: Shown, picture: Int64, starts: int, options: PooledOptions, where: str) -> Iterator[Fault]:
    """Why a camera cannot be copied that is to be. `picture` `(T,)` int64 are the pictures that rows show.

    `starts` is the frame that the first picture of depth is of.
    """
    if not is_copied(shown, options):
        return
    option = ENCODE if shown.kind == "rgb" else LOSSLESS
    for found, expected in _reasons(shown, picture, starts, options):
        yield Fault(where, shown.slot, found, expected, path=str(shown.path), option=option)
    if shown.copied and shown.copied.gop > options.gop:
        found, expected = f"keyframes {shown.copied.gop} pictures apart", f"at most {options.gop} where it is copied"
        longer = f"+source.video.gop={shown.copied.gop}"
        yield Fault(where, shown.slot, found, expected, path=str(shown.path), option=longer)


def is_copied(shown: Shown, options: PooledOptions) -> bool:
    """Whether a camera is to be copied."""
    return options.video_mode == "copy" if shown.kind == "rgb" else options.depth == "copy"


def facts(stream: CopiedStream) -> dict[str, Any]:
    """What of a copied stream says how it was coded, JSON-ready."""
    return {
        "codec": stream.codec,
        "pix_fmt": stream.pix_fmt,
        "height_px": stream.height_px,
        "width_px": stream.width_px,
        "gop": stream.gop,
        "reordered": stream.reordered,
        "configuration": stream.configuration,
        "full_range": stream.full_range,
    }


def _reasons(shown: Shown, picture: Int64, starts: int, options: PooledOptions) -> Iterator[tuple[str, str]]:
    """(found, expected) of everything that is in the way."""
    stream = shown.copied
    if stream is None:
        yield "millimetres in FFV1", "logarithmic codes where it is copied"
        return
    yield from _of_colour(shown, stream, options) if shown.kind == "rgb" else _of_depth(stream, starts)
    if stream.reordered:
        yield "pictures shown in another order than decoded (B-frames)", "none where it is copied"
    elif int(picture[0]) not in stream.restarts:
        named = ", ".join(map(str, stream.restarts[:MOST_NAMED])) or "none"
        more = ", ..." if len(stream.restarts) > MOST_NAMED else ""
        expected = f"from a keyframe on that a clip can begin at ({named}{more}) where it is copied"
        yield f"rows that show pictures from {picture[0]} on", expected
    if int(picture[-1]) - int(picture[0]) + 1 != len(picture):
        yield "rows that pass over pictures", "a row for every picture where it is copied"


def _of_colour(shown: Shown, stream: CopiedStream, options: PooledOptions) -> Iterator[tuple[str, str]]:
    if stream.codec not in CODECS or stream.pix_fmt != PIX_FMT:
        yield f"{stream.codec} {stream.pix_fmt}", f"{', '.join(CODECS)} of {PIX_FMT} where it is copied"
    if options.hw and options.hw != (shown.height_px, shown.width_px):
        yield f"{shown.height_px}x{shown.width_px} (height x width)", f"{options.hw[0]}x{options.hw[1]} of +source.hw"


def _of_depth(stream: CopiedStream, starts: int) -> Iterator[tuple[str, str]]:
    if not stream.full_range:
        yield "depth codes not flagged full range (pc)", "full range where they are copied"
    if starts:
        yield f"depth that begins at frame {starts}", "depth from the first frame on where it is copied"
