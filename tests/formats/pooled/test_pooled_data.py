"""A data file's columns as arrays, whatever its row groups are like, in memory that does not grow with it."""

from __future__ import annotations

import os
import pickle
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quickdraw.errors import Refused
from quickdraw.formats.pooled import columns, stats, stats_rescan
from quickdraw.formats.pooled.data import DataFile

ROWS = 700
IMU_TYPE = pa.list_(pa.list_(pa.float32(), 6))


def imu_lengths() -> list[int]:
    return [(7 * row) % 5 for row in range(ROWS)]


def written(path: Path, table: pa.Table, rows_a_group: int = 256) -> Path:
    pq.write_table(table, path, compression="zstd", row_group_size=rows_a_group)
    return path


def take() -> pa.Table:
    """Every kind of column, in closed form of the row."""
    rows = range(ROWS)
    return pa.table(
        {
            "frame_index": pa.array(rows, pa.int64()),
            "timestamp": pa.array([row / 30 for row in rows], pa.float32()),
            "hardware_ns": pa.array([(1 << 62) + row for row in rows], pa.int64()),  # a float would cut it
            "observation.left_glove": pa.array(
                [[row + k for k in range(256)] for row in rows], pa.list_(pa.float32(), 256)
            ),
            "imu_ts_ns": pa.array(
                [[10 * row + k for k in range(n)] for row, n in enumerate(imu_lengths())], pa.list_(pa.int64())
            ),
            "observation.imu": pa.array(
                [[[row + k / 8] * 6 for k in range(n)] for row, n in enumerate(imu_lengths())], IMU_TYPE
            ),
            "status.cam0": pa.array([f"连接{row % 3}" for row in rows]),
            "flag": pa.array([row % 2 == 0 for row in rows]),
        }
    )


def refused(call: Any) -> str:
    with pytest.raises(Refused) as caught:
        call()
    assert pickle.loads(pickle.dumps(caught.value)).faults == caught.value.faults
    return str(caught.value)


@pytest.mark.parametrize("rows_a_group", [1, 64, 256, 10_000])
def test_columns_are_what_plain_pyarrow_reads_however_rows_are_grouped(tmp_path: Path, rows_a_group: int) -> None:
    data = DataFile(written(tmp_path / "x.parquet", take(), rows_a_group))

    assert data.rows == ROWS
    assert list(data.names) == take().column_names
    assert data.column("frame_index").tolist() == list(range(ROWS))
    assert data.column("hardware_ns").dtype == np.int64
    assert data.column("hardware_ns").tolist() == [(1 << 62) + row for row in range(ROWS)]
    glove = data.column("observation.left_glove")
    assert glove.shape == (ROWS, 256)
    assert glove.dtype == np.float32
    assert (glove == np.arange(ROWS)[:, None] + np.arange(256)).all()
    assert data.column("status.cam0").tolist() == [f"连接{row % 3}" for row in range(ROWS)]
    assert data.column("flag").tolist() == [row % 2 == 0 for row in range(ROWS)]


def test_a_column_of_lists_tells_each_rows_part_and_which_row_a_value_is_of(tmp_path: Path) -> None:
    data = DataFile(written(tmp_path / "x.parquet", take(), 64))

    imu, stamps = data.ragged("observation.imu"), data.ragged("imu_ts_ns")

    assert imu.values.shape == (sum(imu_lengths()), 6)
    assert imu.offsets.dtype == np.int64
    assert imu.lengths.tolist() == stamps.lengths.tolist() == imu_lengths()
    assert len(imu) == ROWS
    assert imu[1].tolist() == [[1 + k / 8] * 6 for k in range(2)]
    assert imu[0].shape == (0, 6)
    assert stamps.rows.tolist() == [row for row, n in enumerate(imu_lengths()) for _ in range(n)]
    assert stamps.values.dtype == np.int64


def test_lists_of_one_length_are_a_table_whichever_kind_of_list_another_program_wrote(tmp_path: Path) -> None:
    rows = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    for kind in (pa.list_(pa.float32()), pa.large_list(pa.float32()), pa.list_(pa.float32(), 3)):
        data = DataFile(written(tmp_path / "x.parquet", pa.table({"observation.gripper_state": pa.array(rows, kind)})))
        assert data.column("observation.gripper_state").tolist() == rows
        assert data.ragged("observation.gripper_state").offsets.tolist() == [0, 3, 6]
        data.require({"observation.gripper_state": columns.arrow_type("observation.gripper_state")})


def test_a_file_without_rows_has_columns_without_rows(tmp_path: Path) -> None:
    data = DataFile(written(tmp_path / "x.parquet", take().slice(0, 0)))

    assert data.rows == 0
    assert data.column("frame_index").shape == (0,)
    assert data.column("observation.left_glove").shape == (0, 256)
    assert data.ragged("observation.imu").offsets.tolist() == [0]
    assert list(data.batches(["frame_index"])) == []


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, None], pa.int64()),
        pa.array([[1.0], None], pa.list_(pa.float32())),
        pa.array([[1.0], [None]], pa.list_(pa.float32())),
        pa.array([[[1.0] * 6], [None]], IMU_TYPE),
        pa.array([[0.0] * 3, None], pa.list_(pa.float32(), 3)),
        pa.array(["connected", None]),
        pa.array([True, None]),
    ],
    ids=lambda column: str(column.type),
)
def test_a_null_is_refused_with_the_file_and_the_column(tmp_path: Path, column: Any) -> None:
    data = DataFile(written(tmp_path / "x.parquet", pa.table({"cell": column})))
    said = refused(lambda: data.column("cell"))
    assert "x.parquet" in said
    assert "cell: found 1 nulls" in said


def test_lists_of_several_lengths_are_no_table(tmp_path: Path) -> None:
    data = DataFile(written(tmp_path / "x.parquet", take()))
    assert "lists of 0 to 4 values" in refused(lambda: data.column("imu_ts_ns"))
    assert "no list" in refused(lambda: data.ragged("frame_index"))


def test_missing_columns_are_told_all_at_once_with_those_there_are(tmp_path: Path) -> None:
    data = DataFile(written(tmp_path / "x.parquet", take().select(["frame_index"])))
    with pytest.raises(Refused) as caught:
        list(data.batches(["frame_index", "wall_time", "action"]))
    assert [fault.field for fault in caught.value.faults] == ["wall_time", "action"]
    assert "one of frame_index" in str(caught.value)
    with pytest.raises(Refused) as caught:
        data.require({"frame_index": pa.float64(), "wall_time": pa.float64()})
    assert [fault.found for fault in caught.value.faults] == ["type int64", "no such column"]


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no Parquet at all" * 9])
def test_a_file_that_is_no_parquet_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(content)
    assert "unreadable" in refused(lambda: DataFile(path))
    assert "unreadable" in refused(lambda: DataFile(tmp_path / "none.parquet"))


def test_damage_within_a_column_is_refused_and_the_others_are_read(tmp_path: Path) -> None:
    path = written(tmp_path / "x.parquet", take())
    chunk = pq.ParquetFile(path).metadata.row_group(1).column(3)
    at = chunk.dictionary_page_offset or chunk.data_page_offset
    content = bytearray(path.read_bytes())
    content[at : at + 40] = b"\xff" * 40
    path.write_bytes(content)

    data = DataFile(path)

    assert "observation.left_glove: found unreadable" in refused(lambda: data.column("observation.left_glove"))
    assert data.column("frame_index").tolist() == list(range(ROWS))


@pytest.mark.parametrize("compression", ["zstd", "none"])
def test_a_file_damaged_anywhere_is_read_or_refused_and_its_statistics_are_made_or_not(
    tmp_path: Path, compression: str
) -> None:
    whole = take().slice(0, 12)
    sink = pa.BufferOutputStream()
    pq.write_table(whole, sink, compression=compression, row_group_size=5)
    content, path, rng = bytes(sink.getvalue()), tmp_path / "a.parquet", random.Random(3)
    outcomes = Counter[str]()
    for _ in range(300):
        piece = bytearray(content)
        for _ in range(rng.choice((1, 1, 2, 8))):
            at = rng.randrange(len(piece)) if rng.random() < 0.5 else rng.randrange(len(piece) - 4000, len(piece))
            piece[at] ^= 1 << rng.randrange(8)
        path.write_bytes(piece)
        outcomes.update(_outcomes(path))
    assert {"open", "no file", "column", "no column"} == set(outcomes)
    assert min(outcomes.values()) > 20, outcomes


def _outcomes(path: Path) -> Iterator[str]:
    """What becomes of a file that may be damaged; every exception but the promised one is raised on."""
    blocks, notes = stats_rescan.of_file(path, stats.Counting())
    assert all(block.count for block in blocks.values())
    assert all("\n" not in note for note in notes)
    try:
        data = DataFile(path)
    except Refused:
        yield "no file"
        return
    yield "open"
    for name in data.names:
        try:
            data.column(name)
            yield "column"
        except Refused as refused:
            if "lists of" not in str(refused):
                yield "no column"


def test_text_that_is_no_utf_8_is_refused_as_damage_is(tmp_path: Path) -> None:
    ends = pa.array([0, 2, 4], pa.int32()).buffers()[1]
    bad = pa.StringArray.from_buffers(2, ends, pa.py_buffer(b"ok\xff\xfe"))
    data = DataFile(written(tmp_path / "a.parquet", pa.table({"status.cam": bad, "frame_index": [0, 1]})))
    assert "status.cam" in refused(lambda: data.column("status.cam"))
    np.testing.assert_array_equal(data.column("frame_index"), [0, 1])


def test_what_is_no_regular_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.parquet")
    assert "no regular file" in refused(lambda: DataFile(tmp_path / "pipe.parquet"))
    assert "no regular file" in refused(lambda: DataFile(tmp_path))


def test_a_name_that_begins_another_columns_reads_only_its_own(tmp_path: Path) -> None:
    table = pa.table({"observation": pa.array([{"imu": 1}]), "observation.imu": pa.array([2])})
    data = DataFile(written(tmp_path / "x.parquet", table))
    assert data.column("observation.imu").tolist() == [2]
    assert [batch.schema.names for batch in data.batches(["observation.imu"])] == [["observation.imu"]]


def test_a_file_replaced_meanwhile_is_read_anew_and_one_being_read_stays_what_it_was(tmp_path: Path) -> None:
    path = written(tmp_path / "x.parquet", pa.table({"frame_index": pa.array([1] * 600)}))
    data = DataFile(path)
    reading = data.batches(["frame_index"], 100)
    first = next(reading)
    written(tmp_path / "fresh", pa.table({"frame_index": pa.array([2] * 5)})).replace(path)

    assert first.column(0).to_pylist() == [1] * 100
    assert [value for batch in reading for value in batch.column(0).to_pylist()] == [1] * 500
    assert data.column("frame_index").tolist() == [2] * 5
    path.unlink()
    assert "unreadable" in refused(lambda: data.column("frame_index"))


def test_no_descriptor_is_kept(tmp_path: Path) -> None:
    data = DataFile(written(tmp_path / "x.parquet", take()))
    data.column("frame_index")
    next(data.batches(["frame_index"], 10))
    opened = [str(each.readlink()) for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]
    assert str(data.path) not in opened


def test_batches_have_the_rows_asked_for_at_most_and_fewer_where_rows_are_large(tmp_path: Path) -> None:
    small = DataFile(written(tmp_path / "small.parquet", take()))
    assert [len(batch) for batch in small.batches(["frame_index"], 300)] == [300, 300, 100]
    wide = pa.table({"m": pa.array([[0] * 187_500] * 40, pa.list_(pa.int16()))})
    large = DataFile(written(tmp_path / "large.parquet", wide))
    lengths = [len(batch) for batch in large.batches(["m"])]
    assert sum(lengths) == 40
    assert max(lengths) * 187_500 * 8 <= 16 << 20


MEASURE = """
import sys
from pathlib import Path
from quickdraw.formats.pooled.data import DataFile
from quickdraw.formats.pooled.matrices import samples

def peak_mb():
    return int(next(x for x in open("/proc/self/status") if x.startswith("VmHWM")).split()[1]) / 1024

before = peak_mb()
seen = 0
for sample in samples(DataFile(Path(sys.argv[1])), "observation.gripper_left_force_matrix", scale=10):
    assert sample.row == seen and sample.ns == seen + 1, sample
    assert abs(sample.mn[0, 0, 0] * 10 - (seen % 32)) < 1e-3, sample.mn[0, 0]
    seen += 1
print(seen, peak_mb() - before)
"""


def one_group_of_matrices(path: Path, rows: int, compression: str) -> None:
    """`rows` matrices in a single row group, as another program may write them; matrix k begins with k % 32."""
    flat = np.zeros((32, 187_500), np.int16)
    flat[:, 0], flat[:, 1] = np.arange(32), -np.arange(32)
    offsets = pa.array(np.arange(33, dtype=np.int32) * 187_500)
    piece = pa.ListArray.from_arrays(offsets, pa.array(flat.reshape(-1)))
    column = pa.chunked_array([piece] * (rows // 32))
    name = "observation.gripper_left_force_matrix"
    table = pa.table({name: column, f"{name}_ns": pa.array(np.arange(1, rows + 1))})
    pq.write_table(table, path, compression=compression, use_dictionary=compression != "none", row_group_size=rows)
    assert pq.ParquetFile(path).num_row_groups == 1


def measured(path: Path) -> tuple[int, float]:
    said = subprocess.run([sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    seen, grown_mb = said.stdout.split()
    return int(seen), float(grown_mb)


def test_a_row_group_of_hundreds_of_mb_is_read_in_memory_that_does_not_hold_it(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    one_group_of_matrices(path, 384, "none")
    assert path.stat().st_size > 280e6

    seen, grown_mb = measured(path)

    print(f"{seen} matrices, {path.stat().st_size / 1e6:.0f} MB of file: {grown_mb:.0f} MB more memory")
    assert seen == 384
    assert grown_mb < 150


@pytest.mark.long
def test_a_row_group_of_12000_matrices_more_values_than_32_bits_count_is_read_in_flat_memory(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    one_group_of_matrices(path, 12_000, "zstd")
    assert 12_000 * 187_500 > (1 << 31)

    seen, grown_mb = measured(path)

    print(f"{seen} matrices in one row group: {grown_mb:.0f} MB more memory")
    assert seen == 12_000
    assert grown_mb < 150
