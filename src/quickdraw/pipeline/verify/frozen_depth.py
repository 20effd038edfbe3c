"""A depth camera that shows one picture for a second or more while the robot or what other cameras see moves.

Depth is stored without loss, so that one picture is the same to the bit. But pictures may be so for other reasons:
where there was no picture yet rows show one that is all 0, a camera may be slower than rows are, and one without noise
sees no change where nothing moves. So a camera is accused only where its pictures change while all else stands still:
that is its noise, and only a picture that is shown again has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from quickdraw.pipeline.verify.depth_pictures import ShownDepth
from quickdraw.pipeline.verify.frozen import (
    FROZEN,
    Flags,
    equal_for_a_second,
    moving,
    report_frozen,
    robot_moved,
    still,
)
from quickdraw.pipeline.verify.ledger import Ledger
from quickdraw.pipeline.verify.metadata import Entry
from quickdraw.pipeline.verify.pictures import Shown, SplitPictures
from quickdraw.pipeline.verify.split_view import SplitView, camera_name

QUIET_S = 3  # of stillness, a second at least, that it takes to tell noise
EQUAL_SHARE = 0.01  # of it in which a camera that has noise may show one picture


@dataclass(frozen=True, slots=True)
class _Around:
    """What goes on around a depth camera in the second that ends with each row of an episode, each `(T,)`.

    It is `quiet` where nothing at all moves, and `lively` where much does.
    """

    quiet: Flags
    lively: Flags


@dataclass(frozen=True, slots=True)
class _Held:
    """An episode of a depth camera."""

    split: SplitView
    entry: Entry
    depth: ShownDepth
    around: _Around


def check_frozen_depth(splits: Mapping[str, SplitView], shown: Mapping[str, SplitPictures], ledger: Ledger) -> None:
    """Every depth camera of a dataset; one whose noise cannot be told is passed over, and that is said."""
    cameras: dict[str, list[_Held]] = {}
    for name, split in splits.items():
        with ledger.checking(FROZEN, name):
            for key, held in _cameras(split, shown[name]):
                cameras.setdefault(key, []).append(held)
    for key, episodes in sorted(cameras.items()):
        if _has_noise(episodes):
            for held in episodes:
                _check_episode(key, held, ledger)
        else:
            reason = "nothing shows that its pictures change where nothing moves"
            for name in dict.fromkeys(held.split.name for held in episodes):
                ledger.skip(FROZEN, name, f"{camera_name(key)}: {reason}")


def _check_episode(key: str, held: _Held, ledger: Ledger) -> None:
    with ledger.checking(FROZEN, held.split.name):
        ledger.saw(FROZEN, held.entry.length)
        ends = _equal(held.depth, held.split.info.rate_hz) & held.around.lively
        report_frozen(held.split, held.entry, key, ends, ledger)


def _cameras(split: SplitView, shown: SplitPictures) -> Iterator[tuple[str, _Held]]:
    """Each depth camera of each episode."""
    for entry in split.entries:
        if depth := shown.depth(entry.number):
            around = _around(split, entry, shown.colour(entry.number))
            for key, seen in depth.items():
                yield key, _Held(split, entry, seen, around)


def _around(split: SplitView, entry: Entry, colour: dict[str, Shown]) -> _Around:
    moved = robot_moved(split, entry)
    seconds = np.arange(entry.length) >= split.info.rate_hz - 1
    quiet, lively = seconds & ~moved, moved
    for seen in colour.values():
        quiet, lively = quiet & still(seen), lively | moving(seen, split.info.rate_hz)
    return _Around(quiet, lively)


def _equal(depth: ShownDepth, rate_hz: int) -> Flags:
    """Whether a second ends with a row in which one picture is shown that is not all 0, `(T,)`."""
    changed = np.diff(depth.crcs, prepend=depth.crcs[:1]) != 0
    return equal_for_a_second(changed, rate_hz) & ~depth.blank


def _has_noise(episodes: list[_Held]) -> bool:
    """Whether a camera's pictures change while all else, which must be seen to, stands still."""
    quiet_s, equal_s = 0.0, 0.0
    for held in episodes:
        rate_hz, seconds = held.split.info.rate_hz, held.around.quiet & ~held.depth.blank
        quiet_s += float(seconds.sum()) / rate_hz
        equal_s += float((seconds & _equal(held.depth, rate_hz)).sum()) / rate_hz
    return quiet_s >= QUIET_S and equal_s <= EQUAL_SHARE * quiet_s
