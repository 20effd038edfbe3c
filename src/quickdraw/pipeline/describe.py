"""The plan in words: what a dry run prints and every build begins with."""

from __future__ import annotations

from collections.abc import Iterator

from quickdraw.core.split import POOL
from quickdraw.errors import Words
from quickdraw.formats.lerobot.schema import MB
from quickdraw.pipeline.disk import estimated_bytes, free_bytes
from quickdraw.pipeline.plan import BuildPlan, faults_of
from quickdraw.pipeline.settings import Settings


def describe(plan: BuildPlan, settings: Settings, *, with_faults: bool = True) -> Iterator[str]:
    """The plan, line by line; `with_faults`: why runs are not built too."""
    rate_hz = settings.source.rate_hz
    yield from _campaign_table(plan, settings.source.words, rate_hz)
    yield ""
    yield from split_lines(plan, rate_hz)
    yield ""
    yield from _val_lines(plan, settings)
    yield from (f"ignored: {name} holds a run.json under a name no run has" for name in plan.ignored)
    yield from (f"warning: {warning}" for warning in plan.warnings)
    yield from (f"left out: {name}" for name in plan.left_out)
    yield from (f"not built: {fault}" for fault in faults_of(plan.rejected) if with_faults)
    if settings.output.exists():
        yield f"what is at {settings.output} is kept until it is replaced, and where nothing has changed"
    estimate, free = estimated_bytes(plan, settings), free_bytes(settings.output)
    yield f"estimated size {estimate / MB:,.0f} MB, free disk {free / MB:,.0f} MB at {settings.output}"


def split_lines(plan: BuildPlan, rate_hz: int) -> Iterator[str]:
    """A line a split."""
    for split in plan.splits:
        frames = plan.frames(split)
        yield f"{split.name:<24} {len(split.episodes):>4} episodes {frames:>9,} frames {frames / rate_hz:>9,.1f} s"


def _campaign_table(plan: BuildPlan, words: Words, rate_hz: int) -> Iterator[str]:
    width = max(len(words.group), *(len(name) for name in plan.campaigns))
    yield f"{words.group:<{width}}  {'split':<24} {words.many:>8} {'frames':>9} {'seconds':>9}"
    for name, split in plan.campaigns.items():
        frames = [rows for key, rows in plan.lengths.items() if key.campaign == name]
        none = "all refused" if any(rejected.key.campaign == name for rejected in plan.rejected) else f"no {words.many}"
        target = "excluded" if split is None else _destination(plan, name) if frames else none
        counts = f"{len(frames):>8} {sum(frames):>9,} {sum(frames) / rate_hz:>9,.1f}" if frames else ""
        yield f"{name:<{width}}  {target:<24} {counts}".rstrip()


def _destination(plan: BuildPlan, campaign: str) -> str:
    """Where a campaign's runs go: one split, or `train 3, val 1`."""
    counts = {split.name: sum(key.campaign == campaign for key in split.episodes) for split in plan.splits}
    if plan.campaigns[campaign] != POOL or not plan.splits:
        return str(plan.campaigns[campaign])
    return ", ".join(f"{name} {count}" for name, count in counts.items() if count)


def _val_lines(plan: BuildPlan, settings: Settings) -> Iterator[str]:
    named = {split.name: split for split in plan.splits}
    if "val" not in named:
        return
    train, val = named["train"], named["val"]
    share = plan.frames(val) / (plan.frames(train) + plan.frames(val))
    rule = settings.rule
    chosen = "the longest" if rule.val_rule == "longest" else f"at random, seed {rule.seed}"
    floor = f" at least val_floor={rule.val_floor} episodes," if rule.val_floor else ""
    wanted = f"{chosen},{floor} aiming at val_frac={rule.val_frac:.1%}"
    how = "frozen" if rule.val_runs else wanted
    yield f"val: {share:.1%} of the pool's frames ({how}):"
    yield from (f"  {key}  {plan.lengths[key]:,} frames" for key in val.episodes)
