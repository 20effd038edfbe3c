"""Forces and force matrices on rows, against matrices put together and summed up by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from quickdraw.data.command_line.composing import default_config
from quickdraw.data.options import as_json
from quickdraw.data.pooled_episodes import features, settling
from quickdraw.data.pooled_episodes.options import PooledOptions
from quickdraw.errors import Refused
from quickdraw.formats.pooled import reader, rows
from quickdraw.formats.pooled.data import DataFile

OPTIONS = msgspec.convert(as_json(default_config("pooled_episodes").source) | {"target_hz": 30}, PooledOptions)

COLUMN = "observation.gripper_left_force_matrix"
SUM = f"{COLUMN}_sum"
STEP = 33_333_333


def steps_of(seed: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """A matrix `(250, 250, 3)` in whole steps."""
    return np.random.default_rng(seed).integers(-300, 300, (250, 250, 3))


def stored(steps: np.ndarray[Any, np.dtype[np.int64]]) -> list[int]:
    """As a recorder stores it: the difference to the value before, anew in each row of 750."""
    rows = steps.reshape(250, 750)
    return np.diff(rows, axis=1, prepend=0).ravel().tolist()


def column(cells: Sequence[Any], kind: Any = None) -> Any:
    return pa.array(cells, pa.list_(kind or pa.int16()))


def rows_of(made: SimpleNamespace, one: Any, frames: Any, options: PooledOptions) -> tuple[Any, dict[str, Any]]:
    """What is held, and the rows, of one episode settled alone."""
    held = features.hold(one, frames, options)
    settled = settling.settle([made.plan(held.columns)], options)
    return held, features.read(one, frames, options, settled, held.scales)


@pytest.mark.parametrize(("grid", "height", "width"), [("sums", 1, 1), ("5x10", 5, 10), ("25x2", 25, 2)])
def test_patches_are_sums_of_the_taxels_they_cover(
    made: SimpleNamespace, episode: Callable[..., Any], grid: str, height: int, width: int
) -> None:
    steps = [steps_of(1), steps_of(2)]
    ns = [made.start + 1_000_000, made.start + STEP]
    one = episode({COLUMN: column([stored(each) for each in steps]), f"{COLUMN}_ns": pa.array(ns)},
                  specs={COLUMN: {"scale": 100}})  # fmt: skip
    frames = made.frames([made.start + 2_000_000, made.start + STEP])
    held, rows = rows_of(made, one, frames, replace(OPTIONS, force_matrices=grid))
    assert held.scales == {COLUMN: (100, "row")}
    name = SUM if grid == "sums" else COLUMN
    for at, each in enumerate(steps):
        tall, wide = 250 // height, 250 // width
        expected = [
            each[r * tall : (r + 1) * tall, c * wide : (c + 1) * wide, axis].sum() / 100
            for r in range(height)
            for c in range(width)
            for axis in range(3)
        ]
        np.testing.assert_allclose(rows[name][at], expected, rtol=1e-5, atol=1e-3)
        total = rows[name][at].reshape(-1, 3).sum(axis=0)
        np.testing.assert_allclose(total, each.sum(axis=(0, 1)) / 100, rtol=1e-4, atol=1e-2)
    assert f"{name}_valid" not in rows


def test_a_matrix_is_taken_by_its_stamp_within_half_the_median_interval(
    made: SimpleNamespace, episode: Callable[..., Any]
) -> None:
    s = made.start
    # Matrices 40 ms apart but for a hole: half the median is 20 ms. Stamps lead their rows, and one has none.
    at = [s + 5, s + 40_000_005, s + 80_000_005, s + 400_000_005, 0, s + 440_000_005]
    cells = [stored(steps_of(each)) for each in range(6)]
    one = episode({COLUMN: column(cells), f"{COLUMN}_ns": pa.array(at)}, specs={COLUMN: {"scale": 10}})
    hw = [s, s + 20_000_005, s + 20_000_006, s + 95_000_000, s + 240_000_000, s + 440_000_005, s + 440_000_006]
    taken = [None, 0, 1, 2, None, 5, None]  # before the first, a tie goes to the earlier, in the hole, after the last
    hw_rows = made.frames(hw)
    held, rows = rows_of(made, one, hw_rows, OPTIONS)
    assert held.columns[SUM] == {"column": COLUMN, "width": 3, "filled": True, "missing": 3}
    assert held.displacement["gripper_left_force_matrix"].bound_s == 0.020
    for row, matrix in enumerate(taken):
        expected = np.zeros(3) if matrix is None else steps_of(matrix).sum(axis=(0, 1)) / 10
        np.testing.assert_allclose(rows[SUM][row], expected, rtol=1e-5, atol=1e-3)
    np.testing.assert_array_equal(rows[f"{SUM}_valid"].ravel(), [float(each is not None) for each in taken])


@pytest.mark.parametrize(
    ("specs", "described", "scale", "source"),
    [
        ({COLUMN: {"scale": 1000}}, {COLUMN: {"scale": 10}}, 1000, "row"),
        ({COLUMN: {"scale": 1}}, {COLUMN: {"scale": 1000}}, 1, "row"),
        ({}, {COLUMN: {"scale": 10, "encoding": "row_diff_quantized"}}, 10, "info"),
        (None, {COLUMN: {"scale": 100}}, 100, "info"),
        (None, {}, 1, "unscaled"),
    ],
)
def test_scale_is_the_rows_else_the_tasks_else_one(
    made: SimpleNamespace, episode: Callable[..., Any], specs: Any, described: Any, scale: int, source: str
) -> None:
    one = episode({COLUMN: column([stored(steps_of(3))]), f"{COLUMN}_ns": pa.array([made.start])},
                  specs=specs, features=described)  # fmt: skip
    held, rows = rows_of(made, one, made.frames([made.start]), OPTIONS)
    assert held.scales == {COLUMN: (scale, source)}
    np.testing.assert_allclose(rows[SUM][0], steps_of(3).sum(axis=(0, 1)) / scale, rtol=1e-5, atol=1e-3)


def test_planning_reads_no_matrix_and_the_episodes_row_but_once_for_all(
    made: SimpleNamespace, episode: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    s, other = made.start, COLUMN.replace("left", "right")
    cells = {name: column([stored(steps_of(0)), stored(steps_of(1))]) for name in (COLUMN, other)}
    stamps = {f"{name}_ns": pa.array([s, s + STEP]) for name in cells}
    one = episode(cells | stamps, specs={COLUMN: {"scale": 100}, other: {"scale": 10}})
    asked, rows_read = list[str](), list[int]()
    batches, read_row = DataFile._batches, rows.read_row

    def spied(self: DataFile, names: list[str], *more: Any) -> Any:
        asked.extend(names)
        return batches(self, names, *more)

    def counted(layout: Any, number: int) -> Any:
        rows_read.append(number)
        return read_row(layout, number)

    monkeypatch.setattr(DataFile, "_batches", spied)
    monkeypatch.setattr(reader, "read_row", counted)
    held = features.hold(one, made.frames([s, s + STEP]), OPTIONS)
    assert held.scales == {COLUMN: (100, "row"), other: (10, "row")}
    assert sorted(asked) == sorted(stamps)
    assert len(rows_read) == 2  # before and after the data file was opened


def test_an_empty_or_short_cell_with_a_stamp_is_no_sample_for_planning_either(
    made: SimpleNamespace, episode: Callable[..., Any]
) -> None:
    s = made.start
    cells = [stored(steps_of(0)), [], [1] * 750, stored(steps_of(1))]
    one = episode({COLUMN: column(cells), f"{COLUMN}_ns": pa.array([s, s + STEP, s + 2 * STEP, s + 3 * STEP])},
                  specs={COLUMN: {"scale": 1}}, group=2)  # fmt: skip
    held, rows = rows_of(made, one, made.frames([s + each * STEP for each in range(4)]), OPTIONS)
    # Two matrices 100 ms apart: half the median is 50 ms, so that the rows between take the nearer of the two.
    assert held.columns[SUM]["missing"] == 0
    for row, matrix in enumerate([0, 0, 1, 1]):
        np.testing.assert_allclose(rows[SUM][row], steps_of(matrix).sum(axis=(0, 1)), rtol=1e-5)


def test_a_float_matrix_that_is_not_finite_is_refused_unless_rows_may_lack_one(
    made: SimpleNamespace, episode: Callable[..., Any]
) -> None:
    s = made.start
    sound, odd = steps_of(0).astype(float), steps_of(1).astype(float)
    odd[3, 4, 2] = np.nan
    cells = column([sound.ravel().tolist(), odd.ravel().tolist()], pa.float32())
    one = episode({COLUMN: cells, f"{COLUMN}_ns": pa.array([s, s + STEP])})
    options = OPTIONS
    frames = made.frames([s, s + STEP])
    held = features.hold(one, frames, options)
    assert held.scales == {COLUMN: (1, "type")}
    alone = settling.settle([made.plan(held.columns)], options)
    with pytest.raises(Refused, match=r"_sum: found 1 rows without a sound sample"):
        features.read(one, frames, options, alone, held.scales)
    both = settling.settle([made.plan(held.columns), made.plan({}, "episode_000002")], options)
    rows = features.read(one, frames, options, both, held.scales)
    np.testing.assert_array_equal(rows[f"{SUM}_valid"], [[1], [0]])
    np.testing.assert_array_equal(rows[SUM][1], [0, 0, 0])


@pytest.mark.parametrize(("hardware", "stamped"), [("none", True), ("trunc32", True), ("hw64", False)])
def test_without_a_clock_or_stamps_no_row_has_a_matrix(
    made: SimpleNamespace, episode: Callable[..., Any], hardware: str, stamped: bool
) -> None:
    stamps = {f"{COLUMN}_ns": pa.array([made.start])} if stamped else {}
    one = episode({COLUMN: column([stored(steps_of(0))]), **stamps}, specs={COLUMN: {"scale": 1}})
    frames = made.frames([{"none": 0, "trunc32": 1_000_000, "hw64": made.start}[hardware]])
    held = features.hold(one, frames, OPTIONS)
    assert (held.columns[SUM]["filled"], held.columns[SUM]["missing"]) == (False, 1)
    assert not held.displacement
    settled = settling.settle([made.plan(held.columns)], OPTIONS)
    assert settled.columns == ()
    assert settled.left_out == {COLUMN: held.columns[SUM]["why"]}
    assert features.hold(one, frames, replace(OPTIONS, force_matrices="none")).columns == {}


def test_a_force_is_the_rows_and_missing_where_its_stamp_is_0(
    made: SimpleNamespace, episode: Callable[..., Any]
) -> None:
    force = "observation.gripper_2_gripper_right_force"
    values = [[0, 0, 0], [1, 2, 3], [9, 9, 9], [np.inf, 0, 0]]
    ns = pa.array([made.start, made.start + 1, 0, made.start + 3])
    one = episode({force: made.fixed(values), f"{force}_ns": ns, "observation.gripper_state": made.fixed(values)})
    held, rows = rows_of(made, one, made.frames([made.start + each for each in range(4)]), OPTIONS)
    assert held.columns[force] == {"column": force, "width": 3, "filled": True, "missing": 2, "odd": 1}
    np.testing.assert_array_equal(rows[force], [[0, 0, 0], [1, 2, 3], [0, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(rows[f"{force}_valid"].ravel(), [1, 1, 0, 0])
    np.testing.assert_array_equal(rows["observation.gripper_state"], [[0, 0, 0], [1, 2, 3], [9, 9, 9], [0, 0, 0]])
    np.testing.assert_array_equal(rows["observation.gripper_state_valid"].ravel(), [1, 1, 1, 0])
