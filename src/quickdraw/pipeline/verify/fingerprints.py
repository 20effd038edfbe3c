"""Every encoded picture and vector against its fingerprint, every picture against the episode's own clip.

What is shifted, swapped, frozen or reordered shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from quickdraw.core.grid import Int64
from quickdraw.errors import VideoError
from quickdraw.formats.lerobot.fingerprints import (
    FINGERPRINTS_PATH,
    Fingerprints,
    check_index,
    open_fingerprints,
    vector_crcs,
)
from quickdraw.pipeline.verify.dataset_view import DatasetView
from quickdraw.pipeline.verify.demuxing import Compared, Demuxed, crcs_of_rows
from quickdraw.pipeline.verify.ledger import Ledger
from quickdraw.pipeline.verify.metadata import Entry
from quickdraw.pipeline.verify.rows import Wrong
from quickdraw.pipeline.verify.split_view import DataPart, SplitView, VideoPart, camera_name
from quickdraw.pipeline.verify.sweep import SHIFTS

FINGERPRINTS, MEDIA = "fingerprints", "media"
NEAREST_FIRST = sorted((shift for shift in SHIFTS if shift), key=abs)


def check_fingerprints(dataset: DatasetView, split: SplitView, ledger: Ledger) -> None:
    """The file of a split's fingerprints: whole, in order, of these rows."""
    path = _path(dataset, split)
    if not path.exists():
        _miss(dataset, split, path, ledger)
        return
    with ledger.checking(FINGERPRINTS, split.name):
        file = open_fingerprints(path)
        check_index(file)
        cameras = [camera_name(key) for key in split.info.cameras]
        strange = set(file.columns) - {*cameras, *split.info.vectors}
        if strange or not set(cameras) <= set(file.columns) or (file.columns and file.rows != split.rows):
            found = ", ".join(f"{name} {file.rows}" for name in file.columns)
            expected = f"{', '.join(cameras)} and vectors, {split.rows} rows each"
            ledger.fault(FINGERPRINTS, split.name, found=found, expected=expected, path=path)


def _path(dataset: DatasetView, split: SplitView) -> Path:
    return dataset.root / FINGERPRINTS_PATH.format(split=split.name)


def _known(dataset: DatasetView, split: SplitView, column: str) -> Fingerprints | None:
    """The file, where it has the column; what is wrong with it is a finding of `check_fingerprints`."""
    path = _path(dataset, split)
    if not path.exists():
        return None
    file = open_fingerprints(path)
    return file if column in file.columns and file.rows == split.rows else None


def _miss(dataset: DatasetView, split: SplitView, path: Path, ledger: Ledger) -> None:
    """There is no file of fingerprints: a finding where the builder wrote one."""
    if dataset.ours is not None and dataset.ours.fingerprinted:
        ledger.fault(FINGERPRINTS, split.name, found="nothing there", expected="a file of every build", path=path)
    else:
        ledger.skip(FINGERPRINTS, split.name, f"no {FINGERPRINTS_PATH.format(split=split.name)}")


def check_vectors(dataset: DatasetView, split: SplitView, part: DataPart, ledger: Ledger) -> None:
    """CRC of every vector of a data file, row by row, as written at build."""
    for feature in split.info.vectors:
        with ledger.checking(FINGERPRINTS, split.name):
            if (known := _known(dataset, split, feature)) is not None:
                _check_vectors(split, part, feature, known, ledger=ledger)


def _check_vectors(split: SplitView, part: DataPart, feature: str, known: Fingerprints, *, ledger: Ledger) -> None:
    wrong, begun = Wrong(), part.first
    for rows in part.whole(feature):
        found = vector_crcs(rows)
        ledger.saw(FINGERPRINTS, len(found))
        differ = np.flatnonzero(found != known.crcs(feature, begun, len(rows)))
        if (at := wrong.add(begun, differ)) is not None:
            wrong.found = _owner(split, known, feature, found[at])
        begun += len(rows)
    for told, _ in wrong.told(split):
        expected = "the one whose fingerprint the row has"
        ledger.fault(FINGERPRINTS, split.name, found=told, expected=expected, path=split.root / "data")


def _owner(split: SplitView, known: Fingerprints, feature: str, crc: np.uint32) -> str:
    """Another vector than the row's own: whose it is, if any row's."""
    begun = 0
    for crcs in known.pieces(feature):
        if (at := np.flatnonzero(crcs == crc)).size:
            return f"another {feature} that of {split.place(begun + int(at[0]))}"
        begun += len(crcs)
    return f"another {feature}"


def check_pictures(
    dataset: DatasetView, split: SplitView, part: VideoPart, demuxed: Demuxed, *, ledger: Ledger
) -> None:
    """CRC of every picture of a video file, row by row, as written at build."""
    with ledger.checking(FINGERPRINTS, split.name):
        if (file := _known(dataset, split, part.camera)) is None:
            return
        shown = crcs_of_rows(demuxed.packets(), part.pictures)
        rows = np.concatenate([entry.first + np.arange(entry.length) for entry in part.entries])
        cameras = [camera_name(key) for key in split.info.cameras]
        ledger.saw(FINGERPRINTS, len(rows))
        expected = _of_rows(file, part.camera, rows)
        wrong = np.flatnonzero(shown != expected)
        if wrong.size:
            others = {n: _of_rows(file, n, rows) for n in cameras if n in file.columns and n != part.camera}
            found = f"{part.camera}, {split.places(rows[wrong])}: another picture{whose(shown, expected, others)}"
            right = "the one whose fingerprint the row has"
            ledger.fault(FINGERPRINTS, split.name, found=found, expected=right, path=part.path)


def _of_rows(file: Fingerprints, camera: str, rows: Int64) -> Int64:
    """The fingerprints of a camera in some rows, `(N,)`, most likely a stretch of them."""
    first = int(rows.min())
    crcs = file.crcs(camera, first, int(rows.max()) + 1 - first)
    return crcs.astype(np.int64)[rows - first]


def whose(shown: Int64, expected: Int64, others: Mapping[str, Int64]) -> str:
    """Where the pictures of a file do belong, if most of those that differ fit one explanation."""
    for other, crcs in others.items():
        if np.mean(shown == crcs) > 0.5:
            return f": {other}'s"
    differ = shown != expected
    for shift in NEAREST_FIRST:
        moved = np.roll(expected, shift)
        if np.mean(shown[differ] == moved[differ]) > 0.5:
            return f": that of {abs(shift)} row{'s' * (abs(shift) > 1)} {'before' if shift > 0 else 'after'}"
    return ""


def check_media(split: SplitView, part: VideoPart, demuxed: Demuxed, *, ledger: Ledger) -> None:
    """Each episode's clip holds, packet by packet, what a video file shows of it."""
    if not demuxed.clips:
        ledger.skip(MEDIA, split.name, "no media/")
        return
    with ledger.checking(MEDIA, split.name):
        demuxed.packets()
    for entry, clip in zip(part.entries, demuxed.clips, strict=True):
        with ledger.checking(MEDIA, split.name):
            _check_clip(split, part, entry, clip, ledger)


def _check_clip(split: SplitView, part: VideoPart, entry: Entry, clip: Compared | VideoError, ledger: Ledger) -> None:
    if isinstance(clip, VideoError):
        raise clip
    ledger.saw(MEDIA, clip.pictures)
    place = f"{part.camera}, episode {entry.number}"
    if clip.pictures != entry.length:
        found, expected = f"{place}: {clip.pictures} pictures", f"{entry.length}, one per row"
        ledger.fault(MEDIA, split.name, found=found, expected=expected, path=clip.path)
    elif clip.wrong:
        found = f"{place}: picture {clip.first}, and {clip.wrong - 1} more, unlike the split's"
        ledger.fault(MEDIA, split.name, found=found, expected="the same encoded pictures", path=clip.path)
