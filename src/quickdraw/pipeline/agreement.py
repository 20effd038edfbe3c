"""What no run shows by itself: that runs do not agree in what they must, and that two of them are one recording."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from quickdraw.core.episode import EpisodeKey, EpisodePlan, Rejected
from quickdraw.errors import Fault
from quickdraw.pipeline.source import Source

MOST_NAMED = 20  # runs of a group that are named in each fault of the groups it differs from

type Plans = Mapping[EpisodeKey, EpisodePlan]


def disagreements(plans: Plans, source: Source) -> Iterator[Rejected]:
    """The episodes that differ from most others in a trait, and those that are there under an earlier name already.

    `plans` are sorted by key. Of equally large groups the one with the earliest episode is right. An episode can come
    up more than once.
    """
    for name in dict.fromkeys(trait.name for plan in plans.values() for trait in plan.traits):
        yield from _minorities(name, plans, source)
    yield from _repeated(plans, source)


def merged(rejected: Iterable[Rejected]) -> list[Rejected]:
    """One `Rejected` an episode, with all its faults, by key."""
    faults: dict[EpisodeKey, list[Fault]] = {}
    for refusal in rejected:
        faults.setdefault(refusal.key, []).extend(refusal.faults)
    return [Rejected(key, tuple(faults[key])) for key in sorted(faults)]


def _minorities(name: str, plans: Plans, source: Source) -> Iterator[Rejected]:
    having = {key: trait for key in plans for trait in plans[key].traits if trait.name == name}
    groups: dict[str, list[EpisodeKey]] = {}
    for key, trait in having.items():
        groups.setdefault(trait.value, []).append(key)
    latest_first = sorted(groups.items(), key=lambda group: group[1][0], reverse=True)
    by_size = sorted(latest_first, key=lambda group: len(group[1]))
    told = "; ".join(f"{value} in {_runs(keys)}" for value, keys in by_size)
    for value, keys in by_size[:-1]:
        for key in keys:
            trait, expected = having[key], f"one {name} in all runs, not {told}"
            path = str(source.path(key, trait.file))
            yield Rejected(key, (Fault(str(key), name, value, expected, path=path, option=trait.option),))


def _runs(keys: list[EpisodeKey]) -> str:
    named = ", ".join(map(str, keys[:MOST_NAMED]))
    more = f" and {len(keys) - MOST_NAMED} more" if len(keys) > MOST_NAMED else ""
    return f"{len(keys)} run{'s' if len(keys) > 1 else ''} ({named}{more})"


def _repeated(plans: Plans, source: Source) -> Iterator[Rejected]:
    first: dict[str, EpisodeKey] = {}
    for key in plans:
        digest = plans[key].content_digest
        known = first.setdefault(digest, key) if digest else key
        if known != key:
            found, path = f"the same streams and stamps as {known}", str(source.path(key, "."))
            yield Rejected(key, (Fault(str(key), "recording", found, "every recording once", path=path),))
