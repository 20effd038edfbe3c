"""A few seconds of a dataset and of the raw files they were made from, small and grey: what a build's curves are of.

The liveliest seconds of an episode, for where nothing moves one row looks like the next and a shift would not show.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from quickdraw.core.episode import EpisodePlan, FramePlan
from quickdraw.pipeline.members import Members
from quickdraw.pipeline.source import Source
from quickdraw.pipeline.verify.motion import Grey, fields_of, grey_of
from quickdraw.pipeline.verify.reading_sources import Damage, read_or_damage
from quickdraw.pipeline.verify.sweep import SHIFTS
from quickdraw.video.decoding import Picture, pictures_at
from quickdraw.video.seeking import pictures_by_rank

SECONDS = 2  # at 30 Hz as many rows as `verify --source` picks of an episode
STATE = "observation.state"


@dataclass(frozen=True, slots=True)
class Sample:
    """`rows` rows of an episode of a split, from row `first` on; none where it is too short to be shifted."""

    split: str
    episode: int
    plan: EpisodePlan
    first: int
    rows: int


@dataclass(frozen=True, slots=True)
class SampleTask:
    """Look at what `camera` shows in a sample: in the raw file, and in the clip that was built of it."""

    sample: Sample
    camera: str
    source: Source
    clip: Path


@dataclass(frozen=True, slots=True)
class Seen:
    """`shown` `(rows, 24, 32)` uint8 of the clip; `source` the same of the raw file, with a margin of every shift."""

    shown: Grey
    source: Grey


def sample_of(split: str, members: Members, rate_hz: int) -> Sample:
    """The liveliest seconds of a split's longest episode, the first of them."""
    plans = enumerate(members.plans.items())
    episode, (key, plan) = max(plans, key=lambda each: each[1][1].frames)  # the first of the longest
    rows = members.workshop.fragment(plan, members.digests[key]).rows()
    return Sample(split, episode, plan, *liveliest(rows.get(STATE), plan.frames, rate_hz))


def liveliest(state: npt.NDArray[Any] | None, length: int, rate_hz: int) -> tuple[int, int]:
    """First row, and how many, of the `SECONDS` in which `state` `(length, D)` gets farthest; the middle without one.

    Each dimension counts as a share of its own range, so that units do not matter and noise is alike everywhere. Every
    row has a neighbour at each of `SHIFTS`; stretches begin a second apart.
    """
    begun, ended = -SHIFTS[0], length - SHIFTS[-1]
    rows = min(SECONDS * rate_hz, max(0, ended - begun))
    middle = (begun + ended - rows) // 2
    if state is None or not rows:
        return middle, rows
    values = np.nan_to_num(state.astype(np.float64))
    span = np.ptp(values, axis=0)
    moving, starts = span > 0, np.arange(begun, ended - rows + 1, rate_hz)
    if not moving.any():
        return middle, rows
    reached = [np.sum(np.ptp(values[at : at + rows, moving], axis=0) / span[moving]) for at in starts]
    return int(starts[int(np.argmax(reached))]), rows


def look(numbered: tuple[int, SampleTask]) -> tuple[int, Seen | Damage]:
    """Decode what a sample needs; where a file is damaged by now, say so."""
    number, task = numbered
    return number, read_or_damage(lambda: _look(task))


def _look(task: SampleTask) -> Seen | Damage:
    sample, plan = task.sample, task.source.frame_plan(task.sample.plan, task.camera)
    if not isinstance(plan, FramePlan):
        return Damage(f"{plan.path}: depth", "colour")
    end = sample.first + sample.rows
    index = plan.frame_index[sample.first + SHIFTS[0] : end + SHIFTS[-1]]
    shown = dict(_fields(pictures_at(task.clip, range(sample.first, end))))
    held = dict(_fields(pictures_by_rank(plan.path, frozenset(index.tolist()), plan.stream)))
    try:
        source = np.stack([held[int(number)] for number in index])
        return Seen(np.stack([shown[row] for row in range(sample.first, end)]), source)
    except KeyError as error:
        return Damage(f"{plan.path}: no picture {error}", "every picture that was planned")


def _fields(shown: Iterable[tuple[int, Picture]]) -> Iterator[tuple[int, Grey]]:
    return ((number, fields_of(grey_of(picture))) for number, picture in shown)
