"""Depth as codes and back: against lerobot's own arithmetic, the recorder's table, and what every mm must read as."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from quickdraw.core.depth import CONTRACT, LEROBOT, DepthScale
from quickdraw.formats.pooled import depth_codes

EVERY = np.arange(1 << 16).astype(np.uint16).reshape(256, 256)
SCALES = (LEROBOT, CONTRACT)


@pytest.fixture(scope="module")
def lerobots(lerobot: Callable[[str, dict[str, Any]], dict[str, Any]]) -> list[npt.NDArray[np.float64]]:
    """The mm lerobot reads from each code, per scale."""
    infos = [{"video.codec": "hevc", "video.pix_fmt": "gray12le", **scale.info()} for scale in SCALES]
    return [np.array(levels) for levels in lerobot("read_depth", {"clips": [], "scales": infos})["levels"]]


def test_levels_are_what_lerobot_reads_from_all_4096_codes(lerobots: list[npt.NDArray[np.float64]]) -> None:
    for scale, expected in zip(SCALES, lerobots, strict=True):
        assert scale.levels.dtype == np.float64
        np.testing.assert_array_equal(scale.levels, expected)


def test_every_mm_up_to_ten_metres_reads_back_within_one_below_one_metre_and_within_two_above() -> None:
    error = np.abs(LEROBOT.levels[LEROBOT.codes(EVERY)] - EVERY).ravel()[:10_001]
    assert error[0] == 0
    assert error[:1000].max() <= 1
    assert error.max() <= 2


def test_only_0_reads_back_as_0_so_that_no_depth_stays_apart() -> None:
    assert LEROBOT.codes(EVERY).ravel()[:3].tolist() == [0, 1, 2]
    assert np.flatnonzero(LEROBOT.levels == 0).tolist() == [0]


def test_codes_are_the_logarithms_formula_rounded_and_ends_at_the_scales_ends() -> None:
    codes = LEROBOT.codes(EVERY).ravel()
    for depth_mm in (1, 17, 600, 999, 4321, 9_999, 10_000):
        share = math.log((depth_mm / 1000 + 3.5) / 3.5) / math.log(13.5 / 3.5)
        assert codes[depth_mm] == round(share * 4095)
    assert (codes[10_000:] == 4095).all()
    assert (np.diff(codes.astype(int)) >= 0).all()


def test_pixels_beyond_the_scale_are_counted_and_read_as_its_end() -> None:
    depth_mm = np.array([[0, 9_999, 10_000], [10_001, 12_000, 65_535]], np.uint16)
    assert LEROBOT.beyond(depth_mm) == 3
    assert LEROBOT.levels[LEROBOT.codes(depth_mm)][1].tolist() == [10_000.0] * 3
    assert CONTRACT.beyond(np.array([[5000, 5001]], np.uint16)) == 1


def test_the_recorders_codes_read_as_the_contract_says_but_for_no_depth_which_reads_100_mm() -> None:
    every = np.arange(4096).astype(np.uint16)
    contract = depth_codes.metric(every, invalid_below=0)
    np.testing.assert_array_equal(CONTRACT.levels, contract)
    assert CONTRACT.levels[0] == 100
    assert depth_codes.metric(every)[0] == 0
    np.testing.assert_array_equal(CONTRACT.codes(EVERY), depth_codes.quantise(EVERY))


def test_tables_are_shared_and_cannot_be_written() -> None:
    assert LEROBOT.levels is DepthScale(0.0, 10.0, 3.5).levels
    with pytest.raises(ValueError, match="read-only"):
        LEROBOT.levels[0] = 1


def test_info_names_the_scale_in_lerobots_words() -> None:
    assert CONTRACT.info() == {
        "video.depth_min": 0.1,
        "video.depth_max": 5.0,
        "video.shift": 0.0,
        "video.use_log": True,
        "is_depth_map": True,
        "depth_unit": "mm",
    }
