"""Which campaign goes to which split, and which episodes of the pool go to val."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from fractions import Fraction
from typing import Literal

from quickdraw.core.episode import EpisodeKey
from quickdraw.errors import Fault, Refused

POOL = "pool"
ValRule = Literal["longest", "random"]


@dataclass(frozen=True, slots=True)
class SplitRule:
    """How episodes become splits.

    `eval_globs` name the campaigns that are a split of their own, verbatim; `exclude_globs`, which win, those left out,
    and single runs as `campaign/run`; the rest is pooled, and the first of it by `val_rule` go to val: its longest
    recordings, or those that come first in an order drawn with `seed`. `val_frac` is val's share of the pool's frames,
    `val_floor` the least number of val recordings; with 0 a pool of one has no val. `val_runs` (`campaign/run`)
    freezes val instead.

    A recording is an episode, or all pieces of one that was split: they stay together, and its name stands for them.
    """

    val_frac: float
    val_floor: int
    eval_globs: tuple[str, ...]
    exclude_globs: tuple[str, ...]
    val_runs: tuple[str, ...] = ()
    val_rule: ValRule = "longest"
    seed: int = 0

    def left_out_as(self, key: EpisodeKey) -> str | None:
        """The name a run is excluded by, by a glob with a slash in it: its recording's, or its own; None where not."""
        globs = [glob for glob in self.exclude_globs if "/" in glob]
        names = (str(key.recording), str(key))
        return next((name for name in names if any(fnmatchcase(name, glob) for glob in globs)), None)


@dataclass(frozen=True, slots=True)
class Split:
    """One split: its name and its episodes, in order (campaigns sorted, runs sorted)."""

    name: str
    episodes: tuple[EpisodeKey, ...]


def eval_name(campaign: str) -> str:
    """`campaign8-purple-play` -> `eval_purple_play`: what follows the first `-`; the whole name where there is none."""
    _, _, suffix = campaign.partition("-")
    return "eval_" + (suffix or campaign).replace("-", "_")


def assign_campaigns(campaigns: Iterable[str], rule: SplitRule) -> dict[str, str | None]:
    """Campaign -> split name, `POOL`, or None where excluded. Globs are case-sensitive and match whole names.

    Raises Refused when two eval campaigns would share a split name.
    """
    assigned: dict[str, str | None] = {}
    for campaign in sorted(campaigns):
        if any(fnmatchcase(campaign, glob) for glob in rule.exclude_globs):
            assigned[campaign] = None
        elif any(fnmatchcase(campaign, glob) for glob in rule.eval_globs):
            assigned[campaign] = eval_name(campaign)
        else:
            assigned[campaign] = POOL
    refuse_shared_names(assigned)
    return assigned


def refuse_shared_names(assigned: Mapping[str, str | None]) -> None:
    """Two campaigns must not end in one eval split."""
    by_name: dict[str, list[str]] = {}
    for campaign, name in assigned.items():
        if name not in (None, POOL):
            by_name.setdefault(str(name), []).append(campaign)
    faults = [
        Fault("source", "eval_globs", f"{' and '.join(clash)} both become {name}", "one campaign per eval split",
              option="+source.eval_globs=[...] or +source.exclude_globs=[...]")
        for name, clash in by_name.items() if len(clash) > 1
    ]  # fmt: skip
    if faults:
        raise Refused(faults)


def longest_first(frames: Sequence[int]) -> list[int]:
    """Positions of the recordings, the longest first, of equally long ones the earlier."""
    return sorted(range(len(frames)), key=lambda i: (-frames[i], i))


def in_random_order(names: Sequence[str], seed: int) -> list[int]:
    """Positions of the recordings by SHA-256 of `<seed>:<name>`: where one comes depends on no other one."""
    drawn = [hashlib.sha256(f"{seed}:{name}".encode()).digest() for name in names]
    return sorted(range(len(names)), key=lambda i: (drawn[i], names[i]))


def first_to_val(frames: Sequence[int], order: Sequence[int], val_frac: float, floor: int) -> tuple[int, ...]:
    """Positions of the val recordings, ascending: the first of `order`, as many as come closest to `val_frac` of all.

    Of the prefix sizes from `min(floor, n - 1)`, and at least 1, to `n - 1` the one whose share of frames is closest to
    `val_frac` is taken, the smaller on a tie, compared exactly. Needs n >= 2.
    """
    n = len(frames)
    if n < 2:
        raise ValueError(f"val needs a pool of at least 2 episodes, got {n}")
    total, wanted = sum(frames), Fraction(str(val_frac))
    prefix = [0]
    for i in order:
        prefix.append(prefix[-1] + frames[i])
    best = min(range(max(1, min(floor, n - 1)), n), key=lambda k: (abs(Fraction(prefix[k], total) - wanted), k))
    return tuple(sorted(order[:best]))


def make_splits(frames: Mapping[EpisodeKey, int], rule: SplitRule) -> tuple[Split, ...]:
    """Train, val, then the eval splits by name, from the frame counts of every episode that may be built.

    There is no val where one recording is pooled and `val_floor` is 0. Raises Refused when the pool has fewer than 2
    otherwise, or a frozen val run is not in the pool or takes all of it.
    """
    assigned = assign_campaigns({key.campaign for key in frames}, rule)
    pool = sorted(key for key in frames if assigned[key.campaign] == POOL)
    val = frozen_val(pool, rule.val_runs) if rule.val_runs else chosen_val(pool, frames, rule)
    splits = [Split("train", tuple(k for k in pool if k not in val))]
    if val:
        splits.append(Split("val", tuple(k for k in pool if k in val)))
    for name in sorted({name for name in assigned.values() if name not in (None, POOL)}, key=str):
        splits.append(Split(str(name), tuple(sorted(k for k in frames if assigned[k.campaign] == name))))
    return tuple(splits)


def chosen_val(pool: Sequence[EpisodeKey], frames: Mapping[EpisodeKey, int], rule: SplitRule) -> set[EpisodeKey]:
    """Val by the rule, of whole recordings; none of a pool of one where no val is asked for."""
    lengths = dict.fromkeys((key.recording for key in pool), 0)
    for key in pool:
        lengths[key.recording] += frames[key]
    least = 1 if rule.val_floor == 0 else 2
    if len(lengths) < least:
        found = f"{len(lengths)} ({', '.join(map(str, lengths)) or 'none'})"
        expected = "at least 1, for train" if least == 1 else "at least 2, one for train, one for val"
        option = "+source.dir=<tree> or +source.eval_globs=[...] or +source.exclude_globs=[...]"
        raise Refused([Fault("source", "pooled runs", found, expected, option=option)])
    if len(lengths) == 1:
        return set()
    recordings, long = sorted(lengths), [lengths[recording] for recording in sorted(lengths)]
    by_length = rule.val_rule == "longest"
    order = longest_first(long) if by_length else in_random_order([*map(str, recordings)], rule.seed)
    val = {recordings[i] for i in first_to_val(long, order, rule.val_frac, rule.val_floor)}
    return {key for key in pool if key.recording in val}


def frozen_val(pool: Sequence[EpisodeKey], val_runs: Sequence[str]) -> set[EpisodeKey]:
    """Val as it was frozen: every recording that a name is of, its own or that of a piece, all pieces of it."""
    by_name = {str(key.recording): key.recording for key in pool}
    named = {name: str(EpisodeKey(*name.rpartition("/")[::2]).recording) for name in val_runs}
    missing = [name for name, recording in named.items() if recording not in by_name]
    if missing or len(set(named.values())) >= len(by_name):
        found = f"{', '.join(missing)} not in the pool" if missing else "every pooled run"
        raise Refused([Fault("source", "val_runs", found, f"some of the pooled runs: {', '.join(by_name)}",
                             option="+source.val_runs=[campaign/run, ...]")])  # fmt: skip
    val = {by_name[recording] for recording in named.values()}
    return {key for key in pool if key.recording in val}
