"""The plan in words: what a dry run prints and every build begins with."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from quickdraw.core.split import POOL
from quickdraw.formats.lerobot.schema import MB
from quickdraw.pipeline.plan import BuildPlan
from quickdraw.pipeline.settings import Settings

# A picture of 144x192 at crf 10 and a keyframe every 5: measured 2,316 bytes on the sample campaigns and 3,202 on
# simulated ones, whose pictures are all fine grain. Every picture is kept twice, in media/ and joined in the split.
PICTURE_BYTES = 3_000
COPIES = 2
REFERENCE_PX = 144 * 192
REFERENCE_CRF = 10


def describe(plan: BuildPlan, settings: Settings) -> Iterator[str]:
    """The plan, line by line."""
    rate_hz = settings.source.rate_hz
    yield from _campaign_table(plan, rate_hz)
    yield ""
    for split in plan.splits:
        frames = plan.frames(split)
        yield f"{split.name:<24} {len(split.episodes):>4} episodes {frames:>9,} frames {frames / rate_hz:>9,.1f} s"
    yield ""
    yield from _val_lines(plan, settings)
    yield from (f"ignored: {name} holds a run.json under a name no run has" for name in plan.ignored)
    yield from (f"warning: {warning}" for warning in plan.warnings)
    yield from (f"left out: {name}" for name in plan.left_out)
    if settings.output.exists():
        yield f"replaces what is at {settings.output}"
    estimate, free = estimated_bytes(plan, settings), free_bytes(settings.output)
    yield f"estimated size {estimate / MB:,.0f} MB, free disk {free / MB:,.0f} MB at {settings.output}"


def _campaign_table(plan: BuildPlan, rate_hz: int) -> Iterator[str]:
    width = max(len("campaign"), *(len(name) for name in plan.campaigns))
    yield f"{'campaign':<{width}}  {'split':<24} {'runs':>5} {'frames':>9} {'seconds':>9}"
    for name, split in plan.campaigns.items():
        frames = [episode.frames for key, episode in plan.episodes.items() if key.campaign == name]
        target = "excluded" if split is None else "no runs" if not frames else _destination(plan, name)
        counts = f"{len(frames):>5} {sum(frames):>9,} {sum(frames) / rate_hz:>9,.1f}" if frames else ""
        yield f"{name:<{width}}  {target:<24} {counts}".rstrip()


def _destination(plan: BuildPlan, campaign: str) -> str:
    """Where a campaign's runs go: one split, or `train 3, val 1`."""
    counts = {split.name: sum(key.campaign == campaign for key in split.episodes) for split in plan.splits}
    if plan.campaigns[campaign] != POOL:
        return str(plan.campaigns[campaign])
    return ", ".join(f"{name} {count}" for name, count in counts.items() if count)


def _val_lines(plan: BuildPlan, settings: Settings) -> Iterator[str]:
    train, val = plan.splits[0], plan.splits[1]
    share = plan.frames(val) / (plan.frames(train) + plan.frames(val))
    rule = settings.rule
    wanted = f"the longest, at least val_floor={rule.val_floor} episodes, aiming at val_frac={rule.val_frac:.1%}"
    how = "frozen" if rule.val_runs else wanted
    yield f"val: {share:.1%} of the pool's frames ({how}):"
    yield from (f"  {key}  {plan.episodes[key].frames:,} frames" for key in val.episodes)


def estimated_bytes(plan: BuildPlan, settings: Settings) -> int:
    """About how large the dataset will be."""
    encoding = settings.encoding
    pixels = encoding.height_px * encoding.width_px / REFERENCE_PX
    quality = 2.0 ** ((REFERENCE_CRF - encoding.crf) / 6)  # x264 halves its bits every 6 steps of crf
    pictures = sum(episode.frames for episode in plan.episodes.values()) * len(settings.source.cameras)
    return int(pictures * PICTURE_BYTES * COPIES * pixels * quality)


def free_bytes(output: Path) -> int:
    """Free disk where the output will lie."""
    existing = output.absolute()
    while not existing.exists():
        existing = existing.parent
    return shutil.disk_usage(existing).free
