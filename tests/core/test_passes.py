"""Statistics from passes over pieces against `of_rows` of all rows at once, and ranks against a sort."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from quickdraw.core import passes
from quickdraw.core.order_statistics import RankSearch, keys_of, numbers_of
from quickdraw.core.passes import Size, beside, of_passes
from quickdraw.core.statistics import Statistics, of_counts, of_range, of_rows

EXACT = ("min", "max", "count", "q01", "q10", "q50", "q90", "q99")
REPEATED = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.25, 1e-45, -1e-45, 3e38, -3e38, 1e-38])


def floats(bits: Literal[32, 64]) -> st.SearchStrategy[float]:
    """Numbers of all sizes, denormal ones too, and few of them over and over."""
    return st.one_of(st.floats(-(2.0**100), 2.0**100, width=bits), st.floats(-2, 2, width=bits), REPEATED)


def rows_of(dtype: type[np.floating[Any]], most: int = 60) -> st.SearchStrategy[npt.NDArray[Any]]:
    bits: Literal[32, 64] = 32 if dtype is np.float32 else 64
    shapes = st.tuples(st.integers(1, most), st.integers(1, 4))
    return hnp.arrays(dtype, shapes, elements=floats(bits).map(lambda x: float(np.dtype(dtype).type(x))))


def pieces(rows: npt.NDArray[Any], cuts: list[int]) -> Callable[[], Iterator[npt.NDArray[Any]]]:
    return lambda: iter(np.split(rows, sorted(cut % (len(rows) + 1) for cut in cuts)))


def both_ways(
    read: Callable[[], Any], dtype: type[np.floating[Any]] = np.float32, size: Size | None = None
) -> tuple[Statistics, Statistics]:
    """Of rows of which all fit in memory, and of which none do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "MOST_BYTES", 0)
        ranked = of_passes(read, dtype, size)
    return of_passes(read, dtype, size), ranked


def assert_same(found: Statistics, expected: Statistics) -> None:
    """Bit by bit, but for mean and deviation, which are within rounding, and the sign of a zero among both kinds."""
    for name in EXACT:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    scale = np.maximum(np.abs(expected.min), np.abs(expected.max))
    for name in ("mean", "std"):
        off = np.abs(getattr(found, name) - getattr(expected, name))
        assert (off <= 1e-12 * scale).all(), (name, off)


@settings(max_examples=200)
@given(rows=rows_of(np.float32), cuts=st.lists(st.integers(0, 100), max_size=6))
def test_passes_over_pieces_say_what_all_float32_rows_at_once_say(rows: npt.NDArray[Any], cuts: list[int]) -> None:
    for found in both_ways(pieces(rows, cuts)):
        assert_same(found, of_rows(rows))


@given(rows=rows_of(np.float64), cuts=st.lists(st.integers(0, 100), max_size=6))
def test_passes_over_pieces_say_what_all_float64_rows_at_once_say(rows: npt.NDArray[Any], cuts: list[int]) -> None:
    for found in both_ways(pieces(rows, cuts), np.float64):
        assert_same(found, of_rows(rows))


@pytest.mark.parametrize("most_bytes", [0, 100_000], ids=["by ranks", "sorted"])
@pytest.mark.parametrize("columns", [2, 9, 17, 32, 150])
def test_shares_of_columns_beside_one_another_are_the_whole_to_the_last_bit(
    columns: int, most_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.random.default_rng(columns).normal(0, 1, (700, columns)).astype(np.float32)
    rows[:, :2] = np.float32(0.1)
    rows[::3, 1] = -0.0
    monkeypatch.setattr(passes, "MOST_BYTES", most_bytes)
    monkeypatch.setattr(passes, "SHARED_BYTES", most_bytes)
    whole, size = of_passes(pieces(rows, [1, 300])).items(), Size(*rows.shape)
    parts = size.shares()
    assert (len(parts) > 1) == (columns > 9 and rows.nbytes > most_bytes)
    shares = [of_passes(pieces(rows if part is None else rows[:, part], [40]), size=size, share=part) for part in parts]
    for name, found in beside(shares).items().items():
        assert np.asarray(found).tobytes() == np.asarray(whole[name]).tobytes(), name


def test_other_rows_than_were_told_are_refused() -> None:
    rows = np.ones((6, 2), np.float32)
    for told in (5, 7):
        with pytest.raises(ValueError, match=r"rows|broadcast"):
            both_ways(pieces(rows, []), size=Size(told, 2))


@given(rows=hnp.arrays(np.int64, st.integers(1, 60), elements=st.integers(-(2**52), 2**52)))
def test_whole_numbers_are_measured_as_float64(rows: npt.NDArray[Any]) -> None:
    for found in both_ways(lambda: [rows], np.float64):
        assert_same(found, of_rows(rows))


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(1, 5000), decimals=st.integers(0, 6), size=st.floats(1e-3, 1e6))
def test_measured_values_in_all_densities_have_the_quantiles_of_numpy(
    seed: int, rows: int, decimals: int, size: float
) -> None:
    values = np.random.default_rng(seed).normal(0, size, (rows, 3)).round(decimals).astype(np.float32)
    for found in both_ways(pieces(values, [rows // 3, rows // 2])):
        assert_same(found, of_rows(values))


def test_vectors_have_their_mean_and_deviation_to_the_bit() -> None:
    """So that a dataset's bytes do not depend on where one episode ends and the next begins."""
    rows = np.random.default_rng(5).normal(400, 30, (4001, 5)).astype(np.float32)
    expected = of_rows(rows)
    for cuts in ([], [1], [17, 17, 2000], list(range(0, 4001, 7))):
        for found in both_ways(pieces(rows, cuts)):
            for name in expected.items():
                np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("columns", "fitting", "ways"),
    [
        *((2, fitting, {"of_rows": 1}) for fitting in (2, 3, 32, 1000)),
        *((columns, 1000, {"of_rows": 1}) for columns in (3, 31, 32, 33, 64, 65, 100)),
        *((columns, 0, {"_of_ranks": 1}) for columns in (2, 3, 31, 32, 33)),  # a column by itself goes with others
        *((columns, 31, {"_of_ranks": blocks}) for columns, blocks in ((33, 1), (34, 2), (64, 2), (65, 2), (100, 4))),
        *((columns, 32, {"of_rows": blocks}) for columns, blocks in ((32, 1), (33, 1), (64, 2), (65, 2), (100, 4))),
        *((columns, 40, {"of_rows": blocks}) for columns, blocks in ((40, 1), (41, 1), (42, 2), (81, 2), (100, 3))),
        (3, 2, {"_of_ranks": 1}),
        (31, 30, {"_of_ranks": 1}),
    ],
)
def test_wide_rows_are_measured_to_the_bit_some_columns_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
    dtype: type[np.floating[Any]],
    columns: int,
    fitting: int,
    ways: dict[str, int],
) -> None:
    """`fitting` columns fit in memory: so many at a time by sorting, or, where these are few, 32 by their ranks."""
    rng = np.random.default_rng(columns)
    rows = rng.normal(400, 30, (301, columns)).astype(dtype)
    rows[:, 0] = 7
    rows[5, -1] = 1e30
    monkeypatch.setattr(passes, "MOST_BYTES", fitting * rows.itemsize * len(rows))
    gone: dict[str, int] = {}

    def count(way: str) -> None:
        real = getattr(passes, way)

        def counted(*told: Any) -> Statistics:
            gone[way] = gone.get(way, 0) + 1
            found: Statistics = real(*told)
            return found

        monkeypatch.setattr(passes, way, counted)

    count("_of_ranks")
    count("of_rows")
    found, expected = of_passes(pieces(rows, [1, 17, 200]), dtype), of_rows(rows)
    assert gone == ways
    for name in expected.items():
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


MEASURED = """
import resource, sys
import numpy as np
from quickdraw.core.passes import of_passes
rows, columns, piece = map(int, sys.argv[1:])
base = np.random.default_rng(0).normal(size=(piece, columns)).astype(np.float32)
of_passes(lambda: [base[:4, :8]])
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
found = of_passes(lambda: (base + np.float32(at) for at in range(rows // piece)))
print(found.count, len(found.min), peak() - before)
"""


@pytest.mark.parametrize(
    ("rows", "columns", "piece"),
    [(20_000, 1_875, 200), (200, 187_500, 4), (400_000, 64, 4_000)],
)
def test_wide_rows_take_no_more_memory_than_some_columns_of_them(rows: int, columns: int, piece: int) -> None:
    """100 to 150 MB of rows, of which 32 MB are looked at at a time; with all at once it takes 0.8 GB."""
    told = subprocess.run(
        [sys.executable, "-c", MEASURED, str(rows), str(columns), str(piece)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    count, wide, grown_kb = map(int, told.stdout.split())
    assert (count, wide) == (rows, columns)
    assert grown_kb < 256 * 1024


def test_a_column_with_a_nan_has_no_quantile_as_in_numpy() -> None:
    rows = np.array([[1, np.nan], [2, 5], [3, 6]], np.float32)
    expected = of_rows(rows)
    for found in both_ways(lambda: [rows]):
        for name in expected.items():
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_no_row_is_an_error() -> None:
    with pytest.raises(ValueError, match="no rows"):
        of_passes(lambda: [np.zeros((0, 3), np.float32)])


@given(numbers=hnp.arrays(np.float32, st.integers(1, 50), elements=st.floats(width=32, allow_nan=False)))
def test_keys_stand_in_the_order_of_their_numbers_and_lead_back_to_them(numbers: npt.NDArray[np.float32]) -> None:
    keys = keys_of(numbers)
    back = numbers_of(keys.astype(np.uint64), numbers.dtype)
    assert back.view(np.uint32).tolist() == numbers.view(np.uint32).tolist()
    np.testing.assert_array_equal(numbers[np.argsort(keys, kind="stable")], np.sort(numbers))


@given(rows=rows_of(np.float32, most=30), picks=st.lists(st.integers(0, 1000), min_size=1, max_size=8))
def test_every_rank_is_found(rows: npt.NDArray[np.float32], picks: list[int]) -> None:
    ranks, search = np.array([pick % len(rows) for pick in picks]), RankSearch(rows.shape[1], np.float32)
    search.count(rows)
    while search.settle(ranks):
        search.count(rows)
    np.testing.assert_array_equal(search.values(), np.sort(rows, axis=0)[ranks])


@given(counts=hnp.arrays(np.int64, st.integers(1, 20), elements=st.integers(0, 9)), start=st.floats(-1e3, 1e3))
def test_counted_scalars_are_measured_as_if_they_stood_there(counts: npt.NDArray[np.int64], start: float) -> None:
    counts[len(counts) // 2] += 1
    values = start + np.arange(len(counts)) / 30
    assert_same(of_counts(values, counts), of_rows(np.repeat(values, counts)))


@given(count=st.integers(1, 10_000))
def test_a_range_is_measured_as_if_it_stood_there(count: int) -> None:
    assert_same(of_range(count), of_rows(np.arange(count)))


def test_a_range_of_36_million_rows_takes_no_memory() -> None:
    found = of_range(36_000_000)
    assert (found.mean.tolist(), found.q50.tolist(), found.count) == ([17999999.5], [17999999.5], 36_000_000)
    assert found.std[0] == pytest.approx(36e6 / np.sqrt(12), rel=1e-14)
