"""Scales that were never recorded: found where the force tells them, else left alone (sheet, section 12)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickdraw.errors import Refused
from quickdraw.formats.pooled import exclusive, repair
from quickdraw.formats.pooled.check import check
from quickdraw.formats.pooled.data import DataFile
from quickdraw.formats.pooled.info import recognise
from quickdraw.formats.pooled.layout import Layout

MATRIX = "observation.gripper_left_force_matrix"
FORCE = "observation.gripper_left_force"
INT16 = {"dtype": "int16", "shape": [250, 250, 3], "encoding": "row_diff_quantized"}
FLOAT = {"dtype": "float32", "shape": [250, 250, 3], "encoding": "row_flat_raw", "scale": 1}


def stored(values_mn: Any, scale: int) -> Any:
    """One matrix [mN], of any shape that broadcasts, as a recorder stores it; the recipe is written here anew."""
    matrix = np.broadcast_to(np.asarray(values_mn, np.float32), (250, 250, 3)).reshape(250, 750)
    steps = np.trunc(matrix) if scale == 1 else np.rint(matrix * np.float32(scale))
    wide = np.clip(steps, -32767, 32767).astype(np.int64)
    return np.diff(wide, axis=1, prepend=0).astype(np.int16).reshape(-1)


def cells(samples: list[Any], kind: Any) -> Any:
    lengths = np.array([len(each) for each in samples])
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    values = np.concatenate([np.asarray(each, kind.to_pandas_dtype()) for each in samples])
    return pa.ListArray.from_arrays(offsets, pa.array(values, kind))


Write = Callable[..., Path]


@pytest.fixture
def written(tiny: Any, making: Any) -> Write:
    """`written(samples, force)`: episode 2 with those matrices and forces, and no scale anywhere; the task's folder."""

    def write(samples: list[Any], force: Any, kind: Any = None) -> Path:
        def change(columns: dict[str, Any]) -> None:
            columns[MATRIX] = cells(samples, kind or pa.int16())
            if force is None:
                del columns[FORCE]
            else:
                columns[FORCE] = making.fixed(force, 3)

        tiny.edit_table(tiny.data(2), change)
        tiny.set_row(2, force_matrix_specs="{}")
        tiny.edit("info.json", lambda document: document["features"].pop(MATRIX, None))
        root: Path = tiny.root
        return root

    return write


def planned(root: Path) -> repair.Plan:
    return repair.plan(recognise(root).layout)


def recorded(tiny: Any, number: int = 2) -> Any:
    return json.loads(pq.read_table(tiny.row(number)).to_pylist()[0]["force_matrix_specs"])


@pytest.mark.parametrize("scale", [10, 100, 1000])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_scaled_column_gets_its_own_scale(written: Write, tiny: Any, scale: int, sign: int) -> None:
    # -31 mN to 31 mN, within what x1000 can hold; the sum is known in closed form.
    field = sign * (np.linspace(0.005, 30.0, 62500).reshape(250, 250) + 0.3)
    matrix = np.stack([-field / 3, field / 7, field], axis=-1)
    total = float(field.sum())
    root = written([stored(matrix, scale)] * 10, np.full((10, 3), total))
    before = {name: content for name, content in tiny.bytes_of_all().items() if name.startswith("data/")}
    plan = planned(root)
    (episode,) = plan.episodes
    (column,) = episode.columns
    assert (column.column, column.frames) == (MATRIX, 10)
    assert column.ratio == pytest.approx(scale, rel=0.001)
    assert column.deviation is not None
    assert column.deviation < 0.001
    assert repair.apply(plan) == (tiny.row(2),)
    assert recorded(tiny) == {MATRIX: {**INT16, "scale": scale}}
    assert {name: content for name, content in tiny.bytes_of_all().items() if name.startswith("data/")} == before


def test_plain_int16_whose_fractions_were_cut_gets_1(written: Write, tiny: Any) -> None:
    root = written([stored([0, 0, 5.75], 1)] * 10, np.full((10, 3), 62500 * 5.75))
    plan = planned(root)
    assert plan.episodes[0].columns[0].ratio == pytest.approx(5 / 5.75)
    repair.apply(plan)
    assert recorded(tiny) == {MATRIX: {**INT16, "scale": 1}}


def test_float32_is_1_by_its_type_whatever_it_adds_up_to(written: Write, tiny: Any) -> None:
    # P-31: a ratio of 100 means nothing here, nor does there being no force at all.
    raw = np.full(187500, 0.5, np.float32)
    for force in (np.full((10, 3), 62500 * 0.5), np.full((10, 3), 312.5), None):
        tiny.set_row(2, force_matrix_specs="{}")
        if force is not None:
            root = written([raw] * 10, force, pa.float32())
        else:
            tiny.edit_table(tiny.data(2), lambda columns: columns.pop(FORCE))
        repair.apply(planned(root))
        assert recorded(tiny) == {MATRIX: FLOAT}


@pytest.mark.parametrize(("what", "sample", "force", "frames"), [
    ("no force column", stored([0, 0, 1.0], 100), None, 10),
    ("all-zero force", stored([0, 0, 1.0], 100), np.zeros((10, 3)), 10),
    ("force below 50 mN", stored([0, 0, 0.0007], 1000), np.full((10, 3), 43.75), 10),
    ("two usable frames", stored([0, 0, 1.0], 100), np.full((10, 3), 62500.0), 2),
    ("a ratio between scales", stored([0, 0, 1.0], 100), np.full((10, 3), 62500.0 * 2.5), 10),
    ("a ratio of 1.2", stored([0, 0, 6.0], 1), np.full((10, 3), 62500.0 * 5), 10),
    ("P-31: the other sign, x100", stored([0, 0, 1.0], 100), np.full((10, 3), -62500.0), 10),
    ("P-31: the other sign, x1", stored([0, 0, 5.75], 1), np.full((10, 3), -62500.0 * 5.75), 10),
    ("matrices of nothing", stored([0, 0, 0], 100), np.full((10, 3), 62500.0), 10),
    ("damaged matrices", np.ones(750, np.int16), np.full((10, 3), 62500.0), 10),
    ("force that is not finite", stored([0, 0, 1.0], 100), np.full((10, 3), np.nan), 10),
])  # fmt: skip
def test_what_the_force_does_not_settle_is_never_guessed(
    written: Write, tiny: Any, what: str, sample: Any, force: Any, frames: int
) -> None:
    root = written([sample if k < frames else [] for k in range(10)], force)
    before = tiny.bytes_of_all()
    plan = planned(root)
    ((number, column),) = plan.undecided
    assert (number, column.spec) == (2, None)
    assert column.reason
    assert repair.apply(plan) == ()
    after = tiny.bytes_of_all()
    after.pop("meta/" + exclusive.LOCK, None)
    assert after == before


def test_a_plan_alone_writes_nothing(written: Write, tiny: Any) -> None:
    root = written([stored([0, 0, 1.0], 100)] * 10, np.full((10, 3), 62500.0))
    before = tiny.bytes_of_all()
    assert planned(root).episodes[0].decided
    assert tiny.bytes_of_all() == before
    assert recorded(tiny) == {}


def test_a_recorded_1_is_never_asked_about_again(written: Write, tiny: Any) -> None:
    root = written([stored([0, 0, 1.0], 1000)] * 10, np.full((10, 3), 62500.0))
    tiny.set_row(2, force_matrix_specs=json.dumps({MATRIX: {**INT16, "scale": 1}}))
    assert planned(root).episodes == ()


def test_a_second_run_finds_nothing_and_check_is_content(written: Write, tiny: Any) -> None:
    root = written([stored([0, 0, 1.0], 100)] * 10, np.full((10, 3), 62500.0))
    assert "matrix-scale" in [each.rule for each in check(root).findings]
    repair.apply(planned(root))
    assert planned(root).episodes == ()
    assert "matrix-scale" not in [each.rule for each in check(root).findings]
    before = tiny.bytes_of_all()
    assert repair.apply(planned(root)) == ()
    assert tiny.bytes_of_all() == before


def test_of_two_columns_the_decided_one_is_written_and_the_other_left(written: Write, tiny: Any, making: Any) -> None:
    root = written([stored([0, 0, 1.0], 100)] * 10, np.full((10, 3), 62500.0))
    second = MATRIX.replace("left", "right")
    third = MATRIX.replace("observation.", "observation.gripper_2_")

    def add(columns: dict[str, Any]) -> None:
        columns[second] = cells([stored([0, 0, 1.0], 100)] * 10, pa.int16())
        columns[third] = cells([stored([0, 0, 1.0], 10)] * 10, pa.int16())
        columns[third.removesuffix("_matrix")] = making.fixed(np.full((10, 3), 62500.0), 3)

    tiny.edit_table(tiny.data(2), add)
    kept = {second + "_gone": {"scale": 7}}
    tiny.set_row(2, force_matrix_specs=json.dumps(kept))
    plan = planned(root)
    assert [column.column for _, column in plan.undecided] == [second]
    repair.apply(plan)
    assert recorded(tiny) == {**kept, MATRIX: {**INT16, "scale": 100}, third: {**INT16, "scale": 10}}


def test_the_rest_of_the_row_stays_and_an_old_row_gets_its_eleventh_column(written: Write, tiny: Any) -> None:
    root = written([stored([0, 0, 1.0], 100)] * 10, np.full((10, 3), 62500.0))
    (before,) = pq.read_table(tiny.row(2)).to_pylist()
    calibration = '{"head_stereo":  {"baseline": 0.05}}'

    def old(columns: dict[str, Any]) -> None:
        del columns["force_matrix_specs"]
        columns["calibration"] = pa.array([calibration])
        columns["of_a_later_version"] = pa.array([[1, 2]])

    tiny.edit_table(tiny.row(2), old)
    repair.apply(planned(root))
    table = pq.read_table(tiny.row(2))
    assert table.schema.names == [*before, "of_a_later_version"]
    (after,) = table.to_pylist()
    assert json.loads(after.pop("force_matrix_specs")) == {MATRIX: {**INT16, "scale": 100}}
    before.pop("force_matrix_specs")
    assert after == {**before, "calibration": calibration, "of_a_later_version": [1, 2]}


def test_specs_that_do_not_parse_count_as_none(written: Write, tiny: Any) -> None:
    root = written([stored([0, 0, 1.0], 100)] * 10, np.full((10, 3), 62500.0))
    for text in ("", "{", "[]", "null", '{"' + MATRIX + '": 5}', '{"' + MATRIX + '": {"scale": 0}}'):
        tiny.set_row(2, force_matrix_specs=text)
        assert planned(root).episodes[0].decided[MATRIX].scale == 100


def test_rows_that_cannot_be_looked_into_are_skipped_with_a_reason(tiny: Any) -> None:
    tiny.row(1).write_bytes(b"no Parquet")
    tiny.data(2).unlink()
    row = pq.read_table(tiny.row(3)).to_pylist()[0]
    tiny.write_rows(tiny.row(3), [row, {**row, "episode_index": 4}])
    plan = planned(tiny.root)
    assert plan.episodes == ()
    reasons = dict(plan.skipped)
    assert reasons == {
        tiny.row(1): "unreadable", tiny.row(2): "episode 2 has no data", tiny.row(3): "2 rows; one expected",
    }  # fmt: skip


def test_a_damaged_data_file_is_skipped_or_undecided(written: Write, tiny: Any) -> None:
    root = written([stored([0, 0, 1.0], 100)] * 10, np.full((10, 3), 62500.0))
    whole = tiny.data(2).read_bytes()
    tiny.data(2).write_bytes(whole[:-20])
    assert [path for path, _ in planned(root).skipped] == [tiny.row(2)]
    flipped = bytearray(whole)
    flipped[1000:60_000] = bytes(59_000)
    tiny.data(2).write_bytes(flipped)
    plan = planned(root)
    assert not any(episode.decided for episode in plan.episodes)


def test_a_row_that_changed_since_the_plan_is_left_alone(written: Write, tiny: Any) -> None:
    root = written([stored([0, 0, 1.0], 100)] * 10, np.full((10, 3), 62500.0))
    plan = planned(root)
    tiny.set_row(2, force_matrix_specs=json.dumps({MATRIX: {**INT16, "scale": 10}}))
    assert repair.apply(plan) == ()
    assert recorded(tiny)[MATRIX]["scale"] == 10


def test_a_task_that_is_being_recorded_is_refused(written: Write, tiny: Any) -> None:
    root = written([stored([0, 0, 1.0], 100)] * 10, np.full((10, 3), 62500.0))
    plan = planned(root)
    with exclusive.changing(plan.layout), pytest.raises(Refused, match="at work"):
        repair.apply(plan)
    assert recorded(tiny) == {}


def test_at_most_200_frames_are_measured(written: Write, tiny: Any) -> None:
    ratios = np.concatenate([np.full(200, 100.0), np.full(400, 7.0)])
    root = written([stored([0, 0, 1.0], 100)] * 10, np.full((10, 3), 62500.0))
    table = pq.read_table(tiny.data(2))
    forces = np.repeat((62500.0 * 100 / ratios)[:, None], 3, axis=1)
    held = {FORCE: pa.FixedSizeListArray.from_arrays(pa.array(forces.astype(np.float32).reshape(-1)), 3)}
    one = table.column(MATRIX).combine_chunks().slice(0, 1)
    held[MATRIX] = pa.concat_arrays([one] * 600)
    path = root / "long.parquet"
    pq.write_table(pa.table(held), path, compression="zstd", row_group_size=64)
    measured = repair.measure(DataFile(path), MATRIX)
    assert (measured.frames, measured.spec and measured.spec.scale) == (200, 100)


def test_the_samples_unscaled_matrix_is_x100_and_nothing_else_is_touched(pooled_sample: Callable[[str], Any]) -> None:
    umi = pooled_sample("umi_pick")
    before = umi.bytes_of_all()
    plan = planned(umi.root)
    (episode,) = plan.episodes
    (column,) = episode.columns
    assert episode.number == 6
    assert (column.spec and column.spec.name, column.frames) == ("int16x100", 8)
    assert column.ratio == pytest.approx(99.925, abs=0.001)
    assert repair.apply(plan) == (umi.row(6),)
    assert check(umi.root, deep=True).findings == ()
    after = umi.bytes_of_all()
    changed = {name for name in after if after[name] != before.get(name)}
    assert changed == {"meta/episodes/chunk-000/episode-005.parquet", "meta/" + exclusive.LOCK}


def test_progress_is_told_for_every_row_file(tiny: Any) -> None:
    told: list[tuple[int, int]] = []
    repair.plan(Layout(tiny.root), tell=lambda done, of: told.append((done, of)))
    assert told == [(1, 3), (2, 3), (3, 3)]


@given(ratio=st.floats(-2000, 2000), frames=st.integers(5, 20))
def test_a_ratio_is_decided_by_the_rules_alone(ratio: float, frames: int) -> None:
    found = repair.decide("c", np.full(frames, ratio)).spec
    near = [scale for scale in (1, 10, 100, 1000) if abs(ratio - scale) <= 0.03 * scale]
    expected = near[0] if near else 1 if 0 < ratio <= 1.15 else None
    assert (found.scale if found else None) == expected


def _planted(root: Path, **cells: Any) -> Path:
    """Episode 6's row with other cells, each an Arrow array of one."""
    path = root / "meta/episodes/chunk-000/episode-005.parquet"
    table = pq.read_table(path)
    for name, values in cells.items():
        table = table.set_column(table.schema.get_field_index(name), name, values)
    pq.write_table(table.replace_schema_metadata({"by": "another"}), path, compression="zstd")
    return path


def test_only_the_specs_of_a_row_become_others(pooled_sample: Callable[[str], Any]) -> None:
    root = pooled_sample("umi_pick").root
    cells = {
        "length": pa.array([12.0], pa.float64()),
        "drop_stats": pa.array([b'{"ext:umi_rgb": 7}'], pa.binary()),
        "video_codec": pa.array(['{"torn'], pa.string()),
        "calibration": pa.array([None], pa.string()),
    }
    path = _planted(root, **cells)
    assert repair.apply(repair.plan(recognise(root).layout)) == (path,)
    after = pq.read_table(path)
    (row,) = after.to_pylist()
    assert (row["length"], row["drop_stats"], row["video_codec"]) == (12, '{"ext:umi_rgb": 7}', '{"torn')
    assert after.schema.metadata == {b"by": b"another"}
    assert json.loads(row["force_matrix_specs"])["observation.gripper_left_force_matrix"]["scale"] == 100


@pytest.mark.parametrize("text", ['{"x": NaN}', '{"x": 1e999}', '{"x": "\\ud800"}', '{"torn', ""])
def test_specs_that_are_no_sound_json_are_no_traceback(text: str, pooled_sample: Callable[[str], Any]) -> None:
    root = pooled_sample("umi_pick").root
    path = _planted(root, force_matrix_specs=pa.array([text], pa.string()))
    assert repair.apply(repair.plan(recognise(root).layout)) == (path,)
    specs = json.loads(pq.read_table(path).to_pylist()[0]["force_matrix_specs"])
    assert specs["observation.gripper_left_force_matrix"]["scale"] == 100
    assert repair.plan(recognise(root).layout).episodes == ()


def test_a_row_of_other_types_is_left_alone_and_told(pooled_sample: Callable[[str], Any]) -> None:
    root = pooled_sample("umi_pick").root
    path = _planted(root, length=pa.array([2**64 - 1], pa.uint64()))
    before = path.read_bytes()
    planned = repair.plan(recognise(root).layout)
    assert [(each, "type" in reason) for each, reason in planned.skipped] == [(path, True)]
    assert repair.apply(planned) == ()
    assert path.read_bytes() == before


def test_a_force_column_of_text_settles_nothing(pooled_sample: Callable[[str], Any]) -> None:
    root = pooled_sample("umi_pick").root
    path = root / "data/chunk-000/episode-005.parquet"
    table, name = pq.read_table(path), "observation.gripper_left_force"
    words = pa.array([["a", "b", "c"]] * table.num_rows, pa.list_(pa.string()))
    pq.write_table(table.set_column(table.schema.get_field_index(name), name, words), path)
    ((number, found),) = repair.plan(recognise(root).layout).undecided
    assert (number, found.spec) == (6, None)
