"""What trainers divide by: geometry untouched, constants by one, degenerate quantiles by the extremes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from quickdraw.core.normalization import bounded, for_training, pinned
from quickdraw.core.statistics import Statistics, of_rows

PAIRS = [("min", "max"), ("q01", "q99"), ("q10", "q90")]
PINS = {"min": -1.0, "max": 1.0, "mean": 0.0, "std": 1.0, "q01": -1.0, "q10": -1.0, "q50": 0.0, "q90": 1.0, "q99": 1.0}

# Columns that vary, are constant, or vary so rarely that a pair of quantiles falls together.
ROWS = hnp.arrays(
    np.float32, st.tuples(st.integers(1, 60), st.just(4)), elements=st.sampled_from([0, 1, -3.5, 0.1, 200])
)


def column(*values: float) -> Statistics:
    return of_rows(np.array(values, np.float64))


def values_of(statistics: Statistics, name: str) -> npt.NDArray[np.float64]:
    return np.asarray(statistics.items()[name])


def test_pinned_dimensions_pass_through_and_the_others_are_untouched() -> None:
    before = of_rows(np.random.default_rng(0).normal(5, 2, (50, 4)))
    after = pinned(before, (1, 3))
    for name, value in PINS.items():
        assert values_of(after, name)[[1, 3]].tolist() == [value, value]
        assert values_of(after, name)[[0, 2]].tolist() == values_of(before, name)[[0, 2]].tolist()
    assert after.count == 50
    assert (before.mean[1], before.std[3]) != (0.0, 1.0)  # the input is not written to


def test_no_pinned_dimension_means_nothing_changes() -> None:
    before = of_rows(np.arange(12.0).reshape(4, 3))
    for name in PINS:
        np.testing.assert_array_equal(values_of(pinned(before, ()), name), values_of(before, name))


def test_a_constant_dimension_is_scaled_by_one_around_its_value_in_every_pair() -> None:
    after = bounded(column(7.25, 7.25, 7.25))
    assert (after.mean[0], after.std[0], after.q50[0]) == (7.25, 1.0, 7.25)
    for low, high in PAIRS:
        assert (values_of(after, low)[0], values_of(after, high)[0]) == (6.25, 8.25)


def test_only_the_quantile_pair_that_fell_together_takes_the_extremes() -> None:
    """Six of 100 rows are 1: q10 = q90 = 0 while q01 = 0 and q99 = 1 stay apart."""
    rows = np.zeros(100)
    rows[:6] = 1.0
    after = bounded(column(*rows))
    assert (after.q10[0], after.q90[0]) == (0.0, 1.0)
    assert (after.q01[0], after.q99[0], after.q50[0]) == (0.0, 1.0, 0.0)
    rows = np.full(1000, -2.0)
    rows[0], rows[1] = -5.0, 4.0
    after = bounded(column(*rows))
    assert [(values_of(after, a)[0], values_of(after, b)[0]) for a, b in PAIRS] == [(-5.0, 4.0)] * 3
    assert after.std[0] == column(*rows).std[0]


@given(rows=ROWS)
def test_no_normaliser_divides_by_zero_or_blows_a_seen_value_up(rows: npt.NDArray[np.float32]) -> None:
    plain, after = of_rows(rows), bounded(of_rows(rows))
    assert (after.std > 0).all()
    for low, high in PAIRS:
        assert (values_of(after, low) < values_of(after, high)).all()
    varying = plain.min < plain.max
    np.testing.assert_array_equal(after.min[varying], plain.min[varying])
    np.testing.assert_array_equal(after.max[varying], plain.max[varying])
    np.testing.assert_array_equal(after.std[varying], plain.std[varying])
    np.testing.assert_array_equal(after.mean, plain.mean)


@given(rows=ROWS)
def test_for_training_pins_even_a_constant_geometric_dimension_to_identity(rows: npt.NDArray[np.float32]) -> None:
    rows[:, 2] = 0.5
    after = for_training(of_rows(rows), (2,))
    assert {name: values_of(after, name)[2] for name in PINS} == PINS
    x = rows[:, 2].astype(np.float64)
    np.testing.assert_array_equal((x - after.mean[2]) / after.std[2], x)
    for low, high in PAIRS:
        a, b = values_of(after, low)[2], values_of(after, high)[2]
        np.testing.assert_array_equal(2 * (x - a) / (b - a) - 1, x)
