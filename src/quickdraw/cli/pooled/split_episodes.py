"""`quickdraw pooled split-episodes`: part legacy shards into one file an episode."""

from __future__ import annotations

from quickdraw.cli.pooled.answers import Apply, AsJson, TaskFolder, answering, print_document, say, told
from quickdraw.pipeline.amounts import counted


def split_episodes(task: TaskFolder, *, apply: Apply = False, as_json: AsJson = False) -> None:
    """Part the many-row files of v1.1.0 in meta/episodes. An episode's own file is never touched.

    Exit code 0 when done or nothing is to be done, 2 where a row would be lost, the folder is no pooled task, or is
    being recorded to.
    """
    from quickdraw.formats.pooled import split_episodes as splitting
    from quickdraw.formats.pooled.info import recognise

    with answering(as_json=as_json):
        planned = splitting.plan(recognise(task).layout)
        if apply and planned.changes:
            planned = splitting.apply(planned)
    shards = [
        {"shard": str(shard.path), "pieces": sorted(shard.pieces), "kept": sorted(shard.kept)}
        for shard in planned.shards
    ]
    if as_json:
        changes = {"changes": planned.changes, "applied": apply, "template": planned.template}
        print_document({"task": str(task), **changes, "shards": shards})
        return
    for shard in planned.shards:
        kept = f"; {len(shard.kept)} have a file of their own, which stays" if shard.kept else ""
        say(f"{shard.path}: {len(shard.pieces)} rows get a file each{kept}")
    if planned.template:
        say("info.json: episodes_path names one file an episode")
    parted = counted(len(shards), "shard")
    if planned.changes:
        say(told(apply, f"{parted} parted", f"{parted} would be parted"))
    else:
        say("nothing to part")
