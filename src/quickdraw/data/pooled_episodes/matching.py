"""Pictures against frames: which row has none, which picture no row shows, where depth begins (contract 7.3 and 8).

Row k shows picture k. A recorder that is ended may lose the last frame of one stream; of a depth camera nothing is
written before its first frame, so that its pictures are missing at the head.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from quickdraw.data.pooled_episodes.slots import Shown
from quickdraw.errors import Fault


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
    starts = {each.camera: max(0, frames - each.pictures) for each in shown if each.kind == "depth"}
    unused = {each.camera: each.pictures - frames for each in shown if each.pictures > frames}
    return Match(frames, short, unused, starts)


def count_faults(where: str, needed: int, shown: Sequence[Shown]) -> Iterator[Fault]:
    """What is wrong with the numbers of pictures of an episode whose last frame_index is `needed` - 1."""
    frames = match(needed, shown).frames
    for each in shown:
        if each.kind == "rgb" and abs(each.pictures - needed) > 1:
            expected = f"{needed}, one a frame, or one more or less"
        elif each.kind == "depth" and not min(2, frames) <= each.pictures <= needed + 1:
            expected = f"{needed}, one a frame, one more, or fewer where depth begins late, but two"
        else:
            continue
        yield Fault(where, each.slot, _pictures(each.pictures), expected, path=str(each.path))


def match_warnings(found: Match, shown: Sequence[Shown], *, is_first: bool, is_last: bool) -> Iterator[str]:
    """What is left out of an episode, or of its first or last piece, in words."""
    slot = {each.camera: each for each in shown}
    if is_last:
        for camera in found.short:
            there = _pictures(slot[camera].pictures)
            yield f"the last row is left out: {camera} has {there} for {found.frames + 1} frames"
        for camera, count in found.unused.items():
            yield f"no row shows the end of {camera}: {_pictures(found.frames + count)} for {found.frames} frames"
    if is_first:
        for camera, start in found.depth_starts.items():
            if start:
                yield f"{camera} begins at frame {start}: all depth before is 0, not known"


def _pictures(count: int) -> str:
    return f"{count} picture{'s' if count != 1 else ''}"
