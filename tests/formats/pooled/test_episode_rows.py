"""One row per episode: eleven columns, told by content, and nothing of a later version lost."""

from __future__ import annotations

import json
import pickle
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickdraw.formats.pooled import journal, row_tables, rows
from quickdraw.formats.pooled.layout import Layout

NAMES = [
    *("episode_index", "task_index", "start_frame_index", "end_frame_index", "length", "created_at", "duration_sec"),
    *("drop_stats", "video_codec", "calibration", "force_matrix_specs"),
]
TYPES = ["int64"] * 5 + ["double"] * 2 + ["string"] * 4
MATRIX = "observation.gripper_left_force_matrix"
SPEC = {MATRIX: {"dtype": "int16", "shape": [250, 250, 3], "encoding": "row_diff_quantized", "scale": 100}}
ROW = rows.EpisodeRow(
    number=7,
    end_frame_index=29,
    length=30,
    created_at=1790000000.25,
    duration_s=1.0,
    drop_stats={"ext:cam": 2},
    video_codec={"codec": "h264", "名": 1},
    force_matrix_specs=SPEC,
)


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path / "task")


def put(path: Path, table: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)
    return path


def write(layout: Layout, row: rows.EpisodeRow) -> None:
    """A row in its own file, as a recording publishes it."""
    journal.commit(layout, [(journal.prepare(layout.row(row.number), rows.row_bytes(row)), layout.row(row.number))])


def table_of(numbers: list[int], **columns: Any) -> Any:
    """A file of rows as another program may write it, `length` being 10 N."""
    return pa.table({"episode_index": pa.array(numbers, pa.int64()), "length": [10 * n for n in numbers], **columns})


def test_a_written_row_has_exactly_the_contracts_schema_and_zstd(layout: Layout) -> None:
    write(layout, ROW)
    path = layout.root / "meta/episodes/chunk-000/episode-006.parquet"
    table = pq.read_table(path)
    assert table.schema.names == NAMES
    assert [str(each) for each in table.schema.types] == TYPES
    assert table.schema.equals(row_tables.SCHEMA)
    assert pq.ParquetFile(path).metadata.row_group(0).column(0).compression == "ZSTD"
    assert table.num_rows == 1
    cells = table.to_pylist()[0]
    assert [cells[name] for name in NAMES[:7]] == [7, 0, 0, 29, 30, 1790000000.25, 1.0]
    assert json.loads(cells["force_matrix_specs"]) == SPEC
    assert cells["calibration"] == "{}"
    assert "名" in cells["video_codec"]
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_the_sample_has_the_same_schema_and_reads_as_plain_arrow_does(sample_pooled: Path) -> None:
    for path in sorted(sample_pooled.glob("recordings/*/meta/episodes/*/episode-*.parquet")):
        table = pq.read_table(path)
        assert table.schema.equals(pa.schema(list(row_tables.SCHEMA)[: table.num_columns]))
        cells = table.to_pylist()[0]
        row = rows.read_row(Layout(path.parents[3]), cells["episode_index"])
        assert row is not None
        assert [row.number, row.task_index, row.start_frame_index, row.end_frame_index] == list(cells.values())[:4]
        assert [row.length, row.created_at, row.duration_s] == list(cells.values())[4:7]
        for name in NAMES[7:]:
            assert getattr(row, name) == json.loads(cells.get(name, "{}"))
        assert row.extra == {}


def test_an_old_row_of_ten_columns_has_the_default_of_the_eleventh(sample_pooled: Path, layout: Layout) -> None:
    old = rows.read_row(Layout(sample_pooled / "recordings" / "手套_抓取"), 2)
    assert old is not None
    assert old.force_matrix_specs == {}
    write(layout, old)
    assert pq.read_table(layout.row(2)).column("force_matrix_specs").to_pylist() == ["{}"]


def test_what_is_written_reads_back(layout: Layout) -> None:
    write(layout, ROW)
    assert rows.read_row(layout, 7) == ROW
    assert rows.read_row(layout, 6) is None
    assert pickle.loads(pickle.dumps(ROW)) == ROW


NUMBERS = st.integers(0, 2**53)
JSON = st.dictionaries(st.text(st.characters(codec="utf-8")), st.integers() | st.text(st.characters(codec="utf-8")))


@given(st.integers(1, 2**53), NUMBERS, st.floats(0, 4e9), JSON, JSON)
def test_any_row_reads_back(
    number: int, length: int, at: float, dropped: dict[str, Any], codec: dict[str, Any]
) -> None:
    row = rows.EpisodeRow(number, length=length, created_at=at, drop_stats=dropped, video_codec=codec)
    table = pq.read_table(pa.BufferReader(rows.row_bytes(row)))
    assert rows.row_of(table, 0) == row


def test_recording_again_replaces_the_row(layout: Layout) -> None:
    write(layout, ROW)
    write(layout, replace(ROW, length=31))
    found = rows.read_row(layout, 7)
    assert found is not None
    assert found.length == 31


def test_columns_of_a_later_version_are_kept_with_their_types(layout: Layout) -> None:
    later = {"gripper_id": pa.array([3], pa.int8()), "notes": pa.array([["a", "b"]]), "nothing": pa.nulls(1)}
    put(layout.row(7), table_of([7], **later))
    row = rows.read_row(layout, 7)
    assert row is not None
    write(layout, replace(row, force_matrix_specs=SPEC))
    table = pq.read_table(layout.row(7))
    assert table.schema.names == [*NAMES, *later]
    assert [table.schema.field(name).type for name in later] == [each.type for each in later.values()]
    assert table.select(list(later)).to_pylist() == [{"gripper_id": 3, "notes": ["a", "b"], "nothing": None}]
    assert json.loads(table.column("force_matrix_specs")[0].as_py()) == SPEC


def test_texts_whose_value_did_not_change_are_written_back_to_the_letter(layout: Layout) -> None:
    texts = {"drop_stats": ['{"a":1.50,  "b": 2}'], "calibration": ["not JSON"], "video_codec": ["[1]"]}
    put(layout.row(7), table_of([7], **texts))
    row = rows.read_row(layout, 7)
    assert row is not None
    assert (row.drop_stats, row.calibration, row.video_codec) == ({"a": 1.5, "b": 2}, {}, {})
    write(layout, replace(row, video_codec={"codec": "h264"}))
    cells = pq.read_table(layout.row(7)).to_pylist()[0]
    assert cells["drop_stats"] == texts["drop_stats"][0]
    assert cells["calibration"] == "not JSON"
    assert cells["video_codec"] == '{"codec": "h264"}'


ODD = {
    "length": pa.array([None], pa.int64()),
    "task_index": pa.array(["x"]),
    "created_at": pa.array([float("nan")]),
    "duration_sec": pa.array([True]),
    "drop_stats": pa.array([5]),
    "video_codec": pa.array([None], pa.string()),
    "calibration": pa.array(["[" * 100_000]),
}


def test_nulls_and_values_of_another_type_have_defaults(layout: Layout) -> None:
    put(layout.row(7), pa.table({"episode_index": pa.array([7], pa.int32()), **ODD}))
    row = rows.read_row(layout, 7)
    assert row is not None
    assert replace(row, duration_s=0.0) == rows.EpisodeRow(7)


def test_a_row_is_found_by_its_content_never_by_the_files_name(layout: Layout) -> None:
    put(layout.row(7), table_of([8]))
    assert rows.read_row(layout, 7) is None
    assert rows.read_row(layout, 8) is None, "the file of 7 is no place to look for 8"
    put(layout.old_row(7), table_of([7]))
    put(layout.shard(7), table_of([6, 7, 9]))
    found = rows.read_row(layout, 7)
    assert found is not None
    assert found.length == 70


@pytest.mark.parametrize("numbers", [[1], [1, 2, 3], [2, 3]])
def test_file_000_is_a_shard_or_episode_1_and_its_rows_tell(layout: Layout, numbers: list[int]) -> None:
    put(layout.rows / "chunk-000" / "file-000.parquet", table_of(numbers))
    assert [n for n in range(1, 5) if rows.read_row(layout, n) is not None] == numbers
    table = row_tables.read_table(layout.shard(1))
    assert row_tables.is_shard(table) is (len(numbers) > 1)


def test_the_own_file_goes_before_the_old_name_and_that_before_the_shard(layout: Layout) -> None:
    def length() -> int:
        row = rows.read_row(layout, 1002)
        return row.length if row else -1

    put(layout.shard(1002), table_of([1001, 1002, 1003]))
    assert layout.shard(1002).name == "file-001.parquet"
    assert length() == 10020
    put(layout.row(1002), pa.table({"episode_index": [1002], "length": [5]}))
    assert length() == 5


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + bytes(100) + b"PAR1"])
def test_an_unreadable_own_file_falls_through_to_the_shard(layout: Layout, content: bytes) -> None:
    put(layout.shard(7), table_of([7, 8]))
    layout.row(7).write_bytes(content)
    row = rows.read_row(layout, 7)
    assert row is not None
    assert row.length == 70
    assert row_tables.read_table(layout.row(7)) is None


def test_all_files_of_rows_are_told_and_hidden_ones_are_none(layout: Layout) -> None:
    write(layout, ROW)
    shard = put(layout.shard(1001), table_of([1002, 0]))
    put(layout.rows / "chunk-000" / ".episode-000.parquet.tmp", table_of([1]))
    put(layout.rows / "other" / "episode-000.parquet", table_of([1]))
    layout.shard_lock.touch()
    assert list(row_tables.row_files(layout)) == [layout.row(7), shard]
    assert row_tables.numbers_in(row_tables.read_table(shard)) == [1002, 0]
    assert list(row_tables.row_files(Layout(layout.root / "none"))) == []


def test_n_0_is_no_episode_though_its_file_would_be_that_of_1(layout: Layout) -> None:
    with pytest.raises(ValueError, match="start at 1"):
        rows.read_row(layout, 0)
    with pytest.raises(ValueError, match="start at 1"):
        rows.row_bytes(rows.EpisodeRow(0))


def test_dropped_frames_are_summed_without_durations_and_counters() -> None:
    dropped = {
        "ext:a": 2,
        "uvc:b": 3,
        "sensor_queue": 4,
        "gap_ms": 4680,
        "x_ns": 9,
        "imu_before_count": 7,
        "imu_overflow": 1,
    }
    assert rows.EpisodeRow(1, drop_stats={**dropped, "text": "5"}).dropped_frames == 9


def damaged(whole: bytes, seed: int, tries: int) -> Iterator[bytes]:
    """Copies of a file with a few bits of it turned over."""
    rng = random.Random(seed)
    for _ in range(tries):
        piece = bytearray(whole)
        for _ in range(rng.choice((1, 1, 2, 8))):
            piece[rng.randrange(len(piece))] ^= 1 << rng.randrange(8)
        yield bytes(piece)


@pytest.mark.parametrize("compression", ["zstd", "none"])
def test_a_file_of_rows_damaged_anywhere_is_a_row_or_none_and_never_an_exception(
    layout: Layout, compression: str
) -> None:
    later = {"手": pa.array(["左", "右"]), "when": pa.array([1, 2], pa.timestamp("ns"))}
    texts = {"drop_stats": pa.array(['{"名": 1}', "{}"]), "created_at": pa.array([1.0, 2.0])}
    path = layout.row(1)
    put(path, table_of([1, 2], **texts, **later))
    pq.write_table(pq.read_table(path), path, compression=compression)
    outcomes = Counter[bool]()
    for piece in damaged(path.read_bytes(), 5, 700):
        path.write_bytes(piece)
        row = rows.read_row(layout, 1)
        outcomes[row is not None] += 1
        if row is not None:
            assert isinstance(row.length, int)
        table = row_tables.read_table(path)
        assert table is None or len(row_tables.numbers_in(table)) == table.num_rows
    assert min(outcomes.values()) > 20, outcomes


def test_text_that_is_no_utf_8_makes_a_file_unreadable_and_the_shard_answers(layout: Layout) -> None:
    put(layout.shard(7), table_of([7, 8]))
    bad = pa.StringArray.from_buffers(1, pa.py_buffer(b"\x00\x00\x00\x00\x02\x00\x00\x00"), pa.py_buffer(b"\xff\xfe"))
    put(layout.row(7), pa.table({"episode_index": [7], "length": [5], "drop_stats": bad}))
    row = rows.read_row(layout, 7)
    assert row is not None
    assert row.length == 70


@pytest.mark.parametrize("kind", [pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("ns")])
def test_a_value_python_has_none_of_counts_as_absent(layout: Layout, kind: Any) -> None:
    put(layout.row(7), table_of([7], created_at=pa.array([2**62 + 1], pa.int64()).view(kind)))
    assert rows.read_row(layout, 7) == rows.EpisodeRow(7, length=70)


def test_one_row_is_read_within_a_millisecond(layout: Layout) -> None:
    write(layout, ROW)
    rows.read_row(layout, 7)
    times = []
    for _ in range(50):
        begin = time.perf_counter()
        rows.read_row(layout, 7)
        times.append(time.perf_counter() - begin)
    print(f"one row read in {min(times) * 1e3:.2f} ms")
    assert min(times) < 3e-3
