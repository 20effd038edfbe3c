"""Force matrices recorded: five specs, one a column and episode, and their scale in the episode's own row.

Witness: plain pyarrow, and a decoder that adds in a loop.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from quickdraw.formats.pooled.recording.matrix_columns import MatrixColumns
from quickdraw.formats.pooled.recording.spool import Spool
from quickdraw.formats.pooled.writer import Recorder, Slot

LEFT, RIGHT = "observation.gripper_left_force_matrix", "observation.gripper_right_force_matrix"
SECOND = "observation.gripper_2_gripper_left_force_matrix"
SPECS = {
    "int16": ("int16", "row_diff_quantized", 1),
    "int16x10": ("int16", "row_diff_quantized", 10),
    "int16x100": ("int16", "row_diff_quantized", 100),
    "int16x1000": ("int16", "row_diff_quantized", 1000),
    "float32": ("float32", "row_flat_raw", 1),
}
WHOLE = 187_500


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    with Recorder(tmp_path, "umi", slots=[Slot("rgb", 32, 32)], app_version="1") as made:
        yield made


def row(recorder: Recorder, k: int = 0) -> None:
    recorder.add_frame({"rgb": np.zeros((32, 32, 3), np.uint8)}, hardware_ns=k + 1, wall_time=1.79e9 + k)


def matrix(value: float) -> Any:
    """Fx is `value` everywhere, fy -value, fz counts rows."""
    made = np.empty((250, 250, 3))
    made[..., 0], made[..., 1], made[..., 2] = value, -value, np.arange(250)[:, None] / 10
    return made


def decoded(flat: list[Any], encoding: str, scale: int) -> Any:
    if encoding == "row_flat_raw":
        return np.array(flat).reshape(250, 250, 3)
    rows = np.array(flat, np.int64).reshape(250, 750)
    total = np.zeros((250, 750), np.int64)
    for at in range(750):
        total[:, at] = rows[:, at] + (total[:, at - 1] if at else 0)
    return ((total + 32768) % 65536 - 32768).reshape(250, 250, 3) / scale


def data(recorder: Recorder, number: int) -> Any:
    return pq.read_table(recorder.root / f"data/chunk-000/episode-{number - 1:03d}.parquet")


def specs(recorder: Recorder, number: int) -> dict[str, Any]:
    (found,) = pq.read_table(recorder.root / f"meta/episodes/chunk-000/episode-{number - 1:03d}.parquet").to_pylist()
    parsed: dict[str, Any] = json.loads(found["force_matrix_specs"])
    return parsed


def entry(spec: str) -> dict[str, Any]:
    dtype, encoding, scale = SPECS[spec]
    return {"dtype": dtype, "shape": [250, 250, 3], "encoding": encoding, "scale": scale}


def test_episodes_of_different_specs_in_one_task_each_keep_their_own_scale(recorder: Recorder) -> None:
    """P-20: info.json tells only the last one."""
    for number, spec in enumerate(SPECS, 1):
        recorder.begin()
        recorder.add_force_matrix("left", matrix(2.675), 7, spec=spec)
        row(recorder)
        recorder.end()
        info = json.loads((recorder.root / "meta/info.json").read_text())
        assert info["features"][LEFT] == entry(spec)
        assert specs(recorder, number) == {LEFT: entry(spec)}
    for number, spec in enumerate(SPECS, 1):
        assert specs(recorder, number) == {LEFT: entry(spec)}
        table = data(recorder, number)
        dtype, encoding, scale = SPECS[spec]
        assert str(table.schema.field(LEFT).type.value_type).replace("float", "float32") == dtype
        found = decoded(table[LEFT][0].as_py(), encoding, scale)
        step = 1.0 if spec == "int16" else 0.5 / scale
        assert np.abs(found - matrix(2.675)).max() <= step * (1 + 1e-5)
        assert found[0, 0, 0] == {"int16": 2, "int16x10": 2.7, "int16x100": 2.68, "int16x1000": 2.675}.get(
            spec, np.float32(2.675)
        )


def test_a_row_between_samples_is_an_empty_list_with_a_stamp_of_0(recorder: Recorder) -> None:
    recorder.begin()
    row(recorder, 0)
    recorder.add_force_matrix("left", matrix(1), 11)
    recorder.add_force_matrix("left", matrix(2), 12)
    recorder.add_force_matrix("left", matrix(3), 13, gripper=2)
    row(recorder, 1)
    row(recorder, 2)
    recorder.end()
    table = data(recorder, 1)
    for column, stamp in ((LEFT, 12), (SECOND, 13)):
        assert table[column].combine_chunks().value_lengths().to_pylist() == [0, WHOLE, 0]
        assert table[column].null_count == 0
        assert table[f"{column}_ns"].to_pylist() == [0, stamp, 0]
    assert decoded(table[LEFT][1].as_py(), "row_diff_quantized", 100)[3, 4].tolist() == [2, -2, 0.3]


@pytest.mark.parametrize("spec", SPECS)
def test_a_matrix_is_copied_for_its_source_reuses_the_buffer(recorder: Recorder, spec: str) -> None:
    """P-26."""
    recorder.begin()
    buffer, flat = np.zeros((250, 250, 3), np.float32), np.zeros(WHOLE, SPECS[spec][0])
    for k in range(4):
        buffer[:], flat[:] = k + 1, k + 1
        recorder.add_force_matrix("left", buffer, k + 1, spec=spec)
        recorder.add_encoded_matrix("right", flat, k + 1, spec=spec)
        row(recorder, k)
    buffer[:], flat[:] = 99, 99
    recorder.end()
    table = data(recorder, 1)
    first = [each[0].as_py() for each in table[LEFT]]
    assert first == [(k + 1) * SPECS[spec][2] for k in range(4)]
    assert [set(np.array(each.as_py())) for each in table[RIGHT]] == [{k + 1} for k in range(4)]


def test_the_form_of_delivery_does_not_change_the_file(tmp_path: Path) -> None:
    """P-25: lists, arrays, NumPy scalars, and any mixture of them."""
    flats = {spec: np.arange(WHOLE).astype(SPECS[spec][0]) % 7 for spec in ("int16x10", "float32")}
    for spec, flat in flats.items():
        made = []
        for form in ("array", "list", "scalars", "mixed"):
            with Recorder(
                tmp_path / form, spec, slots=[Slot("r", 32, 32)], app_version="1", force_spec=spec
            ) as recorder:
                recorder.begin()
                for k in range(4):
                    delivered: Any = flat + flat.dtype.type(k)
                    if form == "list" or (form == "mixed" and k % 2):
                        delivered = delivered.tolist()
                    elif form == "scalars":
                        delivered = list(delivered)  # of np.float32, which is no Python float
                    if k != 2:
                        recorder.add_encoded_matrix("left", delivered, k + 1)
                    recorder.add_frame({"r": np.zeros((32, 32, 3), np.uint8)}, hardware_ns=k + 1, wall_time=1.79e9 + k)
                recorder.end()
            made.append((data(recorder, 1), specs(recorder, 1)))
        table, told = made[0]
        assert str(table.schema.field(LEFT).type.value_type) == {"int16x10": "int16", "float32": "float"}[spec]
        assert table[LEFT].combine_chunks().value_lengths().to_pylist() == [WHOLE, WHOLE, 0, WHOLE]
        assert [each.as_py()[:3] for each in table[LEFT]] == [[0, 1, 2], [1, 2, 3], [], [3, 4, 5]]
        assert all(other.equals(table) and other_told == told == {LEFT: entry(spec)} for other, other_told in made)


def test_the_first_sample_of_a_column_decides_its_spec_for_the_episode_and_each_column_decides_for_itself(
    recorder: Recorder,
) -> None:
    recorder.begin()
    recorder.add_encoded_matrix("left", [], 1, spec="int16x1000")  # decides nothing
    recorder.add_force_matrix("left", np.empty((0, 250, 3)), 1)
    recorder.add_force_matrix("left", np.zeros((250, 750)), 1, spec="float32")  # nor does a damaged one
    recorder.add_force_matrix("left", matrix(1), 2, spec="float32")
    recorder.add_force_matrix("right", matrix(1), 2, spec="int16x10")
    recorder.add_force_matrix("left", matrix(1), 2, gripper=2)
    for spec in ("int16", "int16x100"):
        with pytest.raises(ValueError, match=f"{LEFT}: recorded by spec float32, which {spec} cannot follow"):
            recorder.add_force_matrix("left", matrix(1), 3, spec=spec)
    with pytest.raises(ValueError, match=f"{RIGHT}: recorded by spec int16x10, which int16x100"):
        recorder.add_encoded_matrix("right", np.zeros(WHOLE, np.int16), 3)
    with pytest.raises(ValueError, match="values of float64, but int16x100 is stored in int16"):
        recorder.add_encoded_matrix("right", np.zeros(WHOLE), 3)
    with pytest.raises(ValueError, match="'int8'; there are int16, int16x10, int16x100, int16x1000, float32"):
        recorder.add_force_matrix("left", matrix(1), 3, spec="int8")
    row(recorder)
    recorder.end()
    assert specs(recorder, 1) == {SECOND: entry("int16x100"), LEFT: entry("float32"), RIGHT: entry("int16x10")}
    recorder.begin()
    recorder.add_force_matrix("left", matrix(1), 2, spec="int16")
    row(recorder)
    recorder.end()
    assert specs(recorder, 2) == {LEFT: entry("int16")}


def test_a_column_that_was_always_empty_is_there_and_one_that_never_appeared_is_not(recorder: Recorder) -> None:
    recorder.begin()
    recorder.add_force_matrix("left", [], 1)
    row(recorder)
    recorder.end()
    table = data(recorder, 1)
    assert table[LEFT].to_pylist() == [[]]
    assert RIGHT not in table.column_names
    assert specs(recorder, 1) == {LEFT: entry("int16x100")}
    assert json.loads((recorder.root / "meta/info.json").read_text())["features"][LEFT] == entry("int16x100")


def test_damaged_matrices_are_no_samples_and_counted(recorder: Recorder) -> None:
    recorder.begin()
    bad = matrix(1)
    bad[7, 8, 2] = np.nan
    recorder.add_force_matrix("left", matrix(3), 5)
    for each in (bad, np.full((250, 250, 3), np.inf), np.full((250, 250, 3), 1e300), np.zeros((250, 750))):
        recorder.add_force_matrix("left", each, 6)
    recorder.add_encoded_matrix("left", np.zeros(750, np.int16), 6)
    recorder.add_encoded_matrix("left", np.full(WHOLE, 40_000), 6)
    row(recorder)
    told = recorder.end()
    assert told.drop_stats[f"{LEFT}_rejected_count"] == 6
    assert data(recorder, 1)[f"{LEFT}_ns"].to_pylist() == [5]
    assert decoded(data(recorder, 1)[LEFT][0].as_py(), "row_diff_quantized", 100)[0, 0].tolist() == [3, -3, 0]


def test_a_sample_that_comes_while_the_episode_ends_makes_no_spec_without_a_column(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder.begin()
    row(recorder)
    take = recorder._taking()
    late = MatrixColumns("int16x10")
    monkeypatch.setattr(take, "_matrices", late)
    finish = Spool.finish

    def meanwhile(spool: Spool, *given: Any) -> Path:
        late.encoded(RIGHT, matrix(1.0))  # by a thread that asked for the episode before it was over
        return finish(spool, *given)

    monkeypatch.setattr(Spool, "finish", meanwhile)
    assert recorder.end().force_matrix_specs == {}
    assert RIGHT not in data(recorder, 1).column_names
    assert RIGHT not in json.loads((recorder.root / "meta/info.json").read_text())["features"]
