"""What a check makes of columns: a later version's, listed gloves, torn text; and no more work than is needed."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from quickdraw.formats.pooled.arrow_arrays import Ragged
from quickdraw.formats.pooled.check import check

MATRIX = "observation.gripper_left_force_matrix"


def test_a_later_versions_column_is_passed_over_down_to_its_last_cell(tiny: Any, making: Any) -> None:
    odd = {
        "observation.gripper_left_torque": pa.array([[float("nan"), 1.0]] * 10),
        "observation.gripper_left_torque_ns": pa.array([-1] * 10),
        "observation.touch": pa.array([{"a": None}] * 10),
        "observation.words": pa.array([["x"], None] * 5),
        "extra": making.fixed(np.full(10, np.inf), 1),
    }
    tiny.edit_table(tiny.data(2), lambda columns: columns.update(odd))
    entries = {name: {"dtype": "float64", "shape": [2]} for name in odd}
    tiny.edit("info.json", lambda document: document["features"].update(entries))
    found = check(tiny.root, deep=True).findings
    assert [(each.rule, each.severity, each.found.split()[0]) for each in found] == [
        ("data-column", "info", name) for name in odd
    ]
    assert "readers pass it over" in {each.mend for each in found}


def test_a_glove_that_infojson_lists_must_be_one_and_any_glove_may_be_there(tiny: Any, making: Any) -> None:
    tiny.edit_table(tiny.data(2), lambda columns: columns.update({"observation.third": pa.array([[0.5]] * 10)}))
    assert [each.rule for each in check(tiny.root).findings] == ["data-column"]
    tiny.edit("info.json", lambda document: document["sensors"].append("third"))
    assert [each.rule for each in check(tiny.root).of("error")] == ["data-type"]
    tiny.edit("info.json", lambda document: document["sensors"].clear())
    whole = making.fixed(np.zeros((10, 256)), 256)
    tiny.edit_table(tiny.data(2), lambda columns: columns.update({"observation.third": whole}))
    assert [each.rule for each in check(tiny.root).findings] == ["feature-missing"]


def test_text_that_is_no_utf8_is_told_of_its_column(tiny: Any) -> None:
    torn = pa.StringArray.from_buffers(10, pa.array(["ab"] * 10).buffers()[1], pa.py_buffer(b"\xff\xfe" * 10))
    tiny.edit_table(tiny.data(2), lambda columns: columns.update({"status.cam0": torn}))
    (finding,) = check(tiny.root, deep=True).findings
    assert (finding.rule, finding.number) == ("cell-value", 2)
    assert "status.cam0" in finding.found


def raw_matrices(values: Any) -> Any:
    offsets = np.arange(0, len(values) + 1, 187_500, dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values))


def test_rows_of_values_are_worked_out_only_for_a_column_with_a_bad_one(
    tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    rows = Ragged.rows.fget
    monkeypatch.setattr(Ragged, "rows", property(lambda self: (asked.append(len(self.values)), rows(self))[1]))
    spec = {"dtype": "float32", "shape": [250, 250, 3], "encoding": "row_flat_raw", "scale": 1}
    tiny.set_row(2, force_matrix_specs=json.dumps({MATRIX: spec}))
    values = np.zeros(10 * 187_500, np.float32)
    tiny.edit_table(tiny.data(2), lambda columns: columns.update({MATRIX: raw_matrices(values)}))
    assert check(tiny.root, deep=True).of("error") == ()
    assert max(asked) < 187_500
    values[0] = np.nan
    tiny.edit_table(tiny.data(2), lambda columns: columns.update({MATRIX: raw_matrices(values)}))
    told = [each.found for each in check(tiny.root, deep=True).findings if each.rule == "cell-value"]
    assert told == [f"{MATRIX}: a number that is not finite, or text that is no UTF-8 in row 0"]
    assert max(asked) >= 187_500
