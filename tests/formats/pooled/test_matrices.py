"""A column of matrices: whose scale counts, what is no sample, and how fast it is read from Parquet."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quickdraw.errors import Refused
from quickdraw.formats.pooled.data import DataFile
from quickdraw.formats.pooled.force_matrix import SPECS, VALUES, Spec, encode, spec_entry
from quickdraw.formats.pooled.info import Info, recognise
from quickdraw.formats.pooled.matrices import encoding_of, opened, samples, scale_of
from quickdraw.formats.pooled.reader import Task
from quickdraw.formats.pooled.rows import EpisodeRow

LEFT = "observation.gripper_left_force_matrix"
OTHER = "observation.gripper_2_gripper_right_force_matrix"
INT16, FLOAT32 = pa.int16(), pa.float32()


def info_of(tmp_path: Path, **features: Any) -> Info:
    (tmp_path / "meta").mkdir(exist_ok=True)
    document = {"format": "pooled_episodes_v1", "features": features}
    (tmp_path / "meta" / "info.json").write_text(json.dumps(document))
    return recognise(tmp_path)


def entry(name: str, **changed: Any) -> dict[str, Any]:
    return {**spec_entry(SPECS[name]), **changed}


def row_of(**specs: Any) -> EpisodeRow:
    return EpisodeRow(1, force_matrix_specs=specs)


def test_the_episodes_own_row_is_the_authority_then_the_task_then_nobody(tmp_path: Path) -> None:
    task = info_of(tmp_path, **{LEFT: entry("int16x1000")})
    assert scale_of(task, row_of(**{LEFT: entry("int16x10")}), LEFT, INT16) == (10, "row")
    assert scale_of(task, row_of(), LEFT, INT16) == (1000, "info")
    assert scale_of(task, row_of(**{OTHER: entry("int16x10")}), LEFT, INT16) == (1000, "info")
    assert scale_of(task, None, LEFT, INT16) == (1000, "info")
    assert scale_of(info_of(tmp_path), row_of(), LEFT, INT16) == (1, "unscaled")
    assert scale_of(None, None, LEFT, INT16) == (1, "unscaled")


def test_a_recorded_1_is_final_and_does_not_fall_through_to_the_tasks_1000(tmp_path: Path) -> None:
    task = info_of(tmp_path, **{LEFT: entry("int16x1000")})
    assert scale_of(task, row_of(**{LEFT: entry("int16")}), LEFT, INT16) == (1, "row")


@pytest.mark.parametrize("recorded", [{}, {"scale": None}, {"scale": 0}, "no object", None, 7])
def test_what_is_not_recorded_in_the_row_falls_through_without_an_error(tmp_path: Path, recorded: Any) -> None:
    task = info_of(tmp_path, **{LEFT: entry("int16x100")})
    assert scale_of(task, row_of(**{LEFT: recorded}), LEFT, INT16) == (100, "info")
    assert scale_of(info_of(tmp_path, **{LEFT: {}}), row_of(**{LEFT: recorded}), LEFT, INT16) == (1, "unscaled")


@pytest.mark.parametrize("scale", ["10", 10.5, True, -10, [10], 1 << 30])
def test_a_recorded_scale_that_can_be_none_is_refused_never_guessed(tmp_path: Path, scale: Any) -> None:
    with pytest.raises(Refused, match="scale"):
        scale_of(None, row_of(**{LEFT: entry("int16x10", scale=scale)}), LEFT, INT16)
    with pytest.raises(Refused, match="scale"):
        scale_of(info_of(tmp_path, **{LEFT: entry("int16x10", scale=scale)}), None, LEFT, INT16)


def test_float32_is_1_by_its_type_whatever_is_recorded(tmp_path: Path) -> None:
    task = info_of(tmp_path, **{LEFT: entry("int16x1000")})  # another episode's: the latest one wins there
    assert scale_of(task, None, LEFT, FLOAT32) == (1, "type")
    assert scale_of(task, row_of(**{LEFT: entry("float32", scale=10)}), LEFT, FLOAT32) == (1, "type")


def test_what_the_task_says_of_values_of_another_encoding_is_of_another_episode(tmp_path: Path) -> None:
    task = info_of(tmp_path, **{LEFT: entry("float32", scale=100)})
    assert scale_of(task, None, LEFT, INT16) == (1, "unscaled")


def test_an_encoding_that_contradicts_the_values_is_refused() -> None:
    for name, kind in (("float32", INT16), ("int16x10", FLOAT32)):
        with pytest.raises(Refused, match="recorded as"):
            scale_of(None, row_of(**{LEFT: entry(name)}), LEFT, kind)
    with pytest.raises(Refused, match="values of type double, expected int16 or float32"):
        encoding_of(None, LEFT, pa.float64())
    assert encoding_of(None, LEFT, INT16) == "row_diff_quantized"
    assert encoding_of(row_of(**{LEFT: entry("float32")}), LEFT, FLOAT32) == "row_flat_raw"


def matrix(row: int) -> np.ndarray:
    """Of no symmetry, a few mN, other in each row."""
    flat = np.arange(VALUES, dtype=np.float32) % 97 / 16 + row
    return flat.reshape(250, 250, 3)


def column_of(cells: list[Any], spec: Spec) -> Any:
    return pa.array([np.asarray(cell, spec.dtype) for cell in cells], pa.list_(pa.type_for_alias(spec.dtype)))


def data_of(path: Path, cells: list[Any], spec: Spec, stamps: list[int] | None = None) -> DataFile:
    table = {LEFT: column_of(cells, spec), **({f"{LEFT}_ns": pa.array(stamps)} if stamps else {})}
    pq.write_table(pa.table(table), path, compression="zstd")
    return DataFile(path)


@pytest.mark.parametrize("spec", SPECS.values(), ids=lambda spec: spec.name)
def test_a_column_of_each_spec_gives_rows_stamps_and_matrices(tmp_path: Path, spec: Spec) -> None:
    cells = [[], encode(matrix(1), spec), [], encode(matrix(3), spec)]
    data = data_of(tmp_path / "x.parquet", cells, spec, [0, 11, 0, 33])

    found = list(samples(data, LEFT, scale=spec.scale))

    assert [(each.row, each.ns) for each in found] == [(1, 11), (3, 33)]
    for each in found:
        error = np.abs(each.mn - matrix(each.row)).max()
        assert error < 1.0 if spec.name == "int16" else error <= 0.5 / spec.scale + 1e-5
        assert each.mn.dtype == np.float32
    assert not np.shares_memory(found[0].mn, found[1].mn)


def test_a_damaged_length_is_no_sample_and_the_rows_after_it_keep_their_numbers(tmp_path: Path) -> None:
    spec = SPECS["int16x10"]
    cells = [[1] * 750, encode(matrix(1), spec), [0] * (VALUES + 1), [5], encode(matrix(4), spec)]
    data = data_of(tmp_path / "x.parquet", cells, spec)
    assert [(each.row, each.ns) for each in samples(data, LEFT, scale=10)] == [(1, 0), (4, 0)]


def test_between_samples_the_latest_matrix_is_held_and_before_the_first_there_is_none(tmp_path: Path) -> None:
    spec = SPECS["float32"]
    cells = [[], [], encode(matrix(2), spec), [], [1.0], encode(matrix(5), spec), []]
    found = list(opened(data_of(tmp_path / "x.parquet", cells, spec), LEFT).held(1))

    assert len(found) == 7
    assert found[0] is None
    assert found[1] is None
    assert all((each == matrix(2)).all() for each in found[2:5])
    assert all((each == matrix(5)).all() for each in found[5:])
    assert found[3] is not None
    with pytest.raises(ValueError, match="read-only"):
        found[3][0, 0, 0] = 1  # it stands for several rows


def test_rows_keep_their_numbers_over_the_few_that_are_in_memory_at_a_time(tmp_path: Path) -> None:
    spec = SPECS["int16"]
    cells = [encode(np.full((250, 250, 3), row, np.float32), spec) if row % 3 else [] for row in range(40)]
    data = data_of(tmp_path / "x.parquet", cells, spec, [1000 * row if row % 3 else 0 for row in range(40)])
    assert len(list(data.batches([LEFT]))) > 2

    found = [(each.row, each.ns, float(each.mn[9, 9, 1])) for each in samples(data, LEFT, scale=1)]

    assert found == [(row, 1000 * row, row) for row in range(40) if row % 3]
    latest = [None if each is None else float(each[0, 0, 0]) for each in opened(data, LEFT).held(1)]
    assert latest == [None, *(row if row % 3 else row - 1 for row in range(1, 40))]


def test_a_column_that_is_always_empty_has_no_sample(tmp_path: Path) -> None:
    data = data_of(tmp_path / "x.parquet", [[], [], []], SPECS["int16"], [0, 0, 0])
    assert list(samples(data, LEFT, scale=1)) == []
    assert list(opened(data, LEFT).held(1)) == [None, None, None]


def test_lists_with_64_bit_offsets_are_read_alike(tmp_path: Path) -> None:
    cells = pa.array([[], encode(matrix(1), SPECS["int16"]).tolist()], pa.large_list(pa.int16()))
    pq.write_table(pa.table({LEFT: cells}), tmp_path / "x.parquet")
    (found,) = samples(DataFile(tmp_path / "x.parquet"), LEFT, scale=1)
    assert found.row == 1
    assert (found.mn == np.trunc(matrix(1))).all()


def test_a_column_that_is_missing_no_matrix_or_null_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({LEFT: pa.array([None, []], pa.list_(pa.int16())), "frame_index": pa.array([0, 1])}), path)
    data = DataFile(path)
    with pytest.raises(Refused, match="1 nulls"):
        list(samples(data, LEFT, scale=1))
    with pytest.raises(Refused, match=f"no such column of matrices, expected one of {LEFT}"):
        list(samples(data, OTHER, scale=1))
    with pytest.raises(Refused, match="no such column of matrices"):
        list(samples(data, "frame_index", scale=1))
    pq.write_table(pa.table({LEFT: pa.array([1])}), path)
    with pytest.raises(Refused, match="type int64, expected a list"):
        list(samples(DataFile(path), LEFT, scale=1))


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 6])
def test_the_samples_matrices_are_those_plain_integers_give_and_sum_up_to_the_force(
    sample_pooled: Path, number: int
) -> None:
    """Scales of 10, 100 and 1000, then float32, in one task: info.json tells one of them only."""
    episode = Task.open(sample_pooled / "recordings" / "umi_pick").episode(number)
    assert episode.files.data is not None
    plain = pq.read_table(episode.files.data)
    specs = json.loads(pq.read_table(episode.info.layout.row(number))["force_matrix_specs"][0].as_py())
    scale = specs.get(LEFT, {"scale": 100})["scale"]
    source = "info" if number == 6 else "type" if number == 4 else "row"
    assert episode.scale(LEFT) == (scale, source)

    found = list(episode.matrices(LEFT))

    lengths = [len(cell) for cell in plain[LEFT].to_pylist()]
    assert [each.row for each in found] == [row for row, length in enumerate(lengths) if length]
    assert [each.ns for each in found] == [plain[f"{LEFT}_ns"][each.row].as_py() for each in found]
    for each in found[:2]:
        stored = np.array(plain[LEFT][each.row].as_py()).reshape(250, 750)
        values = stored if number == 4 else (np.cumsum(stored, axis=1) + 32768) % 65536 - 32768
        assert (each.mn.reshape(250, 750) == (values / scale).astype(np.float32)).all()
    fz = np.array(plain["observation.gripper_left_force"].to_pylist())[:, 2]
    ratios = [each.mn[..., 2].sum(dtype=np.float64) / fz[each.row] for each in found if abs(fz[each.row]) >= 50]
    assert len(ratios) > 4
    assert all(0.55 < ratio < 1.001 if number == 5 else abs(ratio - 1) < 0.01 for ratio in ratios)


@pytest.mark.parametrize("name", ["int16x100", "float32"])
def test_150_matrices_are_read_from_parquet_a_second(tmp_path: Path, name: str) -> None:
    spec, rng = SPECS[name], np.random.default_rng(0)
    noise = [rng.normal(0, 3, (250, 250, 3)) * (rng.random((250, 250, 3)) < 0.3) for _ in range(8)]
    flat = np.concatenate([encode(each.astype(np.float32), spec) for each in noise])
    offsets = pa.array(np.arange(9, dtype=np.int32) * VALUES)
    piece = pa.ListArray.from_arrays(offsets, pa.array(flat))
    pq.write_table(pa.table({LEFT: pa.chunked_array([piece] * 12)}), tmp_path / "x.parquet", compression="zstd")
    best = 0.0
    for _ in range(3):
        begun = time.process_time()
        count = sum(1 for _ in samples(DataFile(tmp_path / "x.parquet"), LEFT, scale=spec.scale))
        best = max(best, count / (time.process_time() - begun))
    print(f"{name}: {best:.0f} matrices a second from Parquet")
    assert count == 96
    assert best >= 150
