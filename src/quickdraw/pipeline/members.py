"""The episodes of a split as they are packed: each made anew when its turn comes, for all at once are much to keep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from quickdraw.core.episode import EpisodeKey, EpisodePlan
from quickdraw.core.split import Split
from quickdraw.pipeline.cubes import Member, SplitCubes
from quickdraw.pipeline.digests import FileDigest
from quickdraw.pipeline.mapping import Workshop
from quickdraw.pipeline.packed import Packed


@dataclass(frozen=True, slots=True)
class Members:
    """The episodes of one split, in order; `cubes` are those of the split, None where none are wanted.

    It is sent to workers, so it holds what its own episodes need and no more.
    """

    workshop: Workshop
    plans: Packed[EpisodeKey, EpisodePlan]
    digests: Mapping[EpisodeKey, dict[str, FileDigest]]
    cubes: SplitCubes | None = None

    def __len__(self) -> int:
        return len(self.plans)

    def parted(self, stops: Iterable[int]) -> Iterator[Members]:
        """Those before each of the rising numbers `stops`, from the one before on, and no more than they need."""
        keys, begun = iter(self.plans), 0  # one walk: to look for where a part begins would take longer with each
        for stop in stops:
            some = list(islice(keys, stop - begun))
            yield replace(self, plans=self.plans.only(some), digests={key: self.digests[key] for key in some})
            begun = stop

    def __iter__(self) -> Iterator[Member]:
        for key, plan in self.plans.items():
            yield Member(self.workshop.fragment(plan, self.digests[key]), self.cubes)


def members_of(
    workshop: Workshop,
    split: Split,
    plans: Packed[EpisodeKey, EpisodePlan],
    digests: Mapping[EpisodeKey, dict[str, FileDigest]],
) -> Members:
    """The episodes of a split, without cubes."""
    return Members(workshop, plans.only(split.episodes), {key: digests[key] for key in split.episodes})
