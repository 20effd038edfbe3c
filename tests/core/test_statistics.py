"""Statistics against numpy on the raw numbers, and frame sampling against lerobot's own code."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from quickdraw.core.statistics import (
    LEVELS,
    QUANTILES,
    Statistics,
    histogram,
    of_histogram,
    of_rows,
    sampled_frames,
    sampled_stride,
)

NAMES = ["min", "max", "mean", "std", "count", "q01", "q10", "q50", "q90", "q99"]


def by_numpy(x: npt.NDArray[np.float64]) -> dict[str, npt.NDArray[np.float64]]:
    """All statistics of `(N, D)` but the count."""
    mean = x.mean(axis=0)
    quantiles = {name: np.quantile(x, q, axis=0) for name, q in QUANTILES.items()}
    std = np.sqrt(((x - mean) ** 2).mean(axis=0))
    return {"min": x.min(axis=0), "max": x.max(axis=0), "mean": mean, "std": std, **quantiles}


def assert_agree(found: Statistics, expected: dict[str, npt.NDArray[np.float64]], atol: float) -> None:
    assert list(found.items()) == NAMES
    for name, value in expected.items():
        np.testing.assert_allclose(getattr(found, name), value, rtol=1e-9, atol=atol, err_msg=name)


@given(
    x=hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 40), st.integers(1, 5)),
        elements=st.floats(-1e6, 1e6, allow_subnormal=False),
    )
)
def test_statistics_of_rows_are_numpys_in_double_precision(x: npt.NDArray[np.float64]) -> None:
    found = of_rows(x)
    assert found.count == len(x)
    assert_agree(found, by_numpy(x), atol=1e-9)


def test_the_shipped_quantiles_are_the_five_lerobot_knows() -> None:
    assert QUANTILES == {"q01": 0.01, "q10": 0.1, "q50": 0.5, "q90": 0.9, "q99": 0.99}


def test_a_column_of_scalars_has_one_dimension() -> None:
    found = of_rows(np.arange(265))
    assert found.count == 265
    assert (found.q01.tolist(), found.q99.tolist()) == ([2.64], [261.36])  # where lerobot 0.6 writes 104.9 and 159.1


@pytest.mark.parametrize(("mean", "std"), [(100.0, 0.01), (1000.0, 0.01), (1.7e9, 9.79)])
def test_small_variation_around_a_large_mean_keeps_its_standard_deviation(mean: float, std: float) -> None:
    """float32's E[x^2] - E[x]^2 gives 0 for the first two and 741,455 for unix seconds."""
    x = np.random.default_rng(1).normal(mean, std, 2000)
    assert of_rows(x).std[0] == pytest.approx(std, rel=0.05)
    assert of_rows(x).std[0] == pytest.approx(float(np.std(x - mean)), rel=1e-7)
    single = x.astype(np.float32)
    assert of_rows(single).std[0] == pytest.approx(float(np.std(single.astype(np.float64) - mean)), rel=1e-7)


@pytest.mark.parametrize("value", [0.1, 1 / 3, -523.3354, 1e-30])
def test_a_constant_column_has_exactly_its_value_as_mean_and_no_deviation(value: float) -> None:
    for dtype in (np.float32, np.float64):
        x = np.full((99_991, 1), value, dtype)
        found = of_rows(x)
        assert found.std.tolist() == [0.0]
        assert found.min == found.max == found.mean == found.q01 == found.q50 == found.q99 == np.float64(x[0, 0])


def test_one_row_is_its_own_statistics() -> None:
    found = of_rows(np.array([[1.5, -2.0]]))
    for name in ("min", "max", "mean", "q01", "q10", "q50", "q90", "q99"):
        assert getattr(found, name).tolist() == [1.5, -2.0]
    assert found.std.tolist() == [0.0, 0.0]


PICTURES = hnp.arrays(
    np.uint8,
    st.tuples(st.integers(1, 4), st.integers(1, 6), st.integers(1, 6), st.just(3)),
    elements=st.one_of(st.integers(0, 255), st.sampled_from([0, 255])),
)


@settings(max_examples=200)
@given(pictures=PICTURES)
def test_statistics_of_a_histogram_are_numpys_on_every_pixel(pictures: npt.NDArray[np.uint8]) -> None:
    counts = np.sum([histogram(np.ascontiguousarray(rgb)) for rgb in pictures], axis=0)
    pixels = pictures.reshape(-1, 3)
    for channel in range(3):
        assert counts[channel].tolist() == np.bincount(pixels[:, channel], minlength=LEVELS).tolist()
    found = of_histogram(counts, len(pictures))
    assert found.count == len(pictures)
    assert_agree(found, by_numpy(pixels / 255), atol=1e-12)


def test_the_channels_of_a_histogram_keep_their_order() -> None:
    red = np.zeros((4, 6, 3), np.uint8)
    red[..., 0] = 200
    assert np.argmax(histogram(red), axis=1).tolist() == [200, 0, 0]


def test_random_noise_has_a_pixel_level_deviation_of_about_029_not_that_of_picture_means() -> None:
    rng = np.random.default_rng(0)
    counts = np.sum([histogram(rng.integers(0, 256, (144, 192, 3), np.uint8)) for _ in range(5)], axis=0)
    np.testing.assert_allclose(of_histogram(counts, 5).std, 1 / np.sqrt(12), rtol=0.01)


def test_histograms_of_parts_add_up_to_the_statistics_of_the_whole() -> None:
    rng = np.random.default_rng(3)
    pictures = rng.normal(120, 30, (7, 20, 30, 3)).clip(0, 255).astype(np.uint8)
    parts = [np.sum([histogram(rgb) for rgb in part], axis=0) for part in (pictures[:2], pictures[2:])]
    assert_agree(of_histogram(parts[0] + parts[1], 7), by_numpy(pictures.reshape(-1, 3) / 255), atol=1e-12)


LENGTHS = [*range(1, 601), 1000, 20000]
SHAPES = [(144, 192), (192, 144), (298, 298), (299, 299), (300, 300), (299, 300), (300, 200), (480, 640), (640, 480),
          (720, 1280), (449, 451), (16, 4000)]  # fmt: skip
LEROBOT = """
import json, sys
import numpy as np
from lerobot.datasets.compute_stats import auto_downsample_height_width, sample_indices
lengths, shapes = json.load(sys.stdin)
strides = []
for height, width in shapes:
    picture = np.zeros((1, height, width), np.uint8)
    sampled = auto_downsample_height_width(picture)
    assert sampled.strides[1] // picture.strides[1] == sampled.strides[2] // picture.strides[2]
    strides.append(sampled.strides[2] // picture.strides[2])
print(json.dumps([[sample_indices(n) for n in lengths], strides]))
"""


def test_frames_and_pixels_are_sampled_as_lerobot_samples_them() -> None:
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LEROBOT],
        input=json.dumps([LENGTHS, SHAPES]), capture_output=True, text=True, check=True,
    )  # fmt: skip
    frames, strides = json.loads(result.stdout)
    assert [sampled_frames(length).tolist() for length in LENGTHS] == frames
    assert [sampled_stride(*shape) for shape in SHAPES] == strides


@given(length=st.integers(1, 400_000))
def test_between_all_frames_and_ten_thousand_are_sampled_evenly_from_first_to_last(length: int) -> None:
    frames = sampled_frames(length)
    assert len(frames) == (length if length < 100 else max(100, min(int(length**0.75), 10_000)))
    assert frames.dtype == np.int64
    assert (frames[0], frames[-1]) == (0, length - 1)
    steps = np.diff(frames)
    assert not len(steps) or (steps.min() >= 1 and steps.max() - steps.min() <= 1)
