"""The simulator's own matrix and log codes against the contract's printed vectors and its formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quickdraw.sim.pooled import log_codes, matrix_codec
from quickdraw.sim.pooled.spec import MatrixSpec

INTEGER_SPECS: tuple[MatrixSpec, ...] = ("int16", "int16x10", "int16x100", "int16x1000")
SCALES = {"int16": 1, "int16x10": 10, "int16x100": 100, "int16x1000": 1000}


@pytest.mark.parametrize(
    ("value_mn", "levels"),
    [
        (5.75, (5, 58, 575, 5750)),
        (-5.75, (-5, -58, -575, -5750)),
        (0.05, (0, 0, 5, 50)),
        (0.25, (0, 2, 25, 250)),
        (2.675, (2, 27, 268, 2675)),
        (-40.0, (-40, -400, -4000, -32767)),
        (3276.75, (3276, 32767, 32767, 32767)),
        (40000.0, (32767, 32767, 32767, 32767)),
    ],
)
def test_the_printed_vectors_hold_at_every_scale(value_mn: float, levels: tuple[int, ...]) -> None:
    value = np.array([value_mn], np.float32)
    assert [int(matrix_codec.quantised(value, scale)[0]) for scale in SCALES.values()] == list(levels)


def test_differences_wrap_as_printed_and_every_row_of_points_begins_anew() -> None:
    matrix = np.zeros((250, 750), np.float32)
    matrix[0, :5] = matrix[7, :5] = [32767, -32767, 32767, 0, -1]
    flat = matrix_codec.stored(matrix.reshape(250, 250, 3), "int16")
    rows = flat.reshape(250, 750)
    assert rows[0, :6].tolist() == rows[7, :6].tolist() == [32767, 2, -2, -32767, -1, 1]
    assert not rows[1:7].any()
    assert np.array_equal(matrix_codec.restored(flat, "int16").reshape(250, 750), matrix)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(INTEGER_SPECS))
def test_an_integer_code_is_undone_to_within_half_a_level(seed: int, spec: MatrixSpec) -> None:
    scale = SCALES[spec]
    matrix = np.random.default_rng(seed).uniform(-32.0, 32.0, (250, 250, 3)).astype(np.float32)
    back = matrix_codec.restored(matrix_codec.stored(matrix, spec), spec)
    assert np.abs(back - matrix).max() <= (1.0 if scale == 1 else 0.5 / scale + 4e-6)  # float32 at 32 mN


def test_raw_matrices_stay_bit_for_bit_and_are_copies() -> None:
    matrix = np.random.default_rng(1).normal(size=(250, 250, 3)).astype(np.float32)
    flat = matrix_codec.stored(matrix, "float32")
    assert np.array_equal(flat, matrix.ravel())
    assert not np.shares_memory(flat, matrix)
    assert np.array_equal(matrix_codec.restored(flat, "float32"), matrix)


TABLE = {101: 10, 102: 21, 110: 100, 150: 424, 200: 726, 250: 959, 300: 1150, 500: 1685, 600: 1876, 1000: 2410} | {
    1500: 2835,
    2000: 3136,
    3000: 3560,
    4000: 3861,
    5000: 4095,
    10000: 4095,
}


def test_the_printed_table_of_log_codes_holds() -> None:
    assert dict(zip(TABLE, log_codes.codes(np.array(list(TABLE), np.uint16)).tolist(), strict=True)) == TABLE
    assert [log_codes.millimetres(code) for code in (10, 424, 1876, 3560, 4095)] == [101, 150, 600, 2999, 5000]


def test_searched_thresholds_are_the_formula_for_every_16_bit_depth() -> None:
    mm = np.arange(65536)
    step = 4095 / (math.log(5000.0) - math.log(100.0))
    formula = np.clip(np.round((np.log(np.maximum(mm, 1)) - math.log(100.0)) * step), 0, 4095)
    assert np.array_equal(log_codes.codes(mm.astype(np.uint16)), np.where(mm == 0, 0, formula))
