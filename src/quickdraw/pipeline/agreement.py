"""What no run shows by itself: that runs do not agree in what they must, and that two of them are one recording."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from quickdraw.core.episode import EpisodeKey, EpisodePlan, Rejected, Trait
from quickdraw.errors import Fault
from quickdraw.pipeline.source import Source

MOST_NAMED = 5  # runs of a group that are named in each fault of the groups it differs from

type Plans = Mapping[EpisodeKey, EpisodePlan]


def disagreements(plans: Plans, source: Source) -> Iterator[Rejected]:
    """The episodes that differ from most others in a trait, and those that are there under an earlier name already.

    `plans` are sorted by key. Of equally large groups the one with the earliest episode is right. An episode can come
    up more than once.
    """
    groups: dict[str, dict[str, list[EpisodeKey]]] = {}
    traits: dict[str, Trait] = {}
    repeated: list[Rejected] = []
    first: dict[str, EpisodeKey] = {}
    for key, plan in plans.items():  # once, for plans may be costly to come by
        for trait in plan.traits:
            traits.setdefault(trait.name, trait)
            groups.setdefault(trait.name, {}).setdefault(trait.value, []).append(key)
        known = first.setdefault(plan.content_digest, key) if plan.content_digest else key
        if known != key:
            repeated.append(_repeated(key, known, source))
    for name, trait in traits.items():
        yield from _minorities(trait, groups[name], source)
    yield from repeated


def merged(rejected: Iterable[Rejected]) -> list[Rejected]:
    """One `Rejected` an episode, with all its faults, by key."""
    faults: dict[EpisodeKey, list[Fault]] = {}
    for refusal in rejected:
        faults.setdefault(refusal.key, []).extend(refusal.faults)
    return [Rejected(key, tuple(faults[key])) for key in sorted(faults)]


def _minorities(trait: Trait, groups: Mapping[str, list[EpisodeKey]], source: Source) -> Iterator[Rejected]:
    """The episodes that are in any but the largest of `groups`, by value of `trait`."""
    latest_first = sorted(groups.items(), key=lambda group: group[1][0], reverse=True)
    by_size = sorted(latest_first, key=lambda group: len(group[1]))
    most = f"{by_size[-1][0]} in {_named(by_size[-1][1], source)}"
    for value, keys in by_size[:-1]:
        rest = sum(len(group) for _, group in by_size[:-1]) - len(keys)
        others = f"; others in {rest} {source.words.many if rest > 1 else source.words.one}" if rest else ""
        told = f"{value} in {_named(keys, source)}; {most}{others}"
        for key in keys:
            path = str(source.path(key, trait.file))
            expected = f"one {trait.name} in all {source.words.many}, not {told}"
            yield Rejected(key, (Fault(str(key), trait.name, value, expected, path=path, option=trait.option),))


def _named(keys: list[EpisodeKey], source: Source) -> str:
    named = ", ".join(map(str, keys[:MOST_NAMED]))
    more = f" and {len(keys) - MOST_NAMED} more" if len(keys) > MOST_NAMED else ""
    kind = source.words.many if len(keys) > 1 else source.words.one
    return f"{len(keys)} {kind} ({named}{more})"


def _repeated(key: EpisodeKey, known: EpisodeKey, source: Source) -> Rejected:
    found, path = f"the same streams and stamps as {known}", str(source.path(key, "."))
    return Rejected(key, (Fault(str(key), "recording", found, "every recording once", path=path),))
