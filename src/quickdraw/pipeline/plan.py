"""The plan: what would be built from what, and everything that stands in its way, before a picture is decoded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from quickdraw.core.episode import EpisodeKey, EpisodePlan, Rejected
from quickdraw.core.split import POOL, Split, assign_campaigns, make_splits, refuse_shared_names
from quickdraw.errors import Fault, Refused
from quickdraw.formats.lerobot.files import beyond_reader
from quickdraw.pipeline.agreement import disagreements, merged
from quickdraw.pipeline.disk import disk_faults
from quickdraw.pipeline.executors import Executor
from quickdraw.pipeline.packed import Packed
from quickdraw.pipeline.plan_index import PlanIndex, read_plans
from quickdraw.pipeline.progress import Progress
from quickdraw.pipeline.publish import plans_file
from quickdraw.pipeline.settings import Settings
from quickdraw.pipeline.source import Campaign


@dataclass(frozen=True, slots=True)
class BuildPlan:
    """Every episode by key, its rows, the splits they go to, and what was left out.

    `campaigns` is campaign -> split, `POOL` or None (excluded); `left_out` are single runs that were excluded,
    `ignored` folders no run's name fits, `rejected` runs that are not built because of what is wrong with them.
    """

    campaigns: Mapping[str, str | None]
    episodes: Packed[EpisodeKey, EpisodePlan]
    lengths: Mapping[EpisodeKey, int]
    splits: tuple[Split, ...]
    left_out: tuple[str, ...]
    ignored: tuple[str, ...]
    warnings: tuple[str, ...]
    rejected: tuple[Rejected, ...] = ()

    @classmethod
    def empty(cls) -> BuildPlan:
        """That of no tree."""
        return cls(campaigns={}, episodes=Packed(), lengths={}, splits=(), left_out=(), ignored=(), warnings=())

    def frames(self, split: Split) -> int:
        """Rows of a split."""
        return sum(self.lengths[key] for key in split.episodes)


@dataclass(frozen=True, slots=True)
class Survey:
    """What there is: a plan of the runs in order, without splits where none can be made, and what a build fails by.

    `faults` is empty where a build would begin. `runs` is how many runs were looked at. `settings` are settled by them.
    """

    plan: BuildPlan
    faults: tuple[Fault, ...]
    runs: int
    settings: Settings


def make_plan(settings: Settings, executor: Executor, progress: Progress) -> tuple[BuildPlan, Settings]:
    """The plan of a build, of unchanged runs as an earlier one made it, and the settings settled by it.

    Raises Refused with every fault of every run, of the tree, and of the disk.
    """
    index = PlanIndex(settings.source) if settings.rehash else read_plans(plans_file(settings.output), settings.source)
    found = survey(settings, executor, progress, index)
    faults = [*found.faults, *disk_faults(found.plan, found.settings)]
    if faults:
        raise Refused(faults, found.runs, settings.source.words)
    return found.plan, found.settings


def survey(settings: Settings, executor: Executor, progress: Progress, index: PlanIndex) -> Survey:
    """Read metadata, streams, stamps and container headers of every run that `index` does not know.

    Raises Refused where there is no tree.
    """
    tree = _read_tree(settings)
    read, rejected = _read_runs(tree.runs, settings, executor, progress, index=index)
    rejected = merged([*tree.rejected, *rejected, *disagreements(read, settings.source)])
    bad = {r.key for r in rejected}
    episodes = read.only(key for key in read if key not in bad)
    settings, unsettled = _settled(settings, episodes)
    lengths = {key: episode.frames for key, episode in episodes.items()}
    splits = _splits(lengths, settings)
    plan = BuildPlan(
        campaigns={_as_text(name): split for name, split in tree.assigned.items()},
        episodes=episodes,
        lengths=lengths,
        splits=splits,
        left_out=tree.left_out,
        ignored=tuple(name for campaign in tree.campaigns for name in campaign.ignored),
        warnings=tuple(_warnings(settings, episodes, splits)),
        rejected=tuple(rejected),
    )
    runs = {*tree.runs, *bad}
    skips = settings.on_bad_run == "skip"
    of_tree = [*tree.faults, *_pool_faults(episodes if skips else runs, tree.assigned, settings), *unsettled]
    faults = of_tree if skips and not of_tree else [*faults_of(rejected), *of_tree]
    return Survey(plan, tuple(faults), len(runs), settings)


def _settled(settings: Settings, episodes: Mapping[EpisodeKey, EpisodePlan]) -> tuple[Settings, tuple[Fault, ...]]:
    """The settings settled by the episodes, or as they are and why they cannot be."""
    try:
        return (settings.settling(settings, episodes.values()) if episodes else settings), ()
    except Refused as refused:
        return settings, refused.faults


def without(plan: BuildPlan, rejected: Sequence[Rejected], settings: Settings) -> tuple[BuildPlan, Settings]:
    """The same plan with these episodes moved to its rejected ones, and the settings settled by what is left.

    Raises Refused where no pool is left, or what is left is no dataset.
    """
    every = merged([*plan.rejected, *rejected])
    bad = {r.key for r in every}
    episodes = plan.episodes.only(key for key in plan.episodes if key not in bad)
    settings, unsettled = _settled(settings, episodes)
    faults = [*_pool_faults(episodes, plan.campaigns, settings), *unsettled]
    if faults:
        raise Refused([*faults_of(every), *faults], len(episodes) + len(every), settings.source.words)
    lengths = {key: plan.lengths[key] for key in episodes}
    splits = _splits(lengths, settings)
    warnings = tuple(_warnings(settings, episodes, splits))
    left = replace(plan, episodes=episodes, lengths=lengths, splits=splits, warnings=warnings, rejected=tuple(every))
    return left, settings


@dataclass(frozen=True, slots=True)
class _Tree:
    """The tree before a run is read: `runs` to be read, `rejected` folders that should be runs and are none."""

    assigned: Mapping[str, str | None]
    campaigns: tuple[Campaign, ...]
    runs: tuple[EpisodeKey, ...]
    rejected: tuple[Rejected, ...]
    left_out: tuple[str, ...]
    faults: tuple[Fault, ...]


def _read_tree(settings: Settings) -> _Tree:
    source, rule = settings.source, settings.rule
    assigned: dict[str, str | None] = {}
    for name in source.campaigns():
        assigned |= assign_campaigns([name], rule)  # one by one: names that clash are one fault among others
    campaigns = tuple(source.campaign(name) for name, split in assigned.items() if split is not None)
    faults = [fault for campaign in campaigns for fault in campaign.faults]
    listed = [key for campaign in campaigns for key in campaign.runs]
    try:
        refuse_shared_names(assigned)
    except Refused as refused:
        faults += refused.faults
    return _Tree(
        assigned=assigned,
        campaigns=campaigns,
        runs=tuple(key for campaign in campaigns for key in _chosen(campaign, settings)),
        rejected=tuple(r for campaign in campaigns for r in campaign.rejected if not rule.left_out_as(r.key)),
        left_out=tuple(dict.fromkeys(out for key in listed if (out := rule.left_out_as(key)))),
        faults=tuple(faults),
    )


def _as_text(name: str) -> str:
    """A folder's name as it can be written down; one that is no UTF-8 may well be excluded."""
    return name.encode(errors="backslashreplace").decode()


def _chosen(campaign: Campaign, settings: Settings) -> list[EpisodeKey]:
    """The runs that are asked for, of the first so many recordings."""
    runs = [key for key in campaign.runs if not settings.rule.left_out_as(key)]
    first = {*list(dict.fromkeys(key.recording for key in runs))[: settings.max_runs_per_campaign or None]}
    return [key for key in runs if key.recording in first]


def _read_runs(
    keys: Sequence[EpisodeKey], settings: Settings, executor: Executor, progress: Progress, *, index: PlanIndex
) -> tuple[Packed[EpisodeKey, EpisodePlan], list[Rejected]]:
    """What each run would become, by key, sorted, and those that cannot become anything."""
    read, rejected, unknown = Packed[EpisodeKey, EpisodePlan](), list[Rejected](), list[EpisodeKey]()
    with progress.stage("plan", len(keys), settings.source.words.many) as meter:
        for key in keys:
            if plan := index.known(key):
                read.add(key, plan)
                meter.advance(1)
            else:
                unknown.append(key)
        for result in executor.run(settings.source.plan, unknown):
            meter.advance(1)
            if isinstance(result, Rejected):
                rejected.append(result)
            else:
                read.add(result.key, result)
    return read.only(sorted(read)), rejected


def _splits(lengths: Mapping[EpisodeKey, int], settings: Settings) -> tuple[Split, ...]:
    """The splits; none where they cannot be made."""
    try:
        return make_splits(lengths, settings.rule)
    except Refused:
        return ()


def _pool_faults(
    keys: Iterable[EpisodeKey], assigned: Mapping[str, str | None], settings: Settings
) -> tuple[Fault, ...]:
    """Why these episodes cannot be split into train and val; their lengths do not matter for that."""
    try:
        make_splits({key: 1 for key in keys if assigned[key.campaign] == POOL}, settings.rule)
    except Refused as refused:
        return refused.faults
    return ()


def _warnings(
    settings: Settings, episodes: Mapping[EpisodeKey, EpisodePlan], splits: tuple[Split, ...]
) -> Iterator[str]:
    """What the user should know, though nothing is wrong."""
    sizes = {split.name: len({key.recording for key in split.episodes}) for split in splits}
    if splits and "val" not in sizes:
        yield "one pooled episode: it goes to train, and there is no val"
    elif splits and not settings.rule.val_runs and sizes["val"] < settings.rule.val_floor:
        pooled = sizes["train"] + sizes["val"]
        yield f"only {pooled} pooled episodes: val has {sizes['val']}, not val_floor = {settings.rule.val_floor}"
    yield from settings.source.notes()
    for key, plan in episodes.items():
        yield from (f"{key}: {warning}" for warning in plan.warnings)
        if beyond_reader(plan.frames, settings.source.rate_hz):
            seconds = plan.frames / settings.source.rate_hz
            yield f"{key}: {seconds:.0f} s long; lerobot's float32 timestamps cannot address every picture past 2048 s"


def faults_of(rejected: Iterable[Rejected]) -> list[Fault]:
    """Every fault of every rejected episode, in the episodes' order."""
    return [fault for refusal in sorted(rejected, key=lambda r: r.key) for fault in refusal.faults]
