"""Statistics as a persistent accumulator: joined exactly, by one list of columns, never counted twice."""

from __future__ import annotations

import json
import math
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickdraw.formats.pooled import stats
from quickdraw.formats.pooled.columns import IMU
from quickdraw.formats.pooled.layout import Layout
from quickdraw.formats.pooled.stats_rescan import of_file, rebuild, rescan

GLOVE = "observation.right_glove"
KEYS = ("mean", "std", "min", "max")


SENSORS = stats.Counting(frozenset({GLOVE, "observation.large"}))


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """A task of one glove, which info.json names: its width is then of no account."""
    layout = Layout(tmp_path / "task")
    tell(layout, sensors=["right_glove"])
    return layout


def tell(layout: Layout, **document: Any) -> None:
    layout.meta.mkdir(parents=True, exist_ok=True)
    layout.info.write_text(json.dumps(document))


@pytest.fixture
def copied(sample_pooled: Path, tmp_path: Path) -> Any:
    """A task of the sample, copied to where it may be changed."""

    def copy(name: str) -> Layout:
        target = tmp_path / name
        for path in (sample_pooled / "recordings" / name).rglob("*"):
            if path.is_file():
                place = target / path.relative_to(sample_pooled / "recordings" / name)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, place)
        return Layout(target)

    return copy


def of_numpy(x: Any) -> dict[str, Any]:
    x = np.asarray(x, np.float64)
    return {"mean": x.mean(0), "std": x.std(0), "min": x.min(0), "max": x.max(0)}


def assert_block(block: stats.Block, x: Any, rtol: float = 1e-12) -> None:
    assert block.count == len(x)
    for key, wanted in of_numpy(x).items():
        np.testing.assert_allclose(getattr(block, key), wanted, rtol=rtol, atol=1e-300, err_msg=key)


def episode(layout: Layout, number: int, **columns: Any) -> Path:
    path = layout.data(number)
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path, row_group_size=3)
    return path


def vectors(x: Any, width: int | None = None) -> Any:
    x = np.asarray(x, np.float32)
    return pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), width or x.shape[1])


def imu(samples: list[list[list[float]]]) -> Any:
    return pa.array(samples, pa.list_(pa.list_(pa.float32(), 6)))


def test_a_join_equals_numpy_on_the_whole_in_any_number_of_parts() -> None:
    x = np.random.default_rng(0).normal([0, 5, -1e3], [1, 1e-3, 50], (1000, 3))
    total = stats.empty(3)
    for part in np.split(x, [1, 2, 10, 10, 400, 999]):
        total = stats.join(total, stats.of(part)[0])
    assert_block(total, x, rtol=1e-9)


def test_a_small_spread_beside_a_large_offset_survives_where_sums_of_squares_give_0() -> None:
    offset, spread = 1.79e9, 0.25
    x = offset + np.random.default_rng(1).normal(0, spread, (20_000, 2))
    total = stats.empty(2)
    for part in np.array_split(x, 40):
        total = stats.join(total, stats.of(part)[0])
    np.testing.assert_allclose(total.std, (x - offset).std(0), rtol=1e-6)
    np.testing.assert_allclose(total.mean, [math.fsum(each) / len(x) for each in x.T], rtol=1e-15)
    by_sums = np.sqrt(np.maximum((x**2).sum(0) / len(x) - (x.sum(0) / len(x)) ** 2, 0))
    assert not np.allclose(by_sums, spread, rtol=0.5), "the contract's own formula would have done"


def test_the_join_is_the_contracts_formula_where_that_one_is_exact() -> None:
    a, b = np.array([[1.0], [2.0], [4.0]]), np.array([[8.0], [-3.0]])
    block_a, block_b = stats.of(a)[0], stats.of(b)[0]
    n = block_a.count + block_b.count
    total = block_a.mean * block_a.count + block_b.mean * block_b.count
    squares = sum((each.std**2 + each.mean**2) * each.count for each in (block_a, block_b))
    joined = stats.join(block_a, block_b)
    np.testing.assert_allclose(joined.mean, total / n, rtol=1e-14)
    np.testing.assert_allclose(joined.std, np.sqrt(squares / n - (total / n) ** 2), rtol=1e-14)


VALUES = st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=30)


@given(VALUES, VALUES)
def test_joining_in_either_order_and_at_once_is_the_same(a: list[float], b: list[float]) -> None:
    x, y = np.array(a)[:, None], np.array(b)[:, None]
    whole = stats.of(np.concatenate([x, y]))[0]
    for joined in (stats.join(stats.of(x)[0], stats.of(y)[0]), stats.join(stats.of(y)[0], stats.of(x)[0])):
        assert joined.count == whole.count
        scale = 1 + np.abs(whole.max - whole.min).max() + np.abs(whole.mean).max()
        for key in KEYS:
            np.testing.assert_allclose(getattr(joined, key), getattr(whole, key), rtol=1e-9, atol=1e-13 * scale)
        assert (joined.std >= 0).all()


@pytest.mark.parametrize("value", [0.1, 1.79e9, -3.3e-7])
def test_a_constant_column_has_its_value_as_mean_and_no_deviation(value: float) -> None:
    total = stats.empty(1)
    for count in (1, 7, 300):
        total = stats.join(total, stats.of(np.full((count, 1), value))[0])
    assert (total.mean[0], total.std[0], total.min[0], total.max[0]) == (value, 0, value, value)


def test_a_block_of_nothing_changes_nothing_and_its_limits_take_no_part() -> None:
    nothing, some = stats.empty(2), stats.of([[5.0, -5.0]])[0]
    assert (nothing.count, nothing.mean.tolist(), nothing.std.tolist()) == (0, [0, 0], [1, 1])
    for joined in (stats.join(nothing, some), stats.join(some, nothing)):
        assert joined.min.tolist() == joined.max.tolist() == [5, -5]
    assert stats.merged({GLOVE: some}, {GLOVE: nothing}) == ({GLOVE: some}, [])
    assert stats.join(nothing, nothing).count == 0


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_row_that_is_not_finite_is_left_out_and_counted(bad: float) -> None:
    x = np.arange(12.0).reshape(6, 2)
    x[1, 0] = x[4, 1] = bad
    block, skipped = stats.of(x)
    assert skipped == 2
    assert_block(block, x[[0, 2, 3, 5]])
    assert stats.of(np.full((3, 2), bad))[0].count == 0


def test_a_changed_width_starts_the_block_anew_and_warns() -> None:
    old, new = stats.of(np.ones((5, 4)))[0], stats.of(np.zeros((3, 2)))[0]
    blocks, warnings = stats.merged({GLOVE: old, IMU: old}, {GLOVE: new})
    assert blocks[GLOVE] is new
    assert blocks[IMU] is old
    assert warnings == [f"{GLOVE}: 2 values a row where there were 4; its statistics start anew"]
    with pytest.raises(ValueError, match="4 and 2 dimensions"):
        stats.join(old, new)


COUNTED = [GLOVE, "observation.left_glove", IMU, "observation.glove_2"]
NOT_COUNTED = [
    *("observation.left_hand_pose", "observation.right_hand_pose", "observation.gripper_state", "imu_ts_ns", "action"),
    *("observation.gripper_left_force", "observation.gripper_left_force_ns", "observation.gripper_left_force_matrix"),
    *("observation.gripper_2_gripper_right_force_matrix", "observation.gripper_right_force_matrix_ns"),
    *("observation.slam_trajectory", "observation.slam_trajectory_ns", "observation.slam_pose", "wall_time"),
    *(
        "observation.right_glove_imu_quat",
        "observation.right_glove_imu_valid",
        "status.cam",
        "observation.gripper_2_gripper_state",
    ),
]


def test_gloves_and_the_imu_are_counted_and_nothing_else() -> None:
    assert [name for name in COUNTED + NOT_COUNTED if stats.counted(name)] == COUNTED
    named = stats.Counting.of({"sensors": [name.removeprefix("observation.") for name in NOT_COUNTED]})
    assert [name for name in COUNTED + NOT_COUNTED if named.counts(name, 256)] == COUNTED


STATE, TORQUE = "observation.state", "observation.gripper_left_torque_matrix"  # no gloves: the contract has neither


def test_an_unknown_observation_is_a_glove_only_by_info_json_or_by_its_width(layout: Layout) -> None:
    tell(layout, sensors=["right_glove", "narrow"], sensor_dim=8)
    columns = {
        GLOVE: vectors(np.ones((4, 5))),
        "observation.narrow": pa.array([[1, 2]] * 4),
        "observation.elimination": vectors(np.ones((4, 8))),
        "observation.ragged_type": pa.array([[1.0] * 8] * 4, pa.list_(pa.float32())),
        STATE: vectors(np.ones((4, 7))),
        TORQUE: pa.array([[0.5] * 12] * 4, pa.list_(pa.float32())),
        "observation.doubles": pa.array([[1.0] * 8] * 4),
        "observation.images.head": vectors(np.ones((4, 8))),
        IMU: imu([[[1.0] * 6]] * 4),
    }
    episode(layout, 1, **columns)
    counted = ["observation.elimination", "observation.narrow", "observation.ragged_type", GLOVE, IMU]
    found, notes = rescan(layout)
    assert (list(found), notes) == (counted, [])
    written = {name: {**BLOCK, "count": 4} for name in columns}
    widths = {GLOVE: 5, "observation.narrow": 2, STATE: 7, TORQUE: 12, IMU: 6}
    for name, entry in written.items():
        entry |= {key: [1.0] * widths.get(name, 8) for key in KEYS}
    del written["observation.doubles"]  # a block does not tell its column's type
    layout.stats.write_text(json.dumps(written))
    read = stats.read_stats(layout)
    assert read is not None
    assert sorted(read) == sorted(counted)


def test_a_task_that_names_no_sensors_counts_columns_of_256_values(layout: Layout) -> None:
    odd: list[Any] = ["no list", [1, None], None]
    for sensors, values in zip(odd, ["256", True, 0], strict=True):
        tell(layout, sensors=sensors, sensor_dim=values)
        assert stats.Counting.in_task(layout) == stats.Counting()
    layout.info.write_text("{")
    episode(layout, 1, **{GLOVE: vectors(np.ones((2, 256))), STATE: vectors(np.ones((2, 14)))})
    assert list(rescan(layout)[0]) == [GLOVE]


def test_what_no_float32_holds_is_neither_counted_nor_added_to(layout: Layout) -> None:
    block, skipped = stats.of([[1.0], [1e300], [-1e39], [3e38]])
    assert (block.count, skipped) == (2, 2)
    assert np.isfinite(stats.join(block, block).std).all()


def test_stats_json_has_a_count_everywhere_and_the_placeholder_of_action() -> None:
    block = stats.of([[1.0, 2.0], [3.0, 2.0]])[0]
    document = json.loads(stats.stats_bytes({GLOVE: block, "observation.left_hand_pose": block, "action": block}))
    assert document == {
        GLOVE: {"count": 2, "mean": [2.0, 2.0], "std": [1.0, 0.0], "min": [1.0, 2.0], "max": [3.0, 2.0]},
        "action": {"count": 0, "mean": [0.0], "std": [1.0], "min": [0.0], "max": [0.0]},
    }
    assert stats.stats_bytes({}).startswith(b'{\n  "action": {\n    "count": 0,')


def test_what_is_written_reads_back_to_the_bit(layout: Layout) -> None:
    block = stats.of(np.random.default_rng(2).normal(1e9, 1e-3, (50, 256)))[0]
    layout.stats.write_bytes(stats.stats_bytes({GLOVE: block}))
    found = stats.read_stats(layout)
    assert found is not None
    assert list(found) == [GLOVE]
    assert found[GLOVE].count == 50
    for key in KEYS:
        assert getattr(found[GLOVE], key).tobytes() == getattr(block, key).tobytes()


BLOCK = {"count": 2, "mean": [1.0], "std": [0.5], "min": [0.5], "max": [1.5]}
NEED_A_RESCAN = {
    "missing": None,
    "empty": "",
    "torn": '{"action": {"count": 0',
    "no object": "[]",
    "v1.1.0": json.dumps({GLOVE: {k: v for k, v in BLOCK.items() if k != "count"}}),
    "action without count": json.dumps({GLOVE: BLOCK, "action": {"mean": [0.0]}}),
    "NaN": json.dumps({GLOVE: {**BLOCK, "mean": [float("nan")]}}),
    "infinite": json.dumps({GLOVE: {**BLOCK, "max": [float("inf")]}}),
    "min is missing": json.dumps({GLOVE: {k: v for k, v in BLOCK.items() if k != "min"}}),
    "lists of two lengths": json.dumps({GLOVE: {**BLOCK, "std": [0.5, 0.5]}}),
    "no block": json.dumps({GLOVE: [1]}),
    "count is no number": json.dumps({GLOVE: {**BLOCK, "count": True}}),
    "a mean of 10**400": f'{{"{GLOVE}": {{"count": 1, "mean": [1{"0" * 400}], "std": [0], "min": [0], "max": [0]}}}}',
    "beyond a float32": json.dumps({GLOVE: {**BLOCK, "max": [1e300]}}),
    "nested": json.dumps({GLOVE: {**BLOCK, "mean": [[1.0]]}}),
    "deep": "[" * 100_000,
}


@pytest.mark.parametrize("text", NEED_A_RESCAN.values(), ids=NEED_A_RESCAN.keys())
def test_what_cannot_be_added_to_asks_for_a_rescan(layout: Layout, text: str | None) -> None:
    if text is not None:
        layout.stats.write_text(text)
    assert stats.read_stats(layout) is None


def test_blocks_that_count_nothing_or_are_not_ours_do_not_take_part(layout: Layout) -> None:
    document = {GLOVE: BLOCK, IMU: {**BLOCK, "count": 0}, "observation.left_hand_pose": BLOCK, "later": "text"}
    layout.stats.write_text(json.dumps({**document, "observation.left_glove": {**BLOCK, "count": -4}}))
    found = stats.read_stats(layout)
    assert found is not None
    assert list(found) == [GLOVE]


def test_the_samples_accumulators_are_what_a_rescan_gives(sample_pooled: Path) -> None:
    for task in sorted((sample_pooled / "recordings").iterdir()):
        written, (found, notes) = stats.read_stats(Layout(task)), rescan(Layout(task))
        assert notes == []
        if task.name == "legacy_v110":
            assert written is None
            continue
        assert written is not None
        assert set(found) == set(written)
        for name, block in found.items():
            assert block.count == written[name].count
            for key in KEYS:
                wanted = getattr(written[name], key)
                np.testing.assert_allclose(getattr(block, key), wanted, rtol=1e-4, atol=1e-4, err_msg=f"{task} {key}")


def test_a_rescan_equals_numpy_over_plain_arrow(sample_pooled: Path) -> None:
    task = sample_pooled / "recordings" / "手套_抓取"
    tables = [pq.read_table(path) for path in sorted(task.glob("data/*/*.parquet"))]
    found, _ = rescan(Layout(task))
    assert list(found) == [GLOVE, IMU]
    assert_block(found[GLOVE], [row for each in tables for row in each.column(GLOVE).to_pylist()], rtol=1e-9)
    samples = [s for each in tables if IMU in each.column_names for row in each.column(IMU).to_pylist() for s in row]
    assert_block(found[IMU], samples, rtol=1e-9)


def test_every_row_counts_by_row_and_every_imu_sample_by_sample(layout: Layout) -> None:
    glove = np.arange(20).reshape(5, 4) * (np.arange(5) % 2)[:, None]  # rows of zeros count
    samples = [[], [[1.0] * 6, [2.0] * 6], [], [[4.0, 0, 0, 0, 0, 9]], []]
    episode(layout, 1, **{GLOVE: vectors(glove), IMU: imu(samples), "observation.left_hand_pose": vectors(glove)})
    found, notes = rescan(layout)
    assert notes == []
    assert list(found) == [GLOVE, IMU]
    assert_block(found[GLOVE], glove)
    assert_block(found[IMU], [[1] * 6, [2] * 6, [4, 0, 0, 0, 0, 9]])


def test_a_rescan_leaves_the_new_episode_out_so_that_it_counts_once(layout: Layout) -> None:
    parts = [np.random.default_rng(n).normal(n, 1, (7, 4)).astype(np.float32) for n in range(3)]
    paths = [episode(layout, number, **{GLOVE: vectors(part)}) for number, part in enumerate(parts, 1)]
    old, _ = rescan(layout, exclude=3)
    assert_block(old[GLOVE], np.concatenate(parts[:2]), rtol=1e-9)
    total, warnings = stats.merged(old, of_file(paths[2], SENSORS)[0])
    assert warnings == []
    assert_block(total[GLOVE], np.concatenate(parts), rtol=1e-9)


def test_what_a_rescan_leaves_out_it_tells(layout: Layout) -> None:
    glove = np.arange(24.0).reshape(6, 4)
    glove[2, 1], glove[4, 0] = np.nan, np.inf
    with_null = pa.concat_arrays([vectors(glove), pa.nulls(1, pa.list_(pa.float32(), 4))])
    samples = [[[1.0] * 6], [[np.nan] * 6], [], [[2.0] * 6], [], [], None]
    episode(layout, 1, **{GLOVE: with_null, IMU: imu(samples)})
    ragged = pa.array([[1.0], [1.0, 2.0]])
    episode(layout, 2, **{GLOVE: ragged, "observation.scalar": pa.array([1, 2]), IMU: pa.array([[[1.0]], []])})
    layout.data(3).write_bytes(b"torn")
    episode(layout, 4, **{GLOVE: vectors(np.ones((2, 5)))})
    told: list[tuple[int, int]] = []
    found, notes = rescan(layout, tell=lambda done, of: told.append((done, of)))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert_block(found[IMU], [[1] * 6, [2] * 6])
    assert_block(found[GLOVE], np.ones((2, 5)))
    assert notes[:2] == [
        f"episode 1: {GLOVE}: 3 rows not finite or null, not counted",
        f"episode 1: {IMU}: 2 samples not finite or null, not counted",
    ]
    assert f"episode 2: {GLOVE}: cells of 2 lengths; the column is not counted" in notes
    assert not any("observation.scalar" in each for each in notes), "no glove"
    assert f"episode 2: {IMU}: samples of [1] values; the column is not counted" in notes
    assert any(each.startswith("episode 3: not counted, unreadable (") for each in notes)
    assert notes[-1] == f"episode 4: {GLOVE}: 5 values a row where there were 4; its statistics start anew"
    assert len(notes) == 6


def test_lists_of_any_kind_but_one_length_count(layout: Layout) -> None:
    x = np.arange(12.0).reshape(4, 3)
    cells = pa.array(x.tolist(), pa.list_(pa.float32()))
    path = episode(layout, 1, **{GLOVE: cells, "observation.large": cells.cast(pa.large_list(pa.float64()))})
    found, notes = of_file(path, SENSORS)
    assert notes == []
    assert_block(found[GLOVE], x)
    assert_block(found["observation.large"], x)


def test_without_data_only_action_remains(layout: Layout) -> None:
    assert rescan(layout) == ({}, [])
    assert rebuild(layout, apply=True)[2]
    assert list(json.loads(layout.stats.read_bytes())) == ["action"]


def test_rebuilding_is_a_dry_run_until_it_is_applied_and_then_done_once(copied: Any) -> None:
    layout = copied("legacy_v110")
    before = layout.stats.read_bytes()
    _, notes, differs = rebuild(layout, apply=False)
    assert (notes, differs, layout.stats.read_bytes()) == ([], True, before)
    blocks, _, differs = rebuild(layout, apply=True)
    assert differs
    rows = sum(pq.read_metadata(path).num_rows for path in layout.root.glob("data/*/*.parquet"))
    assert blocks["observation.left_glove"].count == rows == 70
    after = layout.stats.read_bytes()
    assert rebuild(layout, apply=True)[2] is False
    assert layout.stats.read_bytes() == after
    assert stats.read_stats(layout) is not None


def test_a_deviation_lost_beside_a_large_mean_is_made_anew_another_writers_last_digits_are_not(copied: Any) -> None:
    """P-53: at an offset of 1.79e9 the contract's sum of squares tells a deviation of 0."""
    layout = copied("two_slots")
    path = layout.data(1)
    table, name = pq.read_table(path), "observation.left_glove"
    cells = np.float32(1.79e9) + 256 * np.arange(256 * table.num_rows, dtype=np.float32).reshape(-1, 256)
    kind = table.schema.field(name).type
    column = pa.FixedSizeListArray.from_arrays(pa.array(cells.reshape(-1)), type=kind)
    pq.write_table(table.set_column(table.schema.get_field_index(name), name, column), path)
    rebuild(layout, apply=True)
    right = json.loads(layout.stats.read_bytes())
    for factor, differs in ((1 + 1e-9, False), (0.0, True)):
        wrong = {**right[name], "std": [each * factor for each in right[name]["std"]]}
        layout.stats.write_text(json.dumps({**right, name: wrong}))
        assert rebuild(layout, apply=False)[2] is differs


def test_a_merge_costs_by_columns_not_by_history() -> None:
    times = []
    for count in (1, 10**9):
        ones = np.ones(256)
        old = {GLOVE: stats.Block(count, ones, ones, -ones, ones), IMU: stats.Block(count, ones[:6], *[ones[:6]] * 3)}
        new = {name: stats.of(np.zeros((100, block.mean.size)))[0] for name, block in old.items()}
        begin = time.perf_counter()
        for _ in range(50):
            stats.merged(old, new)
        times.append((time.perf_counter() - begin) / 50)
    print(f"merge of 2 columns: {times[0] * 1e6:.0f} us after 1 row, {times[1] * 1e6:.0f} us after 1e9")
    assert max(times) < 5e-3
