"""Force matrices are stored and restored bit by bit: against the sheet's vectors and sums of plain Python integers."""

from __future__ import annotations

import itertools
import math
import struct
import time
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quickdraw.formats.pooled.force_matrix import (
    DEFAULT,
    DIFFERENCES,
    RAW,
    SHAPE,
    SPECS,
    VALUES,
    Spec,
    decode,
    encode,
    spec_entry,
)

INTEGER = [spec for spec in SPECS.values() if spec.dtype == "int16"]
FLOAT32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
VECTORS = {  # value [mN] -> steps at scale 1, 10, 100, 1000
    5.75: (5, 58, 575, 5750),
    -5.75: (-5, -58, -575, -5750),
    0.05: (0, 0, 5, 50),
    0.25: (0, 2, 25, 250),
    2.675: (2, 27, 268, 2675),
    -40.0: (-40, -400, -4000, -32767),
    3276.75: (3276, 32767, 32767, 32767),
    40000.0: (32767, 32767, 32767, 32767),
    -40000.0: (-32767, -32767, -32767, -32767),
    0.9: (0, 9, 90, 900),  # what plain int16 loses
    math.inf: (32767, 32767, 32767, 32767),
}


def as_float32(value: float) -> float:
    """The nearest float32; what lies beyond them all is infinite. Sums and products of two float32 are exact before."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def steps_of(value: float, scale: int) -> int:
    """A value in steps, by the recipe and in plain Python."""
    value = as_float32(as_float32(value) * scale) if scale > 1 else as_float32(value)
    if math.isinf(value):
        return 32767 if value > 0 else -32767
    return max(-32767, min(32767, round(value) if scale > 1 else math.trunc(value)))  # round: half to even


def wrapped(number: int) -> int:
    return (number + 32768) % 65536 - 32768


def stored_row(values: list[float], scale: int) -> list[int]:
    steps = [steps_of(value, scale) for value in values]
    return [steps[0], *(wrapped(after - before) for before, after in itertools.pairwise(steps))]


def restored_row(stored: list[int], scale: int) -> list[float]:
    total, values = 0, []
    for each in stored:
        total += each
        values.append(as_float32(wrapped(total) / scale))
    return values


def matrix_of(rows: dict[int, list[float]]) -> np.ndarray:
    matrix = np.zeros((250, 750), np.float32)
    with np.errstate(over="ignore"):
        for row, values in rows.items():
            matrix[row, : len(values)] = values
    return matrix.reshape(SHAPE)


def random_matrix(seed: int = 0, spread_mn: float = 30.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, spread_mn, SHAPE).astype(np.float32)


def test_there_are_five_specs_in_the_contracts_order_and_the_default_is_a_hundredth() -> None:
    assert list(SPECS) == ["int16", "int16x10", "int16x100", "int16x1000", "float32"]
    assert [spec.scale for spec in SPECS.values()] == [1, 10, 100, 1000, 1]
    assert DEFAULT == "int16x100"


def test_a_spec_is_recorded_with_exactly_four_keys() -> None:
    assert spec_entry(SPECS["int16x100"]) == {
        "dtype": "int16",
        "shape": [250, 250, 3],
        "encoding": "row_diff_quantized",
        "scale": 100,
    }
    assert spec_entry(SPECS["float32"]) == {
        "dtype": "float32",
        "shape": [250, 250, 3],
        "encoding": "row_flat_raw",
        "scale": 1,
    }


@pytest.mark.parametrize("spec", INTEGER, ids=lambda spec: spec.name)
@pytest.mark.parametrize("value", VECTORS, ids=str)
def test_the_sheets_values_become_the_sheets_steps_and_come_back(spec: Spec, value: float) -> None:
    expected = VECTORS[value][INTEGER.index(spec)]
    assert steps_of(value, spec.scale) == expected, "the witness"

    stored = encode(np.full(SHAPE, value, np.float32), spec).reshape(250, 750)

    assert (stored[:, 0] == expected).all()
    assert (stored[:, 1:] == 0).all()
    restored = decode(stored.reshape(-1), encoding=spec.encoding, scale=spec.scale)
    assert restored is not None
    assert (restored == np.float32(as_float32(expected / spec.scale))).all()


def test_the_sheets_row_is_stored_as_differences_that_wrap_and_decodes_exactly() -> None:
    row = [32767, -32767, 32767, 0, -1]

    stored = encode(matrix_of({0: row}), SPECS["int16"])

    assert stored[:5].tolist() == [32767, 2, -2, -32767, -1]
    assert stored.dtype == np.int16
    restored = decode(stored, encoding=DIFFERENCES, scale=1)
    assert restored is not None
    assert restored.reshape(-1)[:5].tolist() == row


def test_a_half_step_rounds_to_the_even_one() -> None:
    restored = decode(encode(matrix_of({0: [5.75]}), SPECS["int16x10"]), encoding=DIFFERENCES, scale=10)
    assert restored is not None
    assert restored[0, 0, 0] == np.float32(5.8)
    assert [steps_of(each, 10) for each in (0.25, 0.75, 1.25)] == [2, 8, 12]


def test_a_value_of_row_r_column_c_axis_k_lies_at_750_r_plus_3_c_plus_k_and_rows_begin_anew() -> None:
    matrix = np.zeros(SHAPE, np.float32)
    matrix[7, 11, 2] = 3.0

    raw = encode(matrix, SPECS["float32"])
    differences = encode(matrix, SPECS["int16"])

    at = 7 * 750 + 3 * 11 + 2
    assert np.flatnonzero(raw).tolist() == [at]
    assert {int(i): int(differences[i]) for i in np.flatnonzero(differences)} == {at: 3, at + 1: -3}
    matrix[:] = 0
    matrix[7, 249, 2] = 3.0  # the last of its row: the next row does not take it back
    assert np.flatnonzero(encode(matrix, SPECS["int16"])).tolist() == [7 * 750 + 749]


@settings(max_examples=60, deadline=None)
@given(spec=st.sampled_from(INTEGER), first=st.lists(FLOAT32, max_size=60), last=st.lists(FLOAT32, max_size=60))
def test_any_values_are_stored_and_restored_as_plain_integers_would_be(
    spec: Spec, first: list[float], last: list[float]
) -> None:
    matrix = matrix_of({0: first, 249: last})

    stored = encode(matrix, spec)
    restored = decode(stored, encoding=spec.encoding, scale=spec.scale)

    assert restored is not None
    for row, values in ((0, first), (249, last)):
        expected = stored_row([*values, *[0.0] * (750 - len(values))], spec.scale)
        assert stored[row * 750 : (row + 1) * 750].tolist() == expected
        assert restored.reshape(250, 750)[row].tolist() == restored_row(expected, spec.scale)


@settings(max_examples=60, deadline=None)
@given(
    stored=st.lists(st.integers(-32768, 32767), min_size=1, max_size=750), scale=st.sampled_from([1, 10, 100, 1000, 7])
)
def test_any_stored_row_is_summed_up_without_overflowing(stored: list[int], scale: int) -> None:
    flat = np.zeros(VALUES, np.int16)
    flat[750 : 750 + len(stored)] = stored

    restored = decode(flat, encoding=DIFFERENCES, scale=scale)

    assert restored is not None
    assert restored.reshape(250, 750)[1].tolist() == restored_row([*stored, *[0] * (750 - len(stored))], scale)


@pytest.mark.parametrize("spec", INTEGER, ids=lambda spec: spec.name)
def test_every_one_of_the_65535_steps_comes_back_as_itself(spec: Spec) -> None:
    steps = np.arange(-32767, 32768, dtype=np.int64)
    np.random.default_rng(1).shuffle(steps)
    matrix = np.zeros(VALUES, np.float32)
    matrix[: len(steps)] = (steps / spec.scale).astype(np.float32)

    stored = encode(matrix.reshape(SHAPE), spec)
    restored = decode(stored, encoding=spec.encoding, scale=spec.scale)

    assert restored is not None
    assert (restored.reshape(-1)[: len(steps)] == (steps / spec.scale).astype(np.float32)).all()
    assert (encode(restored, spec) == stored).all()


@settings(max_examples=30, deadline=None)
@given(values=st.lists(st.floats(width=32), max_size=60))
def test_float32_is_the_bytes_as_they_are_whatever_they_mean(values: list[float]) -> None:
    matrix = matrix_of({3: values})

    stored = encode(matrix, SPECS["float32"])
    restored = decode(stored, encoding=RAW, scale=1)

    assert stored.dtype == np.float32
    assert stored.tobytes() == matrix.tobytes()
    assert restored is not None
    assert restored.tobytes() == matrix.tobytes()


def test_integer_specs_err_by_half_a_step_at_most_and_plain_int16_by_less_than_one() -> None:
    matrix = random_matrix(spread_mn=8.0).clip(-30, 30)
    for spec in INTEGER:
        restored = decode(encode(matrix, spec), encoding=spec.encoding, scale=spec.scale)
        assert restored is not None
        error = np.abs(restored.astype(np.float64) - matrix).max()
        assert error < 1.0 if spec.scale == 1 else error <= 0.5 / spec.scale + 1e-5


@pytest.mark.parametrize("spec", SPECS.values(), ids=lambda spec: spec.name)
def test_neither_direction_gives_a_view_of_what_it_was_given(spec: Spec) -> None:
    source = random_matrix()
    stored = encode(source, spec)
    before = stored.copy()
    source[:] = 0  # as a recorder's slot is used again
    assert (stored == before).all()

    restored = decode(stored, encoding=spec.encoding, scale=spec.scale)
    assert restored is not None
    kept = restored.copy()
    stored[:] = 1
    assert (restored == kept).all()
    assert restored.dtype == np.float32
    restored[0, 0, 0] = 5.0  # and may be written to


@pytest.mark.parametrize("spec", SPECS.values(), ids=lambda spec: spec.name)
def test_lists_and_arrays_of_other_layouts_are_stored_alike(spec: Spec) -> None:
    matrix = random_matrix()
    expected = encode(matrix, spec)
    for delivered in (matrix.tolist(), matrix.astype(np.float64), np.asfortranarray(matrix)):
        assert (encode(delivered, spec) == expected).all()


@pytest.mark.parametrize("length", [0, 1, 750, VALUES - 1, VALUES + 1])
@pytest.mark.parametrize("spec", [SPECS["int16"], SPECS["float32"]], ids=lambda spec: spec.name)
def test_a_sample_of_another_length_is_no_sample(spec: Spec, length: int) -> None:
    assert decode(np.zeros(length, spec.dtype), encoding=spec.encoding, scale=1) is None
    assert decode(np.array([]), encoding=spec.encoding, scale=1) is None


def test_raw_values_are_never_summed_and_differences_never_left() -> None:
    with pytest.raises(ValueError, match="float32 values; row_diff_quantized is of int16"):
        decode(np.zeros(VALUES, np.float32), encoding=DIFFERENCES, scale=1)
    with pytest.raises(ValueError, match="int16 values; row_flat_raw is of float32"):
        decode(np.zeros(VALUES, np.int16), encoding=RAW, scale=1)
    with pytest.raises(ValueError, match="encoding 'zip'; there are row_diff_quantized, row_flat_raw"):
        decode(np.zeros(VALUES, np.int16), encoding="zip", scale=1)
    with pytest.raises(ValueError, match="scale 0"):
        decode(np.zeros(VALUES, np.int16), encoding=DIFFERENCES, scale=0)


def test_a_matrix_of_another_shape_or_with_a_nan_is_refused() -> None:
    with pytest.raises(ValueError, match=r"shape \(250, 750\)"):
        encode(np.zeros((250, 750), np.float32), SPECS["int16"])
    with pytest.raises(ValueError, match="NaN"):
        encode(matrix_of({0: [math.nan]}), SPECS["int16x10"])


def per_second(work: Callable[[], object], rounds: int = 5, times: int = 40) -> float:
    """The best of several rounds, in the processor's time: others share the machine."""
    best = math.inf
    for _ in range(rounds):
        begun = time.process_time()
        for _ in range(times):
            work()
        best = min(best, (time.process_time() - begun) / times)
    return 1 / best


@pytest.mark.parametrize("spec", SPECS.values(), ids=lambda spec: spec.name)
def test_a_thousand_matrices_are_decoded_a_second(spec: Spec) -> None:
    stored = encode(random_matrix(), spec)
    rate = per_second(lambda: decode(stored, encoding=spec.encoding, scale=spec.scale))
    print(f"{spec.name}: {rate:.0f} matrices decoded a second")
    assert rate >= 1000
