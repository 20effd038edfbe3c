"""The plan: what would be built from what, and everything that stands in its way, before a picture is decoded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from quickdraw.core.episode import EpisodeKey, EpisodePlan, Rejected
from quickdraw.core.split import Split, assign_campaigns, make_splits
from quickdraw.errors import Fault, Refused
from quickdraw.formats.lerobot.files import beyond_reader
from quickdraw.pipeline.executors import Executor
from quickdraw.pipeline.progress import Progress
from quickdraw.pipeline.settings import Settings
from quickdraw.pipeline.source import Campaign


@dataclass(frozen=True, slots=True)
class BuildPlan:
    """Every episode by key, the splits they go to, and what was left out.

    `campaigns` is campaign -> split, `POOL` or None (excluded); `left_out` are single runs that were excluded,
    `ignored` folders no run's name fits, `rejected` runs that are not built because of what is wrong with them.
    """

    campaigns: Mapping[str, str | None]
    episodes: Mapping[EpisodeKey, EpisodePlan]
    splits: tuple[Split, ...]
    left_out: tuple[str, ...]
    ignored: tuple[str, ...]
    warnings: tuple[str, ...]
    rejected: tuple[Rejected, ...] = ()

    def frames(self, split: Split) -> int:
        """Rows of a split."""
        return sum(self.episodes[key].frames for key in split.episodes)


def make_plan(settings: Settings, executor: Executor, progress: Progress) -> BuildPlan:
    """Read every run's metadata, streams and stamps. Raises Refused with every fault of every run."""
    source = settings.source
    assigned = assign_campaigns(source.campaigns(), settings.rule)
    campaigns = [source.campaign(name) for name, split in assigned.items() if split is not None]
    faults = [f for campaign in campaigns for f in campaign.faults if not settings.rule.leaves_out(f.where)]
    every = [key for campaign in campaigns for key in campaign.runs]
    left_out = tuple(str(key) for key in every if settings.rule.leaves_out(str(key)))
    keys = [key for campaign in campaigns for key in _chosen(campaign, settings)]
    episodes: dict[EpisodeKey, EpisodePlan] = {}
    rejected: list[Rejected] = []
    with progress.stage("plan", len(keys), "runs") as meter:
        for result in executor.run(source.plan, keys):
            meter.advance(1)
            if isinstance(result, Rejected):
                rejected.append(result)
            else:
                episodes[result.key] = result
    faults += faults_of(rejected)
    if faults:
        raise Refused(faults)
    episodes = {key: episodes[key] for key in sorted(episodes)}
    splits = make_splits({key: plan.frames for key, plan in episodes.items()}, settings.rule)
    ignored = tuple(name for campaign in campaigns for name in campaign.ignored)
    return BuildPlan(assigned, episodes, splits, left_out, ignored, _warnings(settings, episodes, splits))


def _chosen(campaign: Campaign, settings: Settings) -> list[EpisodeKey]:
    runs = [key for key in campaign.runs if not settings.rule.leaves_out(str(key))]
    return runs[: settings.max_runs_per_campaign or None]


def _warnings(
    settings: Settings, episodes: Mapping[EpisodeKey, EpisodePlan], splits: tuple[Split, ...]
) -> tuple[str, ...]:
    """What the user should know, though nothing is wrong."""
    warnings = []
    train, val = splits[0].episodes, splits[1].episodes
    if not settings.rule.val_runs and len(val) < settings.rule.val_floor:
        pooled = len(train) + len(val)
        warnings.append(f"only {pooled} pooled episodes: val has {len(val)}, not val_floor = {settings.rule.val_floor}")
    for key, plan in episodes.items():
        if beyond_reader(plan.frames, settings.source.rate_hz):
            seconds = plan.frames / settings.source.rate_hz
            warnings.append(
                f"{key}: {seconds:.0f} s long; lerobot's float32 timestamps cannot address every picture past 2048 s"
            )
    return tuple(warnings)


def faults_of(rejected: Iterable[Rejected]) -> list[Fault]:
    """Every fault of every rejected episode, in the episodes' order."""
    return [fault for refusal in sorted(rejected, key=lambda r: r.key) for fault in refusal.faults]
