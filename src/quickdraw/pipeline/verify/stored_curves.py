"""The shift curves that a build measured of itself, as they are stored: read, and checked as far as they tell."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from quickdraw.errors import Refused
from quickdraw.pipeline.places import SHIFT_CURVES
from quickdraw.pipeline.verify.alignment import verdict_of
from quickdraw.pipeline.verify.dataset_view import WRITTEN, DatasetView
from quickdraw.pipeline.verify.json_reading import read_typed
from quickdraw.pipeline.verify.ledger import Ledger
from quickdraw.pipeline.verify.report import ALIGNED, Curve
from quickdraw.pipeline.verify.shift_curves import COPIED, DEPTH, SHORT, UNREADABLE, SampledCurve, ShiftCurves
from quickdraw.pipeline.verify.source_packets import is_copied
from quickdraw.pipeline.verify.split_view import SplitView, camera_name
from quickdraw.pipeline.verify.sweep import SHIFTS

CURVES = "shift curves"


def read_shift_curves(dataset: Path) -> ShiftCurves | None:
    """What a build measured; None where it measured nothing. Raises Refused where that is malformed."""
    path = dataset / SHIFT_CURVES
    return read_typed(path, ShiftCurves, WRITTEN) if path.exists() else None


def curves_of(dataset: Path) -> tuple[Curve, ...]:
    """The same as a verification tells curves; none where there are none to rely on."""
    try:
        found = read_shift_curves(dataset)
    except Refused:
        return ()
    if found is None:
        return ()
    return tuple(
        Curve(
            split=each.split,
            episode=each.episode,
            camera=each.camera,
            shifts=found.shifts,
            mean_square=each.mean_square,
            others=each.others,
            rows=each.rows,
            verdict=each.verdict,
        )
        for each in found.curves
        if len(each.mean_square) == len(found.shifts)
    )


def check_shift_curves(dataset: DatasetView, ledger: Ledger) -> None:
    """Each curve is of rows and cameras that are there, its verdict what its values say; a camera has one, or a reason.

    What they say of the dataset is no finding: the pictures are gone that it was measured by. It is told, though.
    """
    path = dataset.root / SHIFT_CURVES
    with ledger.checking(CURVES, SHIFT_CURVES):
        found = read_shift_curves(dataset.root)
        if found is None:
            ledger.skip(CURVES, SHIFT_CURVES, f"no {SHIFT_CURVES}")
            return
        if found.shifts != tuple(SHIFTS):
            expected = f"{SHIFTS[0]} .. {SHIFTS[-1]}"
            ledger.fault(CURVES, SHIFT_CURVES, found=f"shifts {list(found.shifts)}", expected=expected, path=path)
            return
        for split_name, wrong, expected in (*_untold(dataset, found), *_left_out_wrongly(dataset, found)):
            ledger.fault(CURVES, split_name, found=wrong, expected=expected, path=path)
        for curve in found.curves:
            ledger.saw(CURVES)
            where = f"episode {curve.episode}, {curve.camera}"
            for wrong, expected in _wrong(dataset.splits.get(curve.split), curve):
                ledger.fault(CURVES, curve.split, found=f"{where}: {wrong}", expected=expected, path=path)
            if curve.verdict != ALIGNED:
                ledger.skip(CURVES, curve.split, f"{where}: {curve.verdict} when it was built")


def _untold(dataset: DatasetView, found: ShiftCurves) -> Iterator[tuple[str, str, str]]:
    """Split, what is wrong of a camera and what would be right: of each that is not told once."""
    told = Counter((curve.split, curve.camera) for curve in found.curves)
    told.update((left.split, left.camera) for left in found.left_out)
    for name, split in dataset.splits.items():
        for camera in map(camera_name, split.info.cameras):
            if told[name, camera] != 1:
                times = "twice" if told[name, camera] else "nothing"
                yield name, f"{times} of {camera}", "a curve, or why none"


def _left_out_wrongly(dataset: DatasetView, found: ShiftCurves) -> Iterator[tuple[str, str, str]]:
    """The same of cameras that are not there, or left out for a reason that does not hold of them."""
    for left in found.left_out:
        split = dataset.splits.get(left.split)
        if split is None:
            yield left.split, "no such split", "one of the dataset"
            continue
        cameras = [camera_name(key) for key in split.info.cameras]
        if left.camera not in cameras:
            yield left.split, f"cameras {left.camera}", f"of {', '.join(cameras)}"
        elif left.reason not in (fitting := _reasons(dataset, split, left.camera)):
            yield left.split, f"{left.camera} left out: {left.reason}", f"a curve, or: {'; '.join(fitting)}"


def _reasons(dataset: DatasetView, split: SplitView, camera: str) -> list[str]:
    """Why a camera may have no curve. That its raw file cannot be read, none can tell without it."""
    if split.info.is_depth(camera):
        return [DEPTH]
    if is_copied(dataset, split, camera):
        return [COPIED]
    longest = max(entry.length for entry in split.entries)
    return [UNREADABLE] if longest > SHIFTS[-1] - SHIFTS[0] else [SHORT]


def _wrong(split: SplitView | None, curve: SampledCurve) -> Iterator[tuple[str, str]]:
    """What is wrong with a curve, and what would be right."""
    if split is None:
        yield "no such split", "one of the dataset"
        return
    entry, cameras = split.entry(curve.episode), [camera_name(key) for key in split.info.cameras]
    if entry is None:
        yield "no such episode", "one of its split"
    elif not -SHIFTS[0] <= curve.first_row < curve.first_row + curve.rows <= entry.length - SHIFTS[-1]:
        yield f"rows {curve.first_row} to {curve.first_row + curve.rows}", f"inside its {entry.length} rows"
    strange = {curve.camera, *curve.others} - set(cameras)
    if strange:
        yield f"cameras {', '.join(sorted(strange))}", f"of {', '.join(cameras)}"
    values = (*curve.mean_square, *curve.others.values())
    if len(curve.mean_square) != len(SHIFTS) or not all(math.isfinite(value) and value >= 0 for value in values):
        yield "values that are no mean squares", f"{len(SHIFTS)} numbers, none below 0"
    elif curve.verdict != (verdict := verdict_of(np.array(curve.mean_square))):
        yield f"verdict {curve.verdict}", f"{verdict}, by its values"
