"""Which picture each row shows (contract 7.3 and 8), and what tells that one was lost.

Row k shows picture k. A recorder that is ended may lose the last frame of one stream; of a depth camera nothing is
written before its first frame, so that its pictures are missing at the head. Pictures that are lost in the middle would
put every later row against a wrong one, whether or not others behind make up for their number: the times in the file
tell, beside those of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from quickdraw.core.grid import Float64, Int64
from quickdraw.data.pooled_episodes.slots import Shown
from quickdraw.errors import Fault


@dataclass(frozen=True, slots=True)
class Odd:
    """A picture that is shown sooner or later after that of the row before than its row comes; times in seconds."""

    picture: int
    before_s: float
    at_s: float
    due_s: float


@dataclass(frozen=True, slots=True)
class Match:
    """What is left out so that every row has its pictures, of `needed` frames of a recording by frame_index.

    `frames` is how many of them can be shown, `short` the cameras whose last picture is missing, so that the last row
    is left out. `unused` is camera -> pictures at its end that no row shows, `depth_starts` camera -> the frame its
    first picture is of, `odd` camera -> its first picture that does not step as its rows do.
    """

    needed: int
    frames: int
    short: tuple[str, ...] = ()
    unused: dict[str, int] = field(default_factory=dict)
    depth_starts: dict[str, int] = field(default_factory=dict)
    odd: dict[str, Odd] = field(default_factory=dict)


def match(frame: Int64, steps_s: Float64, shown: Sequence[Shown], rate_hz: int) -> Match:
    """What to leave out of an episode; only right where `match_faults` finds nothing.

    `frame` `(F,)` is the frame_index of its rows, which rises, `steps_s` `(F - 1,)` the times from row to row [s].
    """
    needed = int(frame[-1]) + 1
    short = tuple(each.camera for each in shown if each.kind == "rgb" and each.pictures < needed)
    frames = needed - bool(short)
    starts = {each.camera: 0 if short else max(0, needed - each.pictures) for each in shown if each.kind == "depth"}
    unused = {each.camera: each.pictures - frames for each in shown if each.pictures > frames}
    found = {each.camera: _odd(each, frame - starts.get(each.camera, 0), steps_s, rate_hz) for each in shown}
    odd = {camera: told for camera, told in found.items() if told is not None}
    return Match(needed, frames, short, unused, starts, odd)


def _odd(shown: Shown, picture: Int64, steps_s: Float64, rate_hz: int) -> Odd | None:
    """The first picture that does not step as its rows do, of those that rows show: `picture` `(F,)`, as far as there.

    A step, in whole frames, may be one a picture, as a writer that counts them has it, or that of the rows, or between.
    """
    first, end = np.searchsorted(picture, [0, shown.pictures])
    if first == end:
        return None
    at_s = np.concatenate([shown.times.at_s[:1], shown.times.at_s[picture[first:end]]])
    counted = np.diff(picture[first:end], prepend=0)  # of the first row since picture 0, whose time no row has
    rows = np.concatenate([counted[:1], np.rint(steps_s[first : end - 1] * rate_hz)])
    least, most = np.minimum(counted, np.maximum(rows, 0)), np.maximum(counted, rows)
    step = np.rint(np.diff(at_s) * rate_hz)
    (odd,) = np.nonzero(~((least <= step) & (step <= most)) & (counted > 0))  # also where a time is not told
    if not len(odd):
        return None
    at = int(odd[0])
    due = most[at] if step[at] > most[at] else least[at]
    return Odd(int(picture[first + at]), float(at_s[at]), float(at_s[at + 1]), float(at_s[at] + due / rate_hz))


def match_faults(where: str, found: Match, shown: Sequence[Shown], rate_hz: int) -> Iterator[Fault]:
    """Why rows might be put against wrong pictures."""
    for each in shown:
        expected = _count_expected(each, found)
        if expected:
            yield Fault(where, each.slot, _pictures(each.pictures), expected, path=str(each.path))
        elif each.pictures:
            for told, due in _time_reasons(each, found, rate_hz):
                there = f"{_pictures(each.pictures)} for {found.needed} frames, {told}"
                yield Fault(where, each.slot, there, due, path=str(each.path))


def _count_expected(shown: Shown, found: Match) -> str:
    """How many pictures a camera should have; nothing where it has as many."""
    needed = found.needed
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


def _time_reasons(shown: Shown, found: Match, rate_hz: int) -> Iterator[tuple[str, str]]:
    """(found, expected) of pictures that may be missing in the middle, or at another end than is taken.

    Times that jitter, of as many pictures as there are frames, are a camera's own, and tell nothing.
    """
    times, odd, starts = shown.times, found.odd.get(shown.camera), found.depth_starts.get(shown.camera, 0)
    if odd and (shown.pictures != found.needed or times.are_counted(rate_hz)):
        told = f"and picture {odd.picture} at {odd.at_s:.3f} s, after {odd.before_s:.3f} s"
        yield told, f"it at {odd.due_s:.3f} s, so that no picture is missing or doubled in the middle"
        return
    if shown.pictures < found.needed and not (times.begins(0, rate_hz) or times.begins(starts, rate_hz)):
        late = f" or {starts / rate_hz:.3f} s, as many frames later as are missing" if starts else ""
        yield f"the first at {times.at_s[0]:.3f} s", f"the first at 0 s{late}"
    if starts and times.is_cut(rate_hz):
        told = f"the last at {times.at_s[-1]:.3f} s in a stream of {times.end_s:.3f} s"
        yield told, "pictures up to its end, so that those at its head are missing"


def match_warnings(found: Match, shown: Sequence[Shown], frame: Int64, *, is_last: bool) -> Iterator[str]:
    """What is left out of an episode, or of a piece of it, and what its times say, in words.

    `frame` `(T,)` is the frame_index of its rows; `is_last` is whether they are the recording's last.
    """
    pictures = {each.camera: _pictures(each.pictures) for each in shown}
    if is_last:
        for camera in found.short:
            yield f"the last row is left out: {camera} has {pictures[camera]} for {found.needed} frames"
        for camera in found.unused:
            yield f"no row shows the end of {camera}: {pictures[camera]} for {found.frames} frames"
    for camera, start in found.depth_starts.items():
        if start > frame[-1]:
            yield f"{camera} begins later, at frame {start}: all its depth is 0, not known"
        elif start > frame[0]:
            yield f"{camera} begins at frame {start}: all depth before is 0, not known"
    for camera, odd in found.odd.items():
        if frame[0] <= odd.picture + found.depth_starts.get(camera, 0) <= frame[-1]:
            times = f"picture {odd.picture} at {odd.at_s:.3f} s, after {odd.before_s:.3f} s"
            yield f"the times of {camera} are uneven ({times}), but it has a picture for every frame"


def _pictures(count: int) -> str:
    return f"{count} picture{'s' if count != 1 else ''}"
