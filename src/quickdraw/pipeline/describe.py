"""The plan for people: what a dry run shows and every build begins with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from quickdraw.core.split import POOL
from quickdraw.errors import Words
from quickdraw.pipeline.amounts import plural, size
from quickdraw.pipeline.disk import estimated_bytes, free_bytes
from quickdraw.pipeline.grouping import told_once
from quickdraw.pipeline.plan import BuildPlan, faults_of
from quickdraw.pipeline.refusals import fault_lines
from quickdraw.pipeline.settings import Settings
from quickdraw.pipeline.tables import Table, cells_of

NAMED = 5  # episodes of val, folders and runs, before the others are only counted


def describe(plan: BuildPlan, settings: Settings, *, with_faults: bool = True) -> Iterator[str | Table]:
    """The plan, by lines and tables; `with_faults`: why runs are not built too."""
    rate_hz = settings.source.rate_hz
    yield _campaign_table(plan, settings.source.words, rate_hz)
    yield ""
    yield from split_lines(plan, rate_hz)
    yield ""
    yield from _val_lines(plan, settings)
    yield from _first(plan.ignored, "ignored: {} holds a run.json under a name no run has", "ignored: {} more of them")
    yield from warning_lines(plan)
    yield from _first(plan.left_out, "left out: {}", f"left out: {{}} {settings.source.words.many} more")
    yield from (f"not built: {line}" for line in fault_lines(faults_of(plan.rejected)) if with_faults)
    if settings.output.exists():
        yield f"the dataset at {settings.output} is replaced when this one is whole; what has not changed stays"
    estimate, free = estimated_bytes(plan, settings), free_bytes(settings.output)
    yield f"estimated size {size(estimate)}, free disk {size(free)} at {settings.output}"


def split_lines(plan: BuildPlan, rate_hz: int) -> Iterator[str]:
    """A line a split."""
    width = max((cells_of(split.name) for split in plan.splits), default=0)
    for split in plan.splits:
        frames, episodes = plan.frames(split), len(split.episodes)
        counts = f"{episodes:>5,} {plural('episode', episodes):<8} {frames:>9,} {plural('frame', frames):<6}"
        name = split.name + " " * (width - cells_of(split.name))
        yield f"{name} {counts} {frames / rate_hz:>9,.1f} s"


def warning_lines(plan: BuildPlan, said: Sequence[str] = ()) -> Iterator[str]:
    """A line a warning but those that are `said`; one that several episodes have is told once."""
    new = (warning for warning in plan.warnings if warning not in said)
    return (f"warning: {warning}" for warning in told_once(new, {str(key) for key in plan.episodes}))


def _first(names: Sequence[str], line: str, others: str) -> Iterator[str]:
    """A line each for the first few names, and one for how many more there are."""
    yield from (line.format(name) for name in names[:NAMED])
    if len(names) > NAMED:
        yield others.format(f"{len(names) - NAMED:,}")


def _campaign_table(plan: BuildPlan, words: Words, rate_hz: int) -> Table:
    frames, runs = Counter[str](), Counter[str]()
    for key, length in plan.lengths.items():
        frames[key.campaign] += length
        runs[key.campaign] += 1
    refused = {rejected.key.campaign for rejected in plan.rejected}
    shares = _shares(plan)
    rows = list[tuple[str, ...]]()
    for name, split in plan.campaigns.items():
        none = "all refused" if name in refused else f"no {words.many}"
        goes_to = "excluded" if split is None else shares.get(name, split) if runs[name] else none
        seconds = f"{frames[name] / rate_hz:,.1f}"
        rows.append((name, goes_to, *((f"{runs[name]:,}", f"{frames[name]:,}", seconds) if runs[name] else ())))
    headings = (words.group, "split", words.many, "frames", "seconds")
    return Table.of(headings, rows, headings[2:])


def _shares(plan: BuildPlan) -> dict[str, str]:
    """Pooled campaign -> where its runs go: `train 3, val 1`."""
    counts: dict[str, list[str]] = {}
    for split in plan.splits:
        for name, episodes in Counter(key.campaign for key in split.episodes).items():
            if plan.campaigns[name] == POOL:
                counts.setdefault(name, []).append(f"{split.name} {episodes:,}")
    return {name: ", ".join(each) for name, each in counts.items()}


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
    told = [f"{key}  {plan.lengths[key]:,} {plural('frame', plan.lengths[key])}" for key in val.episodes]
    yield from _first(told, "  {}", f"  and {{}} {settings.source.words.many} more")
