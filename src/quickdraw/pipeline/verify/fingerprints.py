"""Every encoded picture and vector against its fingerprint, every picture against the episode's own clip.

What is shifted, swapped, frozen or reordered shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from quickdraw.core.grid import Int64
from quickdraw.errors import VideoError
from quickdraw.formats.lerobot.fingerprints import FINGERPRINTS_PATH, read_fingerprints, vector_crcs
from quickdraw.pipeline.verify.dataset_view import DatasetView
from quickdraw.pipeline.verify.demuxing import Compared, Demuxed, crcs_of_rows
from quickdraw.pipeline.verify.ledger import Ledger
from quickdraw.pipeline.verify.metadata import Entry
from quickdraw.pipeline.verify.split_view import SplitView, VideoPart, camera_name
from quickdraw.pipeline.verify.sweep import SHIFTS

FINGERPRINTS, MEDIA = "fingerprints", "media"
NEAREST_FIRST = sorted((shift for shift in SHIFTS if shift), key=abs)


def check_fingerprints(dataset: DatasetView, split: SplitView, demuxed: Mapping[Path, Demuxed], ledger: Ledger) -> None:
    """CRC of every picture and every vector, row by row, as written at build."""
    path = dataset.root / FINGERPRINTS_PATH.format(split=split.name)
    if not path.exists():
        _miss(dataset, split, path, ledger)
        return
    with ledger.checking(FINGERPRINTS, split.name):
        known = {name: crcs.astype(np.int64) for name, crcs in read_fingerprints(path).items()}
        cameras = [camera_name(key) for key in split.info.cameras]
        strange = set(known) - {*cameras, *split.info.vectors}
        if strange or not set(cameras) <= set(known) or any(len(crcs) != split.rows for crcs in known.values()):
            found = f"{', '.join(f'{name} {len(crcs)}' for name, crcs in known.items())}"
            expected = f"{', '.join(cameras)} and vectors, {split.rows} rows each"
            ledger.fault(FINGERPRINTS, split.name, found=found, expected=expected, path=path)
        for part in split.videos:
            if len(known.get(part.camera, ())) == split.rows:
                with ledger.checking(FINGERPRINTS, split.name):
                    shown = crcs_of_rows(demuxed[part.path].packets(), part.pictures)
                    _check_part(split, part, shown, {name: known[name] for name in cameras if name in known}, ledger)
        for feature in split.info.vectors:
            if len(known.get(feature, ())) == split.rows:
                with ledger.checking(FINGERPRINTS, split.name):
                    _check_vectors(split, feature, known[feature], ledger)


def _miss(dataset: DatasetView, split: SplitView, path: Path, ledger: Ledger) -> None:
    """There is no file of fingerprints: a finding where the builder wrote one."""
    if dataset.ours is not None and dataset.ours.fingerprinted:
        ledger.fault(FINGERPRINTS, split.name, found="nothing there", expected="a file of every build", path=path)
    else:
        ledger.skip(FINGERPRINTS, split.name, f"no {FINGERPRINTS_PATH.format(split=split.name)}")


def _check_vectors(split: SplitView, feature: str, known: Int64, ledger: Ledger) -> None:
    found = vector_crcs(split.column(feature)).astype(np.int64)
    ledger.saw(FINGERPRINTS, len(found))
    wrong = np.flatnonzero(found != known)
    if wrong.size:
        belongs = np.flatnonzero(known == found[wrong[0]])
        whose = f" that of {split.place(int(belongs[0]))}" if belongs.size else ""
        told = f"{split.places(wrong)}: another {feature}{whose}"
        expected = "the one whose fingerprint the row has"
        ledger.fault(FINGERPRINTS, split.name, found=told, expected=expected, path=split.root / "data")


def _check_part(split: SplitView, part: VideoPart, shown: Int64, known: Mapping[str, Int64], ledger: Ledger) -> None:
    rows = np.concatenate([entry.first + np.arange(entry.length) for entry in part.entries])
    ledger.saw(FINGERPRINTS, len(rows))
    wrong = np.flatnonzero(shown != known[part.camera][rows])
    if wrong.size:
        found = f"{part.camera}, {split.places(rows[wrong])}: another picture{_whose(shown, rows, known, part.camera)}"
        expected = "the one whose fingerprint the row has"
        ledger.fault(FINGERPRINTS, split.name, found=found, expected=expected, path=part.path)


def _whose(shown: Int64, rows: Int64, known: Mapping[str, Int64], camera: str) -> str:
    """Where the pictures of a file do belong, if most of those that differ fit one explanation."""
    for other in known:
        if other != camera and len(known[other]) > rows.max() and np.mean(shown == known[other][rows]) > 0.5:
            return f": {other}'s"
    expected = known[camera][rows]
    differ = shown != expected
    for shift in NEAREST_FIRST:
        moved = np.roll(expected, shift)
        if np.mean(shown[differ] == moved[differ]) > 0.5:
            return f": that of {abs(shift)} row{'s' * (abs(shift) > 1)} {'before' if shift > 0 else 'after'}"
    return ""


def check_media(split: SplitView, demuxed: Mapping[Path, Demuxed], ledger: Ledger) -> None:
    """Each episode's clip holds, packet by packet, what the split shows of it."""
    for part in split.videos:
        if not demuxed[part.path].clips:
            ledger.skip(MEDIA, split.name, "no media/")
            continue
        with ledger.checking(MEDIA, split.name):
            demuxed[part.path].packets()
        for entry, clip in zip(part.entries, demuxed[part.path].clips, strict=True):
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
