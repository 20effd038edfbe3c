"""A survey for people and programs: every episode in a line, or everything as one JSON document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from quickdraw.core.episode import EpisodeKey, EpisodePlan
from quickdraw.errors import Fault
from quickdraw.pipeline.plan import BuildPlan, faults_of


def episode_lines(plan: BuildPlan) -> Iterator[str]:
    """A line an episode: where it goes, how long it is, how far its rows lie from their samples, what was mended."""
    width = max((len(str(key)) for key in plan.episodes), default=0)
    splits = _split_of(plan)
    for key, episode in plan.episodes.items():
        off = max(((moved.max_s, stream) for stream, moved in episode.displacement.items()), default=None)
        mended = ", ".join(f"{reason} {times}" for reason, times in episode.provenance.get("mended", {}).items())
        seconds = episode.frames / episode.grid.rate_hz
        told = [f"{key!s:<{width}}  {splits.get(key, '-'):<24} {episode.frames:>9,} frames {seconds:>9.1f} s"]
        told += [f"at most {off[0] * 1e3:.1f} ms off ({off[1]})"] if off else []
        told += [f"mended: {mended}"] if mended else []
        yield "  ".join(told)


def as_document(plan: BuildPlan, refused_for: Sequence[Fault], runs: int) -> dict[str, Any]:
    """A plan of so many `runs`, JSON-ready, and what a build of it is refused for.

    `refused` tells whether it would be; `faults` are also those of runs it would skip.
    """
    splits = _split_of(plan)
    faults = refused_for or faults_of(plan.rejected)
    return {
        "refused": bool(refused_for),
        "counts": {
            "runs": runs,
            "episodes": len(plan.episodes),
            "rejected": len(plan.rejected),
            "faults": len(faults),
            "frames": sum(plan.lengths.values()),
            "seconds": _seconds(plan, plan.lengths),
        },
        "campaigns": [_campaign(plan, name) for name in plan.campaigns],
        "splits": [
            {"name": split.name, "frames": plan.frames(split), "episodes": [str(key) for key in split.episodes],
             "seconds": _seconds(plan, split.episodes)}
            for split in plan.splits
        ],
        "episodes": [_episode(episode, splits.get(key)) for key, episode in plan.episodes.items()],
        "rejected": [str(refusal.key) for refusal in plan.rejected],
        "faults": [asdict(fault) for fault in faults],
        "left_out": list(plan.left_out),
        "ignored": list(plan.ignored),
        "warnings": list(plan.warnings),
    }  # fmt: skip


def _split_of(plan: BuildPlan) -> Mapping[EpisodeKey, str]:
    return {key: split.name for split in plan.splits for key in split.episodes}


def _seconds(plan: BuildPlan, keys: Iterable[EpisodeKey]) -> float:
    """How long some episodes are together."""
    rate_hz = next(iter(plan.episodes.values())).grid.rate_hz if plan.episodes else 1
    return sum(plan.lengths[key] / rate_hz for key in keys)


def _campaign(plan: BuildPlan, name: str) -> dict[str, Any]:
    keys = [key for key in plan.lengths if key.campaign == name]
    frames, goes_to = sum(plan.lengths[key] for key in keys), plan.campaigns[name]
    return {"name": name, "split": goes_to, "episodes": len(keys), "frames": frames, "seconds": _seconds(plan, keys)}


def _episode(episode: EpisodePlan, split: str | None) -> dict[str, Any]:
    return {
        "campaign": episode.key.campaign,
        "run": episode.key.run,
        "split": split,
        "frames": episode.frames,
        "seconds": episode.frames / episode.grid.rate_hz,
        "t_lo_s": episode.grid.t0_s,
        "t_hi_s": episode.t_hi_s,
        "displacement": {stream: asdict(moved) for stream, moved in episode.displacement.items()},
        "mended": episode.provenance.get("mended", {}),
        "commanded": episode.provenance.get("commanded"),
        "warnings": list(episode.warnings),
    }
