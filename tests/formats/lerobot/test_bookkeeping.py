"""Bookkeeping columns counted from lengths and tasks against the columns themselves."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from quickdraw.core.statistics import of_rows
from quickdraw.formats.lerobot.bookkeeping import bookkeeping, bookkeeping_statistics
from quickdraw.formats.lerobot.schema import BOOKKEEPING

EPISODES = st.lists(st.tuples(st.integers(1, 200), st.integers(0, 3)), min_size=1, max_size=12)


@given(episodes=EPISODES, rate_hz=st.sampled_from([1, 10, 29, 30, 60]))
def test_counted_columns_have_the_statistics_of_all_their_rows(episodes: list[tuple[int, int]], rate_hz: int) -> None:
    first, columns = 0, []
    for number, (frames, task) in enumerate(episodes):
        columns.append(bookkeeping(frames, rate_hz, episode=number, first=first, task=task))
        first += frames
    found = bookkeeping_statistics([frames for frames, _ in episodes], [task for _, task in episodes], rate_hz)
    assert list(found) == list(BOOKKEEPING)
    for name, told in found.items():
        expected = of_rows(np.concatenate([books[name] for books in columns]))
        for statistic in ("min", "max", "count", "q01", "q10", "q50", "q90", "q99"):
            np.testing.assert_array_equal(getattr(told, statistic), getattr(expected, statistic))
        for statistic in ("mean", "std"):
            right = getattr(expected, statistic)
            np.testing.assert_allclose(getattr(told, statistic), right, rtol=1e-12, atol=1e-12)


def test_an_index_of_36_million_rows_is_exact_in_every_dtype() -> None:
    books = bookkeeping(4, 30, episode=7, first=36_000_000, task=2)
    assert {name: str(column.dtype) for name, column in books.items()} == BOOKKEEPING
    assert books["index"].tolist() == [36_000_000, 36_000_001, 36_000_002, 36_000_003]
