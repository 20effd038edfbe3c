"""`quickdraw pooled recalc-stats`: make stats.json anew from the data files."""

from __future__ import annotations

from quickdraw.cli.pooled.answers import Apply, AsJson, TaskFolder, answering, print_document, say, telling, told


def recalc_stats(task: TaskFolder, *, apply: Apply = False, as_json: AsJson = False) -> None:
    """Count gloves and IMU anew over all data files. What deleted episodes had added is gone from it then.

    Exit code 0 when done, 2 where the folder is no pooled task or is being recorded to.
    """
    from quickdraw.formats.pooled.info import recognise
    from quickdraw.formats.pooled.stats_rescan import rebuild

    with answering(as_json=as_json):
        layout = recognise(task).layout
        with telling("recalc", "episodes") as tell:
            blocks, notes, differs = rebuild(layout, apply=apply, tell=tell)
    if as_json:
        counts = {name: block.count for name, block in blocks.items()}
        print_document({"task": str(task), "changes": differs, "applied": apply, "counts": counts, "notes": notes})
        return
    for line in (*(f"{name}: {block.count:,}" for name, block in blocks.items()), *notes):
        say(line)
    say(f"stats.json: {told(apply, 'made anew', 'would be made anew') if differs else 'right as it is'}")
