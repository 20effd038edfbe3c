"""Codes of depth against the formula in plain floats, and the table of the sheet (8.2)."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest

from quickdraw.formats.pooled.depth_codes import INVALID_BELOW, metric, quantise, shade

EVERY_MM = np.arange(1 << 16, dtype=np.uint16)
EVERY_CODE = np.arange(4096, dtype=np.uint16)
TABLE = [  # mm, code, mm again
    (101, 10, 101),
    (102, 21, 102),
    (110, 100, 110),
    (150, 424, 150),
    (200, 726, 200),
    (250, 959, 250),
    (300, 1150, 300),
    (500, 1685, 500),
    (600, 1876, 600),
    (1000, 2410, 1000),
    (1500, 2835, 1500),
    (2000, 3136, 2000),
    (3000, 3560, 2999),
    (4000, 3861, 3998),
    (5000, 4095, 5000),
    (10000, 4095, 5000),
]
STEP = 4095 / (log(5000) - log(100))


@pytest.mark.parametrize(("depth_mm", "code", "again_mm"), TABLE)
def test_the_table_of_the_sheet(depth_mm: int, code: int, again_mm: int) -> None:
    found = quantise(np.array([[depth_mm]], np.uint16))
    assert (found.shape, found.dtype, found.item()) == ((1, 1), np.uint16, code)
    assert metric(found, 0).item() == again_mm
    assert metric(found).item() == (again_mm if code >= INVALID_BELOW else 0)


def test_every_depth_is_coded_by_the_formula() -> None:
    expected = [0] + [min(max(round((log(mm) - log(100)) * STEP), 0), 4095) for mm in range(1, 1 << 16)]
    assert quantise(EVERY_MM).tolist() == expected
    assert expected[100] == 0
    assert expected[4998] == 4095 > expected[4997]


def test_every_code_is_decoded_by_the_formula() -> None:
    assert metric(EVERY_CODE, 0).tolist() == [round(exp(log(100) + code / STEP)) for code in range(4096)]
    assert pytest.approx(1046.7729853) == STEP


def test_depth_survives_to_two_millimetres_and_exactly_where_codes_are_finer_than_millimetres() -> None:
    error = np.abs(metric(quantise(EVERY_MM[100:5001]), 0).astype(int) - EVERY_MM[100:5001])
    assert error.max() == 2
    assert 100 + int(np.flatnonzero(error)[0]) == 1090


def test_code_0_is_no_depth_to_a_metric_reader_and_100_mm_to_none() -> None:
    assert metric(EVERY_CODE)[:INVALID_BELOW].max() == 0
    np.testing.assert_array_equal(metric(EVERY_CODE)[INVALID_BELOW:], metric(EVERY_CODE, 0)[INVALID_BELOW:])
    assert metric(EVERY_CODE, 1)[:2].tolist() == [0, 100]
    assert metric(EVERY_CODE, 0)[0] == 100


def test_a_code_is_not_millimetres() -> None:
    assert metric(np.array([1511], np.uint16)).item() == 424


def test_what_has_more_than_twelve_bits_is_no_code() -> None:
    with pytest.raises(ValueError, match="code 4096"):
        metric(np.array([[0, 4096]], np.uint16))
    assert metric(np.zeros((0, 3), np.uint16)).shape == (0, 3)


def test_shades_do_not_wrap_at_sixteen_bits() -> None:
    code = np.array([1799], np.uint16)
    assert ((code * np.uint16(255)) // 4095).item() == 16  # in sixteen bits
    assert shade(code).item() == 112
    assert shade(EVERY_CODE).tolist() == [code * 255 // 4095 for code in range(4096)]
