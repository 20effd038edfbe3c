"""Values that are kept packed come out as they went in."""

from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st

from quickdraw.core.episode import EpisodeKey, FileStamp
from quickdraw.pipeline.packed import Packed

VALUES = st.dictionaries(
    st.text(), st.lists(st.integers() | st.text() | st.builds(FileStamp, st.integers(), st.integers()))
)


def packed_of[K, V](values: dict[K, V]) -> Packed[K, V]:
    packed = Packed[K, V]()
    for key, value in values.items():
        packed.add(key, value)
    return packed


@given(values=VALUES)
def test_a_packed_mapping_is_the_mapping(values: dict[str, list[object]]) -> None:
    packed = packed_of(values)
    assert (dict(packed), list(packed), len(packed)) == (values, list(values), len(values))
    assert "no such key, surely" not in packed
    assert dict(packed.only(list(values)[1:])) == {key: values[key] for key in list(values)[1:]}
    assert dict(pickle.loads(pickle.dumps(packed))) == values


def test_values_that_look_alike_take_little_room() -> None:
    values = {EpisodeKey("campaign", f"run_{i}"): {f"raw/file_{n}.jsonl": FileStamp(i, n) for n in range(50)}
              for i in range(200)}  # fmt: skip
    packed = packed_of(values)
    assert sum(len(packed._packed[key]) for key in values) < sum(len(pickle.dumps(v)) for v in values.values()) / 5
