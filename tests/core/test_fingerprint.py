"""Content taken item by item has the name it has whole."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from quickdraw.core.fingerprint import fingerprint, fingerprint_with

NUMBERS = st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(content=st.dictionaries(st.text(), JSON, max_size=4), name=st.text(), items=st.lists(JSON, max_size=4))
def test_a_list_taken_item_by_item_is_the_same_content(content: dict[str, Any], name: str, items: list[Any]) -> None:
    assert fingerprint_with(content, name, iter(items)) == fingerprint({**content, name: items})


def test_the_fingerprint_of_known_content_stays_what_it_is() -> None:
    """Parts and datasets are known by it."""
    known = "43258cff783fe7036d8a43033f830adfc60ec037382473548ac742b888292777"
    assert fingerprint({"b": 2, "a": 1}) == known
    assert fingerprint({"a": 1, "b": 2}) == known
