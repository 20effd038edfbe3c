"""Documents written piece by piece are those `json.dumps` would write."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quickdraw.formats.json_document import write_json, write_json_object, write_json_with

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
NUMBERS = st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT | st.sampled_from(["\n", "]", "\u2028", "]\n}", "ä"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
INDENT = st.sampled_from([1, 2, 4])
in_one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def at_once(document: Any, indent: int) -> str:
    return json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=False) + "\n"


@in_one_folder
@given(document=JSON, indent=INDENT)
def test_a_document(document: Any, indent: int, tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", document, indent)
    assert (tmp_path / "a.json").read_bytes().decode() == at_once(document, indent)


@in_one_folder
@given(document=st.dictionaries(TEXT, JSON, max_size=4), items=st.lists(JSON, max_size=4), indent=INDENT)
def test_a_document_that_ends_with_a_list(
    document: dict[str, Any], items: list[Any], indent: int, tmp_path: Path
) -> None:
    document.pop("items", None)
    write_json_with(tmp_path / "a.json", document, "items", iter(items), indent=indent)
    assert (tmp_path / "a.json").read_bytes().decode() == at_once({**document, "items": items}, indent)


@in_one_folder
@given(document=st.dictionaries(TEXT, JSON, min_size=1, max_size=4), indent=INDENT)
def test_an_object_taken_member_by_member(document: dict[str, Any], indent: int, tmp_path: Path) -> None:
    write_json_object(tmp_path / "a.json", document.items(), indent=indent)
    assert (tmp_path / "a.json").read_bytes().decode() == at_once(document, indent)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_json_cannot_hold_is_refused(value: float, tmp_path: Path) -> None:
    items: Iterable[Any] = [value]
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "a.json", {"a": value})
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json_with(tmp_path / "a.json", {}, "a", items)
