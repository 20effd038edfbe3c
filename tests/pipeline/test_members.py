"""Episodes of a split, parted for tasks."""

from __future__ import annotations

from typing import Any, cast

from quickdraw.pipeline.members import Members
from quickdraw.pipeline.packed import Packed


def test_parts_are_those_before_each_number_and_hold_no_more_than_they_need() -> None:
    plans = Packed[Any, Any]()
    for key in range(7):
        plans.add(key, f"plan {key}")
    members = Members(cast("Any", None), plans, cast("Any", {key: f"digests {key}" for key in range(7)}))
    parts = [dict(part.plans) for part in members.parted([2, 3, 7])]
    assert parts == [{key: f"plan {key}" for key in keys} for keys in ((0, 1), (2,), (3, 4, 5, 6))]
    assert [list(part.digests) for part in members.parted([4, 8])] == [[0, 1, 2, 3], [4, 5, 6]], (
        "as far as there are any"
    )
