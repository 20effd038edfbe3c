"""Rows to Parquet, row group by row group. Witness: plain pyarrow on the finished file."""

from __future__ import annotations

import errno
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quickdraw.formats.pooled.recording import spool
from quickdraw.formats.pooled.recording.row_groups import Row
from quickdraw.formats.pooled.recording.spool import Spool

F32 = pa.float32()
CONTRACT = {  # sheet 7.1 and 7.2, in the order of section 7
    "episode_index": pa.int64(),
    "frame_index": pa.int64(),
    "timestamp": F32,
    "task_index": pa.int64(),
    "wall_time": pa.float64(),
    "hardware_ns": pa.int64(),
    "action": pa.list_(F32, 1),
    "observation.left_glove": pa.list_(F32, 256),
    "observation.right_glove": pa.list_(F32, 256),
    "imu_ts_ns": pa.list_(pa.int64()),
    "observation.imu": pa.list_(pa.list_(F32, 6)),
    "observation.right_glove_imu_quat": pa.list_(F32, 64),
    "observation.right_glove_imu_valid": pa.list_(F32, 16),
    "observation.gripper_2_gripper_left_force_matrix": pa.list_(F32),
    "observation.gripper_left_force": pa.list_(F32, 3),
    "observation.gripper_left_force_matrix": pa.list_(pa.int16()),
    "observation.gripper_left_force_matrix_ns": pa.int64(),
    "observation.gripper_left_force_ns": pa.int64(),
    "observation.gripper_state": pa.list_(F32, 3),
    "observation.slam_trajectory": pa.list_(pa.float64()),
    "observation.slam_trajectory_ns": pa.list_(pa.int64()),
    "observation.left_hand_pose": pa.list_(F32, 63),
    "observation.right_hand_pose": pa.list_(F32, 63),
    "status.cam0": pa.string(),
}
MATRIX = "observation.gripper_left_force_matrix"


def sample(name: str, seed: int) -> Any:
    """A cell of a column."""
    values = np.random.default_rng(seed)
    kind = CONTRACT[name]
    if kind == pa.string():
        return f"state {seed}"
    if kind == pa.int64():
        return (1 << 62) + seed
    if pa.types.is_fixed_size_list(kind):
        return values.random(kind.list_size, np.float32)
    if name == "observation.imu":
        return values.random((2, 6), np.float32)
    if name == "imu_ts_ns":
        return np.array([1 << 60, (1 << 60) + seed])
    length = {"observation.slam_trajectory": 16, "observation.slam_trajectory_ns": 2}.get(name, 750)
    return (values.random(length) * 1000).astype(kind.value_type.to_pandas_dtype())


def row(number: int, **cells: Any) -> Row:
    return Row(number, number / 30, 1.79e9 + number / 30, 10**12 + number, cells)


def plain(cell: Any) -> Any:
    return cell.tolist() if isinstance(cell, np.ndarray) else cell


def finished(path: Path, rows: list[Row], number: int = 7) -> pq.ParquetFile:
    spooled = Spool(path, number)
    for each in rows:
        spooled.append(each)
    spooled.finish().replace(path)
    return pq.ParquetFile(path)


def test_a_row_of_every_column_has_the_types_and_the_order_of_the_contract(tmp_path: Path) -> None:
    cells = {name: sample(name, 3) for name in list(CONTRACT)[7:]}
    with finished(tmp_path / "episode-006.parquet", [row(0, **cells)]) as file:
        assert file.schema_arrow.names == list(CONTRACT)
        assert [field.type for field in file.schema_arrow] == list(CONTRACT.values())
        (found,) = file.read().to_pylist()
        assert {str(file.metadata.row_group(0).column(at).compression) for at in range(file.metadata.num_columns)} == {
            "ZSTD"
        }
    assert found["episode_index"] == 7
    assert (found["frame_index"], found["task_index"], found["hardware_ns"]) == (0, 0, 10**12)
    assert found["action"] == [0.0]
    assert {name: found[name] for name in cells} == {name: plain(cell) for name, cell in cells.items()}


def test_only_keys_and_hand_poses_are_there_where_no_sensor_spoke(tmp_path: Path) -> None:
    with finished(tmp_path / "episode-000.parquet", [row(0), row(1)]) as file:
        assert file.schema_arrow.names == [*list(CONTRACT)[:7], *[name for name in CONTRACT if "hand_pose" in name]]
        assert file.read()["observation.left_hand_pose"].to_pylist() == [[0.0] * 63] * 2


def test_no_row_group_has_more_than_256_rows_or_many_matrices(tmp_path: Path) -> None:
    with finished(tmp_path / "episode-000.parquet", [row(n) for n in range(600)]) as file:
        assert [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)] == [256, 256, 88]
    flat = np.zeros(187_500, np.int16)
    with finished(tmp_path / "episode-001.parquet", [row(n, **{MATRIX: flat}) for n in range(150)]) as file:
        assert [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)] == [45, 45, 45, 15]
        assert file.metadata.num_rows == 150


def test_lengths_stay_with_their_rows_where_samples_are_whole_short_empty_and_missing(tmp_path: Path) -> None:
    """P-25: wrong offsets shift rows and leave every total right."""
    lengths = [187_500, 0, 750, None, 187_500, 1, None]
    cells = [{} if n is None else {MATRIX: np.full(n, at + 1, np.int16)} for at, n in enumerate(lengths)]
    with finished(tmp_path / "episode-000.parquet", [row(at, **each) for at, each in enumerate(cells)]) as file:
        column = file.read()[MATRIX].combine_chunks()
    assert column.null_count == 0
    assert column.value_lengths().to_pylist() == [n or 0 for n in lengths]
    for at, n in enumerate(lengths):
        assert set(column[at].values.to_numpy().tolist()) == ({at + 1} if n else set())


@pytest.fixture(params=["widened", "joined"])
def late(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways a late column gets into the file: at once, as of little data, and at the end."""
    if request.param == "joined":
        monkeypatch.setattr(spool, "WIDENED_BYTES", -1)


@pytest.mark.usefixtures("late")
@pytest.mark.parametrize("name", [name for name in list(CONTRACT)[7:] if "hand_pose" not in name])
def test_a_column_that_begins_late_is_filled_before_and_never_null(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool, "ROWS", 4)
    late = sample(name, 1)
    with finished(
        tmp_path / "episode-000.parquet", [row(n, **({name: late} if n == 9 else {})) for n in range(11)]
    ) as f:
        table, groups = f.read(), [f.metadata.row_group(n).num_rows for n in range(f.num_row_groups)]
    kind = CONTRACT[name]
    fill = "connected" if kind == pa.string() else 0 if kind == pa.int64() else []
    if pa.types.is_fixed_size_list(kind):
        fill = [0.0] * kind.list_size
    assert groups == [4, 4, 3]
    assert table[name].type == kind
    assert table[name].to_pylist() == [fill] * 9 + [plain(late)] + [fill]
    assert all(table[each].null_count == 0 for each in table.column_names)
    assert list(tmp_path.iterdir()) == [tmp_path / "episode-000.parquet"]


@pytest.mark.usefixtures("late")
def test_stamps_of_a_path_that_begin_late_are_zeros_one_a_point_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-11: a missing stamp is 0, never skipped."""
    monkeypatch.setattr(spool, "ROWS", 2)
    path, stamps = "observation.slam_trajectory", "observation.slam_trajectory_ns"
    points = [0, 3, 1, 0, 2, 4]
    cells: list[dict[str, Any]] = [{path: np.arange(8.0 * n)} if n else {} for n in points]
    cells[4][stamps] = np.array([0, 55])
    with finished(tmp_path / "episode-000.parquet", [row(at, **each) for at, each in enumerate(cells)]) as file:
        found = file.read([path, stamps])
    assert found[stamps].to_pylist() == [[], [0, 0, 0], [0], [], [0, 55], [0, 0, 0, 0]]
    assert found[path].to_pylist() == [[float(each) for each in range(8 * n)] for n in points]


def test_a_column_that_only_appeared_is_there_and_empty(tmp_path: Path) -> None:
    path = tmp_path / "episode-000.parquet"
    spooled = Spool(path, 1)
    spooled.append(row(0))
    spooled.finish({MATRIX: pa.list_(F32)}).replace(path)
    table = pq.read_table(path)
    assert table.schema.field(MATRIX).type == pa.list_(F32)
    assert table[MATRIX].to_pylist() == [[]]


PRESENT = st.lists(st.lists(st.booleans(), min_size=17, max_size=17), min_size=1, max_size=14)


@pytest.mark.usefixtures("late")
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(PRESENT)
def test_whatever_is_there_in_whichever_rows_is_read_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, present: list[list[bool]]
) -> None:
    monkeypatch.setattr(spool, "ROWS", 3)
    optional = list(CONTRACT)[7:]
    given_cells = [
        {name: sample(name, at) for name, there in zip(optional, mask, strict=True) if there}
        for at, mask in enumerate(present)
    ]
    for cells in given_cells:  # stamps without a path are none; samples of the IMU come with theirs
        if "observation.slam_trajectory" not in cells:
            cells.pop("observation.slam_trajectory_ns", None)
        if not {"imu_ts_ns", "observation.imu"} <= set(cells):
            cells.pop("imu_ts_ns", None)
            cells.pop("observation.imu", None)
    rows = [row(at, **cells) for at, cells in enumerate(given_cells)]
    with finished(tmp_path / "episode-000.parquet", rows) as file:
        table = file.read()
    poses = {name for name in CONTRACT if "hand_pose" in name}
    seen = set().union(*given_cells) | set(list(CONTRACT)[:7]) | poses
    assert table.column_names == [name for name in CONTRACT if name in seen]
    for found, cells in zip(table.to_pylist(), given_cells, strict=True):
        assert None not in found.values()
        for name, cell in cells.items():
            assert found[name] == plain(cell)


def test_what_grows_is_hidden_beside_its_place_and_can_be_discarded_at_any_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-60."""
    monkeypatch.setattr(spool, "ROWS", 2)
    spooled = Spool(tmp_path / "episode-004.parquet", 5)
    for number in range(5):
        spooled.append(row(number, **({"status.cam0": "on"} if number > 2 else {})))
    spooled.finish()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [".episode-004.parquet.tmp"]
    spooled.discard()
    spooled.discard()
    assert list(tmp_path.iterdir()) == []
    again = Spool(tmp_path / "episode-004.parquet", 5)
    monkeypatch.setattr(spool, "WIDENED_BYTES", -1)
    for number in range(7):
        again.append(row(number, **({"status.cam0": "on"} if number > 2 else {})))
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names[0].startswith(".episode-004.")
    assert {name.rpartition(".")[2] for name in names} == {"tmp"}
    again.discard()
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_an_error_of_the_rows_that_meet_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "ROWS", 2)
    real: Callable[..., Any] = spool.new_file

    class Full:
        def __init__(self, *arguments: Any) -> None:
            self.file = real(*arguments)

        def write_table(self, table: Any) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self) -> None:
            self.file.close()
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(spool, "new_file", Full)
    spooled = Spool(tmp_path / "episode-000.parquet", 1)
    with pytest.raises(OSError, match="No space left"):
        deque((spooled.append(row(number)) for number in range(8)), maxlen=0)
    with pytest.raises(OSError, match="No space left"):
        spooled.finish()
    spooled.discard()
    assert list(tmp_path.iterdir()) == []
