"""How much changes in a second, looked at block by block, is what looking at all of an episode would tell."""

from __future__ import annotations

import numpy as np
import pytest

from quickdraw.pipeline.verify import motion
from quickdraw.pipeline.verify.motion import BLOCK, FIELDS_HIGH, FIELDS_WIDE, Changes


@pytest.mark.parametrize("rate_hz", [1, 2, 7, 30])
@pytest.mark.parametrize("length", [0, 1, 6, 7, 29, 30, 31, 45, 46, 100])
def test_blocks_make_no_difference(length: int, rate_hz: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(motion, "BLOCK", 16)
    fields = np.random.default_rng(length).integers(0, 256, (length, FIELDS_HIGH, FIELDS_WIDE)).astype(np.uint8)
    changes = Changes(rate_hz)
    for one in fields:
        changes.add(one)
    expected = np.full(length, np.nan)
    for end in range(rate_hz, length + 1):
        second = fields[end - rate_hz : end].astype(int)
        expected[end - 1] = (second.max(axis=0) - second.min(axis=0)).max()
    found = changes.result()
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, expected)


def test_no_more_is_held_than_a_block_and_a_second() -> None:
    changes, picture = Changes(30), np.zeros((FIELDS_HIGH, FIELDS_WIDE), np.uint8)
    most = 0
    for _ in range(4 * BLOCK):
        changes.add(picture)
        most = max(most, len(changes.held))
    assert most < BLOCK + 30
