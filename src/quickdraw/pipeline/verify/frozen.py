"""A camera that shows one picture for a second or more while the robot moves, or while another camera sees it move.

An encoder turns one picture shown over and over into steps of nearly nothing. So it does with a still view, a wrist
camera over bare table say, unless the camera's noise survives encoding: only then are such steps proof. Elsewhere
pictures must be equal to the bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from quickdraw.core.episode import Float32
from quickdraw.core.grid import Float64
from quickdraw.pipeline.verify.ledger import Ledger
from quickdraw.pipeline.verify.metadata import Entry
from quickdraw.pipeline.verify.pictures import Shown, SplitPictures
from quickdraw.pipeline.verify.split_view import SplitView, camera_name

FROZEN = "frozen"
STATE = "observation.state"

# At a crf of 10 the upper quartile of the steps is 0.09 levels and more in every second of the sample campaigns, and
# 0.005 where one picture is encoded over and over. At the default of 15 little noise is left, and it is 0.006 in the
# stillest second: there (see `_noise_survives`) only pictures that are equal, bit by bit, are taken for one.
STILL_LEVELS = 0.03
STILL_QUANTILE = 0.75
STILL_CHANGE_LEVELS = 2  # of the liveliest field in a second; 1 in one picture, 4 and more where an arm moves in view
MOVING_LEVELS = 1.0
MOVING_SHARE = (
    0.05  # of a dimension's range over the split, in a third of the dimensions: the noise of one is no motion
)

Flags = npt.NDArray[np.bool_]


def check_frozen(split: SplitView, shown: SplitPictures, ledger: Ledger) -> None:
    """Every colour camera of every episode."""
    with ledger.checking(FROZEN, split.name):
        colour = [shown.colour(entry.number) for entry in split.entries]
        noisy = {key: _noise_survives([seen[key] for seen in colour if key in seen]) for key in split.info.cameras}
        for entry, seen in zip(split.entries, colour, strict=True):
            if seen:
                _check_episode(split, entry, seen, noisy, ledger)


def _check_episode(
    split: SplitView, entry: Entry, shown: Mapping[str, Shown], noisy: Mapping[str, bool], ledger: Ledger
) -> None:
    rate_hz, moved = split.info.rate_hz, robot_moved(split, entry)
    quartiles = {key: _quartiles(seen.steps, rate_hz) for key, seen in shown.items()}
    for key, seen in shown.items():
        moving = np.any([quartile > MOVING_LEVELS for name, quartile in quartiles.items() if name != key], axis=0)
        quiet = quartiles[key] <= STILL_LEVELS if noisy[key] else equal_for_a_second(seen.steps > 0, rate_hz)
        ledger.saw(FROZEN, len(seen.steps))
        report_frozen(split, entry, key, quiet & still(seen) & (moving | moved), ledger)


def _noise_survives(episodes: Sequence[Shown]) -> bool:
    """Whether pictures of a camera differ by its noise alone."""
    return bool(episodes) and float(np.median(np.concatenate([seen.noise for seen in episodes]))) > STILL_LEVELS


def moving(seen: Shown, rate_hz: int) -> Flags:
    """Whether much of what a camera shows moves in the second that ends with each row, `(T,)`."""
    return np.asarray(_quartiles(seen.steps, rate_hz) > MOVING_LEVELS)


def robot_moved(split: SplitView, entry: Entry) -> Flags:
    """Whether the robot moved in the second that ends with each row, `(T,)`; nowhere where its state is not known."""
    if STATE not in split.info.vectors:
        return np.zeros(entry.length, np.bool_)
    of_all = split.measured(STATE)
    spread = of_all.max - of_all.min
    varying = spread > 0
    rows = split.rows_of(entry, STATE).reshape(entry.length, -1).astype(np.float64)
    ranges = _ranges(rows[:, varying], split.info.rate_hz)
    return np.asarray(3 * (ranges > MOVING_SHARE * spread[varying]).sum(axis=1) >= max(1, varying.sum()))


def _ranges(rows: Float64, window: int) -> Float64:
    """Range of each dimension of `(T, D)` over the `window` rows that end with each row; 0 where there are fewer."""
    ranges = np.zeros_like(rows)
    if len(rows) >= window and rows.shape[1]:
        seconds = np.lib.stride_tricks.sliding_window_view(rows, window, axis=0)
        ranges[window - 1 :] = seconds.max(axis=-1) - seconds.min(axis=-1)
    return ranges


def still(seen: Shown) -> Flags:
    """Whether nothing changed over the second that ends with each row, `(T,)`."""
    return seen.change <= STILL_CHANGE_LEVELS


def equal_for_a_second(changed: Flags, rate_hz: int) -> Flags:
    """Whether all pictures of the second that ends with each row are one, bit by bit, `(T,)`.

    `changed` `(T,)` says of each whether it is another one than that before it.
    """
    since = np.arange(len(changed)) - np.maximum.accumulate(np.where(changed, np.arange(len(changed)), 0))
    return np.asarray(since >= rate_hz - 1)


def _quartiles(steps: Float32, rate_hz: int) -> Float64:
    """Upper quartile of the steps within the second that ends with each row, `(T,)`; NaN in the first second."""
    quartiles = np.full(len(steps), np.nan)
    if len(steps) >= rate_hz > 1:
        seconds = np.lib.stride_tricks.sliding_window_view(steps, rate_hz)[:, 1:]  # the first step leads into it
        quartiles[rate_hz - 1 :] = np.quantile(seconds, STILL_QUANTILE, axis=1)
    return quartiles


def report_frozen(
    split: SplitView,
    entry: Entry,
    key: str,
    ends: Flags,
    ledger: Ledger,
    expected: str = "pictures that change with the robot",
) -> None:
    """A finding for each run of seconds, in which nothing changes, that end with the rows `ends` `(T,)` marks."""
    rows = np.flatnonzero(ends)
    for run in np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1):
        if run.size:
            first, last = int(run[0]) - split.info.rate_hz + 1, int(run[-1])
            place = f"{camera_name(key)}, {split.place(entry.first + first)}"
            found = f"{place}: one picture for {last - first + 1} rows"
            ledger.fault(FROZEN, split.name, found=found, expected=expected, path=split.root / entry.windows[key].path)
