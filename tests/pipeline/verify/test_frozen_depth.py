"""A depth camera that shows one picture is told from one that has none yet, is slow, or sees nothing that moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from quickdraw.pipeline.executors.inline import Inline
from quickdraw.pipeline.progress import PlainProgress
from quickdraw.pipeline.verify.dataset_view import DatasetView
from quickdraw.pipeline.verify.depth_pictures import ShownDepth
from quickdraw.pipeline.verify.frozen_depth import check_frozen_depth
from quickdraw.pipeline.verify.ledger import Ledger
from quickdraw.pipeline.verify.pictures import SplitPictures, decode_all

KEY = "observation.images.front_depth"
REASON = "front_depth: nothing shows that its pictures change where nothing moves"

type Crcs = npt.NDArray[np.uint32]
type Change = Callable[[ShownDepth], ShownDepth]


@pytest.fixture(scope="module")
def seen(built: Path) -> tuple[DatasetView, dict[str, SplitPictures]]:
    """The painted dataset, decoded: for 40 rows of each episode all moves, and then nothing does."""
    view = DatasetView(built)
    shown, _ = decode_all(view.splits, Ledger(built), Inline(), PlainProgress(), pick=False)
    return view, shown


def found(seen: tuple[DatasetView, dict[str, SplitPictures]], change: Change) -> tuple[list[str], list[str]]:
    """Findings and reasons of what was passed over, where one camera shows other pictures in every episode."""
    view, shown = seen
    changed = {
        name: SplitPictures(
            {number: {**of, KEY: change(split.depth(number)[KEY])} for number, of in split.shown.items()}
        )
        for name, split in shown.items()
    }
    ledger = Ledger(view.root)
    check_frozen_depth(view.splits, changed, ledger)
    return [str(fault) for fault in ledger.faults], [skipped.reason for skipped in ledger.skipped]


def blank(depth: ShownDepth, rows: slice) -> ShownDepth:
    crcs, empty = depth.crcs.copy(), depth.blank.copy()
    crcs[rows], empty[rows] = 7, True
    return replace(depth, crcs=crcs, blank=empty)


def same(depth: ShownDepth, rows: slice) -> ShownDepth:
    crcs = depth.crcs.copy()
    crcs[rows] = crcs[rows][0]
    return replace(depth, crcs=crcs)


def at_rate(depth: ShownDepth, rows: int) -> ShownDepth:
    """A camera that has another picture only every so many rows."""
    return replace(depth, crcs=depth.crcs[np.arange(len(depth.crcs)) // rows * rows])


def test_one_picture_for_a_second_while_all_moves_is_found_in_every_episode(
    seen: tuple[DatasetView, dict[str, SplitPictures]],
) -> None:
    findings, skipped = found(seen, lambda depth: same(depth, slice(4, 37)))
    assert len(findings) == 4
    assert all("front_depth, row" in line and "one picture for 3" in line for line in findings)
    assert skipped == []


def test_the_first_rows_may_be_all_0_for_longer_than_a_second(
    seen: tuple[DatasetView, dict[str, SplitPictures]],
) -> None:
    assert found(seen, lambda depth: blank(depth, slice(0, 39))) == ([], [])


@pytest.mark.parametrize("rows", [2, 6, 15])
def test_a_camera_slower_than_the_rows_is_not_accused(
    rows: int, seen: tuple[DatasetView, dict[str, SplitPictures]]
) -> None:
    assert found(seen, lambda depth: at_rate(depth, rows)) == ([], [])


@pytest.mark.parametrize("rows", [31, 45])
def test_of_a_camera_with_less_than_a_picture_a_second_nothing_can_be_told(
    rows: int, seen: tuple[DatasetView, dict[str, SplitPictures]]
) -> None:
    findings, skipped = found(seen, lambda depth: at_rate(depth, rows))
    assert findings == []
    assert set(skipped) == {REASON}


def test_of_a_camera_without_noise_nothing_can_be_told(seen: tuple[DatasetView, dict[str, SplitPictures]]) -> None:
    """It shows one picture where nothing moves; that it does so elsewhere may be because it looks there."""
    findings, skipped = found(seen, lambda depth: same(same(depth, slice(4, 37)), slice(41, None)))
    assert findings == []
    assert set(skipped) == {REASON}
