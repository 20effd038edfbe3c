"""An index of episodes as they were planned, so that an unchanged run is not read again.

Unchanged is a run all of whose files have the same size and modification time. Like that of digests the index lies
beside a dataset, not in it. A line holds one plan, sealed with what it depends on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

import quickdraw
from quickdraw.core.episode import EpisodeKey, EpisodePlan
from quickdraw.core.fingerprint import fingerprint
from quickdraw.formats.durable import write_aside
from quickdraw.pipeline.packed import Packed
from quickdraw.pipeline.seals import read_sealed, sealed
from quickdraw.pipeline.source import Source

_DECODER = msgspec.json.Decoder(EpisodePlan)


@dataclass(frozen=True, slots=True)
class PlanIndex:
    """Plans made for `source`: the line of each run."""

    source: Source
    lines: Packed[EpisodeKey, bytes] = field(default_factory=Packed)

    def known(self, key: EpisodeKey) -> EpisodePlan | None:
        """The plan of a run that looks as it did then."""
        line = self.lines.get(key)
        plan = _plan(line) if line else None
        return plan if plan and plan.looks == self.source.looks(key) else None


def read_plans(path: Path, source: Source) -> PlanIndex:
    """The index at `path`; an empty one where there is none, or none for this source as it is configured."""
    index = PlanIndex(source)
    for line in read_sealed(path, _made_with(source)):
        if key := _key(line):
            index.lines.add(key, line)
    return index


def write_plans(path: Path, source: Source, plans: Iterable[EpisodePlan]) -> None:
    """Put an index of these plans to `path`."""
    context = _made_with(source)
    write_aside(path, (sealed(body, context) for body in map(_body, plans) if body))


def _body(plan: EpisodePlan) -> bytes:
    """A plan as it is remembered; empty where it cannot be, for a name in it is no UTF-8."""
    try:
        return msgspec.json.encode(plan)
    except UnicodeEncodeError:
        return b""


def _made_with(source: Source) -> str:
    """All that a plan depends on besides the files of its run."""
    processor = {"name": source.processor, "version": source.version, "planning": source.planning()}
    return fingerprint({"quickdraw": quickdraw.__version__, "tree": str(source.tree), "processor": processor})


class _Head(msgspec.Struct):
    key: EpisodeKey


_HEAD_DECODER = msgspec.json.Decoder(_Head)


def _key(line: bytes) -> EpisodeKey | None:
    try:
        return _HEAD_DECODER.decode(line).key
    except (msgspec.DecodeError, RecursionError):
        return None


def _plan(line: bytes) -> EpisodePlan | None:
    try:
        return _DECODER.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
