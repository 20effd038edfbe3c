"""Is a dataset what it says it is? All checks, each on its own, from whole documents down to every picture."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from quickdraw.data.sources import source_of
from quickdraw.errors import Fault, Refused
from quickdraw.pipeline.executors import Executor
from quickdraw.pipeline.places import PROVENANCE
from quickdraw.pipeline.progress import Progress
from quickdraw.pipeline.verify.alignment import SWEEP, check_alignment
from quickdraw.pipeline.verify.cubes import check_cubes
from quickdraw.pipeline.verify.dataset_view import DatasetView
from quickdraw.pipeline.verify.demuxing import demux_split
from quickdraw.pipeline.verify.described import check_info, check_names, check_schema
from quickdraw.pipeline.verify.documents import check_provenance, check_rule, check_summary
from quickdraw.pipeline.verify.episodes import check_episodes, check_windows
from quickdraw.pipeline.verify.files import check_digests, check_files
from quickdraw.pipeline.verify.fingerprints import check_fingerprints, check_media
from quickdraw.pipeline.verify.foreign_statistics import check_foreign_episode_statistics, check_foreign_statistics
from quickdraw.pipeline.verify.frozen import check_frozen
from quickdraw.pipeline.verify.json_reading import DOCUMENTS
from quickdraw.pipeline.verify.ledger import Ledger
from quickdraw.pipeline.verify.picture_statistics import check_foreign_picture_statistics, check_picture_statistics
from quickdraw.pipeline.verify.pictures import SplitPictures, decode_all
from quickdraw.pipeline.verify.report import Curve, Report
from quickdraw.pipeline.verify.rows import check_rows
from quickdraw.pipeline.verify.source import SOURCE_FILES, SOURCE_ROWS, check_source
from quickdraw.pipeline.verify.split_view import SplitView
from quickdraw.pipeline.verify.tasks import check_tasks
from quickdraw.pipeline.verify.vector_statistics import check_constants, check_episode_statistics, check_statistics
from quickdraw.pipeline.verify.videos import check_videos


def verify(dataset: Path, executor: Executor, progress: Progress, source: Path | None = None) -> Report:
    """Check a dataset, against its raw tree too where `source` is given. Raises Refused where the folder is none."""
    started = time.monotonic()
    view, ledger = DatasetView(dataset), Ledger(dataset)
    readable = _check_structure(view, ledger, executor)
    check_digests(view, ledger, executor, progress)
    shown, pictures = decode_all(readable, ledger, executor, progress, pick=source is not None)
    _check_pictures(view, readable, shown, ledger)
    curves = () if source is None else _check_source(view, shown, source, ledger, executor, progress)
    return Report(
        dataset=str(dataset),
        checks=dict(ledger.looked),
        findings=tuple(ledger.faults),
        skipped=tuple(ledger.skipped),
        curves=curves,
        files=sum(1 for path in dataset.rglob("*") if path.is_file()),
        rows=sum(split.rows for split in readable.values()),
        pictures=pictures,
        seconds=time.monotonic() - started,
    )


def verify_structure(dataset: Path, executor: Executor | None = None) -> list[Fault]:
    """Every check that decodes no picture, packets against fingerprints too, but for the digests a build just took.

    Video files are demuxed by the executor where there is one. Raises Refused where there is no split.
    """
    view, ledger = DatasetView(dataset), Ledger(dataset)
    _check_structure(view, ledger, executor)
    return list(ledger.faults)


def _check_structure(view: DatasetView, ledger: Ledger, executor: Executor | None) -> dict[str, SplitView]:
    """What needs no picture decoded; the splits whose metadata can be read, by which pictures are found."""
    splits = view.splits
    readable = {}
    for name, split in splits.items():
        check_files(split, ledger)
        check_info(split, ledger)
        if _is_readable(split):
            readable[name] = split
            _check_split(view, split, ledger)
            _check_packets(view, split, ledger, executor)
    _check_documents(view, ledger)
    return readable


def _is_readable(split: SplitView) -> bool:
    """Whether what all other checks go by can be read; why not is a finding of the first."""
    try:
        return bool(split.info and split.entries)
    except Refused:
        return False


def _check_split(view: DatasetView, split: SplitView, ledger: Ledger) -> None:
    ours = view.ours
    check_schema(split, ledger, exact=ours is not None)
    check_episodes(split, ledger)
    check_windows(split, ledger, exact=ours is not None)
    check_rows(split, ledger)
    check_tasks(split, [episode.campaign for episode in view.traced(split.name)], ledger)
    if ours is None:
        check_foreign_statistics(split, ledger)
        check_foreign_episode_statistics(split, ledger)
    else:
        check_names(split, ours.features, ledger)
        check_cubes(view, split, ours, ledger)
        check_statistics(view, split, ours, ledger)
        check_episode_statistics(split, ours, ledger)


def _check_packets(view: DatasetView, split: SplitView, ledger: Ledger, executor: Executor | None) -> None:
    demuxed = demux_split(view, split, executor)
    check_videos(split, demuxed, ledger, exact=view.ours is not None)
    check_fingerprints(view, split, demuxed, ledger)
    check_media(split, demuxed, ledger)


def _check_documents(view: DatasetView, ledger: Ledger) -> None:
    with ledger.checking(DOCUMENTS, PROVENANCE):
        ledger.saw(DOCUMENTS)
        provenance = view.provenance
        if provenance is None:
            ledger.skip("provenance, normalization, summary, split rule", view.root.name, f"no {PROVENANCE}")
            return
        check_provenance(view, provenance, ledger)
        check_rule(view, provenance, ledger)
        check_summary(view, ledger)
        check_constants(view, provenance, ledger)


def _check_pictures(
    view: DatasetView, readable: dict[str, SplitView], shown: dict[str, SplitPictures], ledger: Ledger
) -> None:
    if view.ours is not None:
        check_picture_statistics(view, shown, view.ours, ledger)
    for name, split in readable.items():
        if view.ours is None:
            check_foreign_picture_statistics(split, shown[name], ledger)
        check_frozen(split, shown[name], ledger)


def _check_source(
    view: DatasetView,
    shown: dict[str, SplitPictures],
    tree: Path,
    ledger: Ledger,
    executor: Executor,
    progress: Progress,
) -> tuple[Curve, ...]:
    if view.ours is None:
        ledger.skip(f"{SOURCE_ROWS}, {SWEEP}", view.root.name, f"no {PROVENANCE} says which run an episode is of")
        return ()
    try:
        source = source_of(view.ours.processor, view.ours.config, tree)
    except Refused as refused:
        for fault in refused.faults:
            ledger.add(replace(fault, field=SOURCE_FILES))
        return ()
    plans = check_source(view, source, ledger, executor, progress)
    return check_alignment(view, shown, source, plans, ledger=ledger, executor=executor, progress=progress)
