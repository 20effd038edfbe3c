"""Which rows are frames: folds, holes in frame_index, pieces, and what of a data file is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quickdraw.data.command_line.composing import default_config
from quickdraw.data.options import as_json
from quickdraw.data.pooled_episodes.frames import gap_faults, keep, read_keys, take
from quickdraw.data.pooled_episodes.options import PooledOptions
from quickdraw.errors import Refused
from quickdraw.formats.pooled.clock import ClockClass
from quickdraw.formats.pooled.data import DataFile

OPTIONS = msgspec.convert(as_json(default_config("pooled_episodes").source) | {"target_hz": 30}, PooledOptions)

START = 5_000_000_000_000


def stamps(frames: list[int], start: int = START) -> list[int]:
    return [start + each * 1_000_000_000 // 30 for each in frames]


def test_rows_of_one_frame_are_one_where_their_stamps_agree(key_file: Callable[..., Path]) -> None:
    keys = read_keys(DataFile(key_file([0, 0, 1, 1, 2, 2], hardware_ns=stamps([0, 0, 1, 1, 2, 2]))))
    kept = keep(keys, OPTIONS)
    assert (kept.rows.tolist(), kept.folding, kept.rows_per_frame, kept.gaps) == ([0, 2, 4], "agreed", 2, ())
    frames = take(keys, kept.rows, 0, 5, rate_hz=30)
    assert frames.picture.tolist() == [0, 1, 2]
    assert frames.frame_of_row.tolist() == [0, 0, 1, 1, 2, 2]
    assert frames.hardware_ns.tolist() == stamps([0, 1, 2])
    assert (frames.clock, frames.rate_hz, len(frames)) == (ClockClass.HW64, 30, 3)
    assert not frames.rows.flags.writeable


def test_a_slot_that_comes_after_another_is_folded_too(key_file: Callable[..., Path]) -> None:
    keys = read_keys(DataFile(key_file([0, 1, 2, 0, 1, 2], hardware_ns=stamps([0, 1, 2, 0, 1, 2]))))
    kept = keep(keys, OPTIONS)
    assert kept.rows.tolist() == [0, 1, 2]
    assert take(keys, kept.rows, 0, 3, rate_hz=30).frame_of_row.tolist() == [0, 1, 2, 0, 1, 2]


def test_rows_of_one_frame_with_other_stamps_are_refused(key_file: Callable[..., Path]) -> None:
    path = key_file([0, 0, 1, 1], hardware_ns=[START, START, START + 7, START + 9])
    with pytest.raises(Refused) as refusal:
        keep(read_keys(DataFile(path)), OPTIONS)
    assert str(refusal.value) == (
        f"episode-000.parquet: {path}: frame_index: found rows 2 and 3 of frame 1 with stamps of {START + 7} and"
        f" {START + 9} ns, expected rows of one frame with one timestamp and one hardware_ns;"
        " override: +source.fold=first"
    )


def test_rows_of_one_frame_with_another_timestamp_are_refused_by_it(key_file: Callable[..., Path]) -> None:
    with pytest.raises(Refused, match=r"found rows 0 and 1 of frame 0 with stamps of 0 and 0\.25 s, expected"):
        keep(read_keys(DataFile(key_file([0, 0, 1], timestamp=[0, 0.25, 0.5]))), OPTIONS)


def test_the_first_row_of_each_frame_is_taken_where_asked_for(key_file: Callable[..., Path]) -> None:
    hardware = [START, START + 4, START + 10, START + 14]
    keys = read_keys(DataFile(key_file([0, 0, 1, 1], hardware_ns=hardware)))
    kept = keep(keys, replace(OPTIONS, fold="first"))
    assert (kept.rows.tolist(), kept.folding) == ([0, 2], "first")
    frames = take(keys, kept.rows, 0, 3, rate_hz=30)
    assert frames.hardware_ns.tolist() == [START, START + 10]
    assert frames.frame_of_row.tolist() == [0, 0, 1, 1]


def test_a_hole_in_frame_index_is_kept_as_it_is(key_file: Callable[..., Path]) -> None:
    keys = read_keys(DataFile(key_file([0, 1, 4, 5])))
    kept = keep(keys, OPTIONS)
    assert kept.gaps == ()
    assert take(keys, kept.rows, 0, 4, rate_hz=30).picture.tolist() == [0, 1, 4, 5]


def test_frame_numbers_that_fall_are_refused(key_file: Callable[..., Path]) -> None:
    path = key_file([0, 2, 1])
    with pytest.raises(Refused) as refusal:
        keep(read_keys(DataFile(path)), OPTIONS)
    assert str(refusal.value) == (
        f"episode-000.parquet: {path}: frame_index: found 1 in row 2, after 2 in row 1,"
        " expected numbers that rise from frame to frame"
    )


def test_rows_before_and_after_a_piece_are_of_none_of_its_frames(key_file: Callable[..., Path]) -> None:
    keys = read_keys(DataFile(key_file([0, 0, 1, 1, 2, 2, 3, 3])))
    frames = take(keys, keep(keys, OPTIONS).rows, 2, 5, rate_hz=30)
    assert frames.rows.tolist() == [2, 4]
    assert frames.frame_of_row.tolist() == [-1, -1, 0, 0, 1, 1, -1, -1]


@pytest.mark.parametrize(
    ("frames", "columns", "told"),
    [
        ([], {}, "rows: found none, expected a row for each frame"),
        ([0, 1], {"wall_time": [1.0, float("nan")]}, "wall_time: found nan in row 1, expected seconds in every row"),
        ([0, 1], {"timestamp": [float("inf"), 0]}, "timestamp: found inf in row 0, expected seconds in every row"),
        ([-1, 0], {}, "frame_index: found -1 in row 0, expected 0 or more in every row"),
        ([0, 1], {"task_index": [0, 3]}, "task_index: found 0, 3, expected one task an episode"),
        ([0, 1], {"hardware_ns": [1, None]}, "hardware_ns: found 1 nulls, expected a sound column without nulls"),
    ],
)
def test_key_columns_that_tell_no_frame_are_refused(
    key_file: Callable[..., Path], frames: list[int], columns: dict[str, Any], told: str
) -> None:
    path = key_file(frames, **columns)
    with pytest.raises(Refused) as refusal:
        read_keys(DataFile(path))
    assert str(refusal.value) == f"episode-000.parquet: {path}: {told}"


def test_all_that_is_wrong_with_key_columns_is_told_at_once(key_file: Callable[..., Path]) -> None:
    nan = float("nan")
    with pytest.raises(Refused) as refusal:
        read_keys(DataFile(key_file([0, -2], wall_time=[nan, 1], timestamp=[0, nan], task_index=[1, 2])))
    assert [fault.field for fault in refusal.value.faults] == ["timestamp", "wall_time", "frame_index", "task_index"]


def test_stamps_that_only_rows_have_which_a_fold_drops_tell_no_gap(key_file: Callable[..., Path]) -> None:
    """The wall does, then."""
    columns = {"hardware_ns": [0, START, 0, START + 33_333_333], "wall_time": [1.0, 1.0, 3.0, 3.0]}
    kept = keep(read_keys(DataFile(key_file([0, 0, 1, 1], **columns))), replace(OPTIONS, fold="first"))
    assert (kept.rows.tolist(), kept.frame.tolist(), kept.steps_s.tolist()) == ([0, 2], [0, 1], [2.0])
    assert [(gap.before, gap.length_s, gap.clock) for gap in kept.gaps] == [(0, 2.0, "wall_time")]


def test_a_gap_names_its_rows_and_the_option(key_file: Callable[..., Path]) -> None:
    hardware = [stamp + (at >= 2) * 600_000_000 for at, stamp in enumerate(stamps([0, 1, 2, 3]))]
    path = key_file([0, 1, 2, 3], hardware_ns=hardware)
    keys = read_keys(DataFile(path))
    (fault,) = gap_faults(keys, keep(keys, OPTIONS), 0.5)
    assert str(fault) == (
        f"episode-000.parquet: {path}: hardware_ns: found 0.633 s between rows 1 and 2,"
        " expected at most 0.5 s between frames; override: +source.on_gap=split"
    )


def test_of_many_gaps_five_are_named(key_file: Callable[..., Path]) -> None:
    keys = read_keys(DataFile(key_file(list(range(9)), wall_time=[1.0 * at for at in range(9)])))
    (fault,) = gap_faults(keys, keep(keys, OPTIONS), 0.5)
    assert fault.found.endswith("1.000 s between rows 4 and 5, and 3 more")
    assert fault.field == "wall_time"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 3)), min_size=1, max_size=12), st.data())
def test_every_row_of_a_frame_taken_is_known_to_be_its(
    key_file: Callable[..., Path], steps: list[tuple[int, int]], data: st.DataObject
) -> None:
    """Whatever the numbers and however many rows each has, a piece has its frames' rows and no others."""
    numbers = np.cumsum([step for step, _ in steps])
    frame_index = np.repeat(numbers, [rows for _, rows in steps])
    keys = read_keys(DataFile(key_file(frame_index.tolist())))
    rows = keep(keys, OPTIONS).rows
    first = data.draw(st.integers(0, len(rows) - 1))
    last = data.draw(st.integers(first, len(rows) - 1))
    frames = take(keys, rows, int(rows[first]), int(rows[last]) + 1, rate_hz=30)
    assert frames.picture.tolist() == numbers[first : last + 1].tolist()
    for row, number in enumerate(frame_index.tolist()):
        frame = frames.frame_of_row[row]
        assert (frame == -1) == (number not in frames.picture)
        assert frame == -1 or frames.picture[frame] == number
