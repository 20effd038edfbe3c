"""A verification in shares: each a file, a column or a split, which any process can check, and tells in its own ledger.

So neither the process that verifies nor those that help it hold more of a dataset than its metadata and one file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from pathlib import Path
from time import monotonic_ns

from quickdraw.core.passes import beside
from quickdraw.core.statistics import Statistics
from quickdraw.errors import Refused
from quickdraw.formats.lerobot import schema
from quickdraw.pipeline.executors import Executor
from quickdraw.pipeline.places import PROVENANCE
from quickdraw.pipeline.verify.cubes import check_cubes
from quickdraw.pipeline.verify.dataset_view import DatasetView
from quickdraw.pipeline.verify.demuxing import demux, demux_task
from quickdraw.pipeline.verify.described import check_info, check_names, check_schema
from quickdraw.pipeline.verify.documents import check_provenance, check_rule, check_summary
from quickdraw.pipeline.verify.episodes import check_episodes, check_windows
from quickdraw.pipeline.verify.files import check_files
from quickdraw.pipeline.verify.fingerprints import check_fingerprints, check_media, check_pictures, check_vectors
from quickdraw.pipeline.verify.foreign_statistics import check_foreign_episode_statistics, check_foreign_statistics
from quickdraw.pipeline.verify.json_reading import DOCUMENTS
from quickdraw.pipeline.verify.ledger import Ledger
from quickdraw.pipeline.verify.rows import check_rows
from quickdraw.pipeline.verify.split_view import SplitView
from quickdraw.pipeline.verify.stored_curves import check_shift_curves
from quickdraw.pipeline.verify.tasks import check_tasks
from quickdraw.pipeline.verify.vector_statistics import (
    STATISTICS,
    TRAIN,
    check_constants,
    check_episode_statistics,
    check_statistics,
)
from quickdraw.pipeline.verify.videos import check_video

type Measured = Mapping[tuple[str, str], Statistics]


class Kind(Enum):
    """What a share is of: a split's metadata, a data file, a video file, a column, a split's statistics, documents."""

    SPLIT, DATA, VIDEO, COLUMN, STATISTICS, DOCUMENTS = range(6)


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a verification; which one of its kind is told by `split`, `number` and `column`, as far as needed.

    `dims` are the dimensions of the column, None for all of them. `run` is the verification it belongs to; `measured`
    is what shares before it measured, by split and feature.
    """

    dataset: Path
    run: int
    kind: Kind
    split: str = ""
    number: int = 0
    column: str = ""
    dims: slice | None = None
    measured: Measured = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Contents:
    """What a readable split consists of: how many data files and video files, and what is to be measured of it.

    `columns` are names, each with those of its dimensions that are a share, None for all of them.
    """

    data: int
    videos: int
    columns: tuple[tuple[str, slice | None], ...]


@dataclass(frozen=True, slots=True)
class Looked:
    """What a share found: a ledger, and what is in a split that can be read, or the statistics of a column."""

    ledger: Ledger
    contents: Contents | None = None
    statistics: Statistics | None = None


def check_structure(view: DatasetView, ledger: Ledger, executor: Executor | None) -> tuple[set[str], Measured]:
    """All that needs no picture decoded. The splits whose metadata can be read, and what was measured of them."""
    root, run = view.root, monotonic_ns()
    splits = _looked([Share(root, run, Kind.SPLIT, name) for name in view.splits], executor)
    told = zip(view.splits, splits, strict=True)
    contents = {name: looked.contents for name, looked in told if looked.contents is not None}
    files = list[Share]()
    for name, held in contents.items():
        files += [Share(root, run, Kind.COLUMN, name, column=column, dims=dims) for column, dims in held.columns]
        files += [Share(root, run, Kind.DATA, name, number) for number in range(held.data)]
        files += [Share(root, run, Kind.VIDEO, name, number) for number in range(held.videos)]
    looked = _looked(files, executor)
    measured = _put_together(zip(files, looked, strict=True))
    last = [Share(root, run, Kind.STATISTICS, name, measured=measured) for name in contents]
    looked += _looked([*last, Share(root, run, Kind.DOCUMENTS, measured=measured)], executor)
    for found in [*splits, *looked]:
        ledger.take(found.ledger)
    return set(contents), measured


def _put_together(looked: Iterable[tuple[Share, Looked]]) -> Measured:
    """The statistics of columns all of whose shares could be read."""
    parts: dict[tuple[str, str], list[Statistics | None]] = {}
    for share, found in looked:
        if share.kind is Kind.COLUMN:
            parts.setdefault((share.split, share.column), []).append(found.statistics)
    return {column: beside([part for part in found if part]) for column, found in parts.items() if all(found)}


def _looked(shares: list[Share], executor: Executor | None) -> list[Looked]:
    """All shares looked at, in their order, whatever is finished first."""
    numbered = list(enumerate(shares))
    found = dict(executor.run(look_at, numbered) if executor else map(look_at, numbered))
    return [found[number] for number in range(len(shares))]


def look_at(numbered: tuple[int, Share]) -> tuple[int, Looked]:
    """Look at a share, in whatever process."""
    number, share = numbered
    view, ledger = _view(share.dataset, share.run), Ledger(share.dataset)
    for (split, column), known in share.measured.items():
        view.splits[split].know(column, known)
    contents: Contents | None = None
    statistics: Statistics | None = None
    match share.kind:
        case Kind.SPLIT:
            contents = _look_at_split(view, view.splits[share.split], ledger)
        case Kind.COLUMN:
            statistics = _measure(view.splits[share.split], share, ledger)
        case Kind.DATA:
            _look_at_data(view, view.splits[share.split], share.number, ledger)
        case Kind.VIDEO:
            _look_at_video(view, view.splits[share.split], share.number, ledger)
        case Kind.STATISTICS:
            _look_at_statistics(view, view.splits[share.split], ledger)
        case Kind.DOCUMENTS:
            _look_at_documents(view, ledger)
    return number, Looked(ledger, contents, statistics)


@lru_cache(maxsize=1)
def _view(dataset: Path, _run: int) -> DatasetView:
    """A dataset as one verification sees it: its metadata are read once a process."""
    return DatasetView(dataset)


def _look_at_split(view: DatasetView, split: SplitView, ledger: Ledger) -> Contents | None:
    """The metadata of a split; what there is to look at, where it can be read."""
    check_files(split, ledger)
    check_info(split, ledger)
    if not is_readable(split):
        return None
    ours = view.ours
    check_schema(split, ledger, exact=ours is not None)
    check_episodes(split, ledger)
    check_windows(split, ledger, exact=ours is not None)
    check_tasks(split, [episode.text for episode in view.traced(split.name)], ledger)
    if ours is not None:
        check_names(split, ours.features, ledger)
    check_fingerprints(view, split, ledger)
    own = ours is None or not ours.pins or split.name == TRAIN
    names = (*(split.info.vectors if own else ()), *schema.BOOKKEEPING)
    columns = tuple((name, dims) for name in names for dims in split.size(name).shares())
    return Contents(len(split.data), len(split.videos), columns)


def is_readable(split: SplitView) -> bool:
    """Whether what all other checks go by can be read; why not is a finding of the first."""
    try:
        return bool(split.info and split.entries)
    except Refused:
        return False


def _measure(split: SplitView, share: Share, ledger: Ledger) -> Statistics | None:
    """Statistics of a column; None where it cannot be read, which is a finding where it is needed."""
    found = None
    with Ledger(ledger.dataset).checking(STATISTICS, split.name):
        found = split.measure(share.column, share.dims)
    return found


def _look_at_data(view: DatasetView, split: SplitView, number: int, ledger: Ledger) -> None:
    part, ours = split.data[number], view.ours
    check_rows(split, part, ledger)
    if ours is None:
        check_foreign_episode_statistics(split, part, ledger)
    else:
        check_cubes(view, split, part, ours, ledger=ledger)
        check_episode_statistics(split, part, ours, ledger)
    check_vectors(view, split, part, ledger)


def _look_at_video(view: DatasetView, split: SplitView, number: int, ledger: Ledger) -> None:
    part = split.videos[number]
    demuxed = demux(demux_task(view, split, part))
    check_video(split, part, demuxed, ledger, exact=view.ours is not None)
    check_pictures(view, split, part, demuxed, ledger=ledger)
    check_media(split, part, demuxed, ledger=ledger)


def _look_at_statistics(view: DatasetView, split: SplitView, ledger: Ledger) -> None:
    if view.ours is None:
        check_foreign_statistics(split, ledger)
    else:
        check_statistics(view, split, view.ours, ledger)


def _look_at_documents(view: DatasetView, ledger: Ledger) -> None:
    with ledger.checking(DOCUMENTS, PROVENANCE):
        ledger.saw(DOCUMENTS)
        provenance = view.provenance
        if provenance is None:
            ledger.skip("provenance, normalization, summary, split rule", view.root.name, f"no {PROVENANCE}")
            return
        view.sources()  # refused where malformed
        check_provenance(view, provenance, ledger)
        check_rule(view, provenance, ledger)
        check_summary(view, ledger)
        check_constants(view, provenance, ledger)
        check_shift_curves(view, ledger)
