"""`quickdraw pooled repair-scale`: find out force-matrix scales that were never written down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quickdraw.cli.pooled.answers import (
    Apply,
    AsJson,
    TaskFolder,
    answering,
    named,
    place_document,
    print_document,
    say,
    telling,
    told,
)
from quickdraw.pipeline.amounts import counted

if TYPE_CHECKING:
    from quickdraw.formats.pooled.repair import Measured


def repair_scale(task: TaskFolder, *, apply: Apply = False, as_json: AsJson = False) -> None:
    """Measure each unscaled matrix column against the force column and write its spec into the episode's row.

    What the force does not settle stays as it is. Data files are not touched. Exit code 0 when done, 2 where the folder
    is no pooled task or is being recorded to.
    """
    from quickdraw.formats.pooled import repair
    from quickdraw.formats.pooled.info import recognise

    with answering(as_json=as_json):
        layout = recognise(task).layout
        with telling("measure", "rows") as tell:
            planned = repair.plan(layout, tell)
        changed = repair.apply(planned) if apply else ()
    if as_json:
        episodes = [
            place_document(layout, each.number) | {"columns": [_described(column) for column in each.columns]}
            for each in planned.episodes
        ]
        skipped = [{"path": str(path), "reason": reason} for path, reason in planned.skipped]
        outcome = {"applied": apply, "changed": [str(path) for path in changed]}
        print_document({"task": str(task), **outcome, "episodes": episodes, "skipped": skipped})
        return
    for episode in planned.episodes:
        for column in episode.columns:
            say(f"{named(layout, episode.number)}: {_words(column)}")
    for path, reason in planned.skipped:
        say(f"{path}: left alone: {reason}")
    decided = sum(len(each.decided) for each in planned.episodes)
    if not decided and not planned.undecided:
        say("every matrix column has its scale")
        return
    left, columns = f"{len(planned.undecided)} undecided", counted(decided, "column")
    say(told(apply or not decided, f"{columns} got a scale, {left}", f"{columns} would get a scale, {left}"))


def _words(column: Measured) -> str:
    ratio = "" if column.ratio is None else f" (median ratio {column.ratio:.4f} over {column.frames} frames)"
    verdict = f"{column.spec.name}, scale {column.spec.scale}" if column.spec else "undecided"
    return f"{column.column}: {verdict}: {column.reason}{ratio}"


def _described(column: Measured) -> dict[str, Any]:
    return {
        "column": column.column,
        "spec": column.spec.name if column.spec else None,
        "scale": column.spec.scale if column.spec else None,
        "reason": column.reason,
        "ratio": column.ratio,
        "deviation": column.deviation,
        "frames": column.frames,
    }
