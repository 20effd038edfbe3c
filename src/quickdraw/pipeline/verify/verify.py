"""Is a dataset what it says it is? All checks, each on its own, from whole documents down to every picture."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from quickdraw.data.processor import source_of
from quickdraw.errors import Fault, Refused
from quickdraw.pipeline.executors import Executor
from quickdraw.pipeline.inventory import files_of
from quickdraw.pipeline.places import PROVENANCE
from quickdraw.pipeline.progress import Progress
from quickdraw.pipeline.source import Source
from quickdraw.pipeline.verify.alignment import SWEEP, check_alignment
from quickdraw.pipeline.verify.dataset_view import DatasetView
from quickdraw.pipeline.verify.files import check_digests
from quickdraw.pipeline.verify.frozen import check_frozen
from quickdraw.pipeline.verify.frozen_depth import check_frozen_depth
from quickdraw.pipeline.verify.ledger import Ledger
from quickdraw.pipeline.verify.picture_statistics import check_foreign_picture_statistics, check_picture_statistics
from quickdraw.pipeline.verify.pictures import SplitPictures, decode_all
from quickdraw.pipeline.verify.report import Curve, Report
from quickdraw.pipeline.verify.settlement import SETTLED, check_settled
from quickdraw.pipeline.verify.shares import check_structure
from quickdraw.pipeline.verify.source import SOURCE_FILES, SOURCE_ROWS, check_source
from quickdraw.pipeline.verify.source_depth import SOURCE_DEPTH, check_source_depth
from quickdraw.pipeline.verify.source_packets import check_source_packets
from quickdraw.pipeline.verify.split_view import SplitView
from quickdraw.pipeline.verify.stored_curves import curves_of

SOURCE_OPTION = "--source"


def verify(dataset: Path, executor: Executor, progress: Progress, source: Path | None = None) -> Report:
    """Check a dataset, against its raw tree too where `source` is given. Raises Refused where either is none."""
    started = time.monotonic()
    view, ledger = DatasetView(dataset), Ledger(dataset)
    raw = None if source is None else _source_of(view, source, ledger)
    names, measured = check_structure(view, ledger, executor)
    readable = {name: split for name, split in view.splits.items() if name in names}
    for (name, column), statistics in measured.items():
        view.splits[name].know(column, statistics)
    check_digests(view, ledger, executor, progress)
    shown, pictures = decode_all(readable, ledger, executor, progress, pick=source is not None)
    _check_pictures(view, readable, shown, ledger)
    curves = () if raw is None else _check_source(view, shown, raw, ledger, executor, progress)
    return Report(
        dataset=str(dataset),
        checks=dict(ledger.looked),
        findings=tuple(ledger.faults),
        skipped=tuple(ledger.skipped),
        curves=curves,
        files=sum(1 for _ in files_of(dataset)),
        rows=sum(split.rows for split in readable.values()),
        pictures=pictures,
        seconds=time.monotonic() - started,
    )


def verify_structure(dataset: Path, executor: Executor | None = None) -> list[Fault]:
    """Every check that decodes no picture, packets against fingerprints too, but for the digests a build just took.

    The executor does the work where there is one. Raises Refused where there is no split.
    """
    view, ledger = DatasetView(dataset), Ledger(dataset)
    check_structure(view, ledger, executor)
    return list(ledger.faults)


def structure_report(dataset: Path, executor: Executor) -> Report:
    """What `verify_structure` checks, told in full, with the shift curves that the build measured of itself.

    It is the same wherever the dataset lies, whatever views of it lie in it, and however long it took. Raises Refused
    where there is no split.
    """
    view, ledger = DatasetView(dataset), Ledger(dataset)
    names, _ = check_structure(view, ledger, executor)
    return Report(
        dataset=dataset.resolve().name,
        checks=dict(ledger.looked),
        findings=tuple(ledger.faults),
        skipped=tuple(ledger.skipped),
        curves=curves_of(dataset),
        files=sum(1 for _ in files_of(dataset)),
        rows=sum(view.splits[name].rows for name in names),
        pictures=0,
        seconds=0.0,
    )


def _check_pictures(
    view: DatasetView, readable: dict[str, SplitView], shown: dict[str, SplitPictures], ledger: Ledger
) -> None:
    if view.ours is not None:
        check_picture_statistics(view, shown, view.ours, ledger)
    for name, split in readable.items():
        if view.ours is None:
            check_foreign_picture_statistics(split, shown[name], ledger)
        check_frozen(split, shown[name], ledger)
    check_frozen_depth(readable, shown, ledger)


def _source_of(view: DatasetView, tree: Path, ledger: Ledger) -> Source | None:
    """The source of a dataset, at `tree`; None where it cannot be told, which is reported.

    Raises Refused where the tree holds no campaign of the dataset: a slip, not a dataset that is wrong.
    """
    if view.ours is None:
        reason = f"no {PROVENANCE} says which run an episode is of"
        ledger.skip(f"{SOURCE_ROWS}, {SETTLED}, {SOURCE_DEPTH}, {SWEEP}", view.root.name, reason)
        return None
    campaigns = sorted({episode.campaign for name in view.splits for episode in view.traced(name)})
    expected = f"the tree it was built from, with {', '.join(campaigns)} in it"
    if not tree.is_dir():
        raise Refused([Fault(SOURCE_OPTION, "tree", "no such folder", expected, path=str(tree))])
    try:
        source: Source = source_of(view.ours.processor, view.ours.config, tree)
    except Refused as refused:
        for fault in refused.faults:
            ledger.add(replace(fault, field=SOURCE_FILES))
        return None
    if campaigns and not set(campaigns) & _names(source):
        found = f"none of the dataset's {source.words.group}s"
        raise Refused([Fault(SOURCE_OPTION, "tree", found, expected, path=str(tree))])
    return source


def _names(source: Source) -> set[str]:
    """The campaigns of a tree; none where it is no tree."""
    try:
        return set(source.campaigns())
    except Refused:
        return set()


def _check_source(
    view: DatasetView,
    shown: dict[str, SplitPictures],
    source: Source,
    ledger: Ledger,
    executor: Executor,
    progress: Progress,
) -> tuple[Curve, ...]:
    plans = check_source(view, source, ledger, executor, progress)
    check_settled(view, source, plans, ledger)
    check_source_depth(view, shown, source, plans, ledger=ledger, executor=executor, progress=progress)
    check_source_packets(view, source, plans, ledger=ledger, executor=executor, progress=progress)
    return check_alignment(view, shown, source, plans, ledger=ledger, executor=executor, progress=progress)
