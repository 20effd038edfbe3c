"""The end of a recording: every file it changes is made ready under a hidden name, then all are published as one.

The row goes first, for it has the scales without which a reader in between would take matrices for a hundred times too
strong. In between it would take those of an older recording by the new scale, which is why ours waits for the data then
(`reader`). The rest is in the contract's order: videos, data, info, stats, task text, and last the marker of an abort
(contract 7.5).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quickdraw.formats.durable import aside, sync
from quickdraw.formats.pooled import info_merge, journal, rows, stats, stats_rescan, tasks
from quickdraw.formats.pooled.documents import remove_empty
from quickdraw.formats.pooled.force_matrix import spec_entry
from quickdraw.formats.pooled.layout import Layout
from quickdraw.formats.pooled.recording.notes import changes, losses
from quickdraw.formats.pooled.recording.take import Take
from quickdraw.formats.pooled.recording.task_document import Described, document, features, video_codec
from quickdraw.formats.pooled.scan import scan


@dataclass(frozen=True, slots=True)
class Finished:
    """What `journal.commit` publishes, the episode's row, and what there is to tell the user."""

    row: rows.EpisodeRow
    renames: tuple[tuple[Path, Path], ...]
    removals: tuple[Path, ...]
    notes: tuple[str, ...]


def prepare(take: Take, layout: Layout, told: Described, *, before: Mapping[str, Any] | None) -> Finished:
    """Write everything but videos and data, which lie ready, to hidden files. May be called again.

    `before` is info.json as it stands, None where the task is new. Where the episode replaces another's data, the
    statistics are made anew from all data but those: they can be added, not taken away. Raises OSError where the disk
    does, Refused where a document cannot be written as JSON.
    """
    row = _row(take, told)
    old, data = scan(layout), layout.data(take.number)
    wanted = document(
        told, layout, number=take.number, total=len({*old, take.number}), began_s=take.started_s,
        slots=take.cameras.recorded, features=features(take.seen, take.specs),
    )  # fmt: skip
    info = info_merge.merged(before, wanted)
    info.setdefault("calibration", {})
    blocks, notes = _statistics(take, layout, replaced=data)
    notes = [*_notes(take, told, row, before or {}), *notes]
    documents = {
        layout.row(take.number): rows.row_bytes(row),
        layout.info: info_merge.document_bytes(info),
        layout.stats: stats.stats_bytes(blocks),
        **({} if layout.tasks.exists() else {layout.tasks: tasks.task_line(told.task_name)}),
    }
    for path, content in documents.items():
        journal.prepare(path, content)
    places = [layout.row(take.number), *take.cameras.files.values(), data, *list(documents)[1:]]
    files = old.get(take.number)
    beside = [] if files is None else [*files.auxiliary, *files.others]
    others = [] if files is None else [*(path for each in files.videos.values() for path in each), *beside]
    for folder in {folder for place in places for folder in place.parents if folder.is_relative_to(layout.root)}:
        sync(folder)  # of new ones, their names too
    gone = [path for path in others if path not in places]
    marker = [layout.recycled] if layout.recycled.exists() else []
    return Finished(row, tuple((aside(place), place) for place in places), (*gone, *marker), tuple(notes))


def undo(take: Take, layout: Layout) -> None:
    """Remove what an aborted episode left, folders too that hold nothing any more."""
    take.discard()
    row = layout.row(take.number)
    rewritten = (layout.info, layout.stats, layout.tasks, layout.old_row(take.number), layout.shard(take.number))
    for path in (row, *rewritten):
        aside(path).unlink(missing_ok=True)
    for folder in {row.parent, layout.data(take.number).parent, *(path.parent for path in take.cameras.files.values())}:
        remove_empty(folder, layout)


def _row(take: Take, told: Described) -> rows.EpisodeRow:
    return rows.EpisodeRow(
        number=take.number,
        end_frame_index=take.rows - 1,
        length=take.rows,
        created_at=take.started_s,
        duration_s=take.rows / max(told.fps, 1.0),
        drop_stats=take.drop_stats,
        video_codec=video_codec(take.cameras.recorded, told.depth_mode),
        calibration=told.calibration or {},
        force_matrix_specs={name: spec_entry(spec) for name, spec in take.specs.items()},
    )


def _notes(take: Take, told: Described, row: rows.EpisodeRow, before: Mapping[str, Any]) -> Iterator[str]:
    yield from losses(row.drop_stats, take.specs, imu_kept=take.imu_kept)
    yield from changes(told, take.cameras.recorded, before)


def _statistics(take: Take, layout: Layout, *, replaced: Path) -> tuple[stats.Stats, list[str]]:
    """The blocks as they will be; `replaced` is the data file the episode may have had."""
    notes: list[str] = []
    others = before = stats.read_stats(layout)
    if others is None or replaced.exists():
        others, notes = stats_rescan.rescan(layout, exclude=take.number)
        notes += _rolled_back(layout, before or {}, others, replaced)
    blocks, warnings = stats.merged(others, take.statistics.blocks(take.rows))
    return blocks, [*notes, *warnings]


def _rolled_back(layout: Layout, before: stats.Stats, others: stats.Stats, replaced: Path) -> Iterator[str]:
    """What stats.json had of episodes whose data is gone, and will have no longer."""
    own = stats_rescan.of_file(replaced, stats.Counting.in_task(layout))[0] if before else {}
    for name, block in before.items():
        lost = block.count - sum(each[name].count for each in (others, own) if name in each)
        if lost > 0:
            yield f"stats.json: made anew, {name} no longer counts {lost} samples of episodes whose data is gone"
