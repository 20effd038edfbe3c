"""Hues on painted pictures whose colours are known: what stands out, what does not, and how a pixel votes."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quickdraw.core.blobs import measure
from quickdraw.core.hues import COLOURS, CubeThresholds, Peak, counts_of, find_peaks, table_bin, votes

Rgb = npt.NDArray[np.uint8]
Colour = tuple[float, float, float]

THRESHOLDS = CubeThresholds(
    min_value=0.12, min_saturation=0.35, peak_saturation=0.5, min_area_px=12, evidence_area_px=30, evidence_share=0.02
)
HEIGHT, WIDTH = 144, 192
PIXELS = HEIGHT * WIDTH
GREY, WOOD, RED_WOOD, METAL = (158, 158, 160), (158, 116, 78), (140, 85, 60), (112, 122, 140)
BLACK, GLARE = (6, 6, 7), (255, 255, 255)
CUBES = {"red": (0, 0.8, 0.78), "green": (130, 0.75, 0.6), "blue": (226, 0.8, 0.8), "purple": (280, 0.75, 0.65)}
TOP, SIDE = 100, 11  # where cubes are painted, and how large


def rgb_of(hue_deg: float, saturation: float, value: float) -> Colour:
    """Levels 0..255, by Python's own colour arithmetic."""
    red, green, blue = (255 * part for part in colorsys.hsv_to_rgb(hue_deg % 360 / 360, saturation, value))
    return red, green, blue


def painted(table: Colour, cubes: Sequence[Colour], seed: int = 0, noise: float = 3.0) -> Rgb:
    """A table with cubes in a row, and sensor noise [levels] over all of it."""
    picture = np.empty((HEIGHT, WIDTH, 3))
    picture[:] = table
    for number, cube in enumerate(cubes):
        picture[TOP : TOP + SIDE, 20 + 35 * number : 20 + 35 * number + SIDE] = cube
    return with_noise(picture, seed, noise)


def with_noise(picture: npt.NDArray[np.float64], seed: int, noise: float = 3.0) -> Rgb:
    spoilt: Rgb = (picture + np.random.default_rng(seed).normal(0, noise, picture.shape)).clip(0, 255).astype(np.uint8)
    return spoilt


def episode(table: Colour, cubes: Sequence[Colour], pictures: int = 10, noise: float = 3.0) -> list[Rgb]:
    return [painted(table, cubes, seed, noise) for seed in range(pictures)]


def peaks_of(pictures: Sequence[Rgb]) -> tuple[dict[str, Peak], int | None]:
    """The peaks of an episode, and its table's hue."""
    counts = np.sum([counts_of(rgb, THRESHOLDS) for rgb in pictures], axis=0)
    pixels = pictures[0].shape[0] * pictures[0].shape[1]
    return find_peaks(counts, len(pictures), pixels, THRESHOLDS), table_bin(counts, len(pictures) * pixels)


def seen_in(pictures: Sequence[Rgb]) -> list[set[str]]:
    """The colours measured in each picture of an episode, by its own peaks."""
    ballot = votes(*peaks_of(pictures), THRESHOLDS)
    found = [measure(rgb, ballot, THRESHOLDS)[:, 2] for rgb in pictures]
    return [{colour for colour, area in zip(COLOURS, areas, strict=True) if area > 0} for areas in found]


@pytest.mark.parametrize("hue_bin", [178, 179, 0, 1, 2])
@pytest.mark.parametrize("table", [GREY, WOOD, BLACK])
def test_red_is_found_on_both_sides_of_zero(hue_bin: int, table: Colour) -> None:
    pictures = episode(table, [rgb_of(2 * hue_bin, 0.8, 0.78)])
    peaks, _ = peaks_of(pictures)
    assert set(peaks) == {"red"}
    assert (peaks["red"].hue_bin - hue_bin + 90) % 180 - 90 in (-1, 0, 1)
    assert seen_in(pictures) == [{"red"}] * len(pictures)


def test_a_red_cube_whose_pixels_lie_on_both_sides_of_zero_has_one_peak_at_zero() -> None:
    picture = np.full((HEIGHT, WIDTH, 3), 150.0)
    picture[40:60, 40:50], picture[40:60, 50:60] = rgb_of(355, 0.8, 0.78), rgb_of(5, 0.8, 0.78)
    pictures = [with_noise(picture, seed) for seed in range(10)]
    peaks, _ = peaks_of(pictures)
    assert list(peaks) == ["red"]
    area = measure(pictures[0], votes(peaks, None, THRESHOLDS), THRESHOLDS)[0, 2]
    assert area == 20 * 20 - 4  # the corners go with the rims


def test_hues_are_counted_in_bins_of_two_degrees_and_saturation_in_levels() -> None:
    """0..179 and 0..255, neither of the other scales in use (0..255 and 0..360 for hue, per cent for saturation)."""
    named = {(255, 0, 0): (0, 255), (0, 255, 0): (60, 255), (0, 0, 255): (120, 255), (255, 0, 255): (150, 255),
             (200, 80, 80): (0, 153), (255, 0, 9): (179, 255)}  # fmt: skip
    for rgb, place in named.items():
        counts = counts_of(np.full((4, 6, 3), rgb, np.uint8), THRESHOLDS)
        assert counts.shape == (180, 256)
        assert counts[place] == counts.sum() == 24


def test_red_stays_red_and_blue_stays_blue() -> None:
    """Exchanged channels would make one of the other, and a round trip through them would not show it."""
    for level, colour in (((255, 0, 0), "red"), ((0, 0, 255), "blue")):
        pictures = episode(GREY, [level])
        assert set(peaks_of(pictures)[0]) == {colour}
        assert seen_in(pictures)[0] == {colour}
        exchanged = [np.ascontiguousarray(rgb[..., ::-1]) for rgb in pictures]
        assert seen_in(exchanged)[0] == {"red", "blue"} - {colour}


@given(pixels=st.lists(st.tuples(*[st.integers(0, 255)] * 3), min_size=1, max_size=60), floor=st.floats(0.01, 0.9))
def test_only_pixels_of_the_least_value_are_counted(pixels: list[tuple[int, int, int]], floor: float) -> None:
    thresholds = CubeThresholds(min_value=floor)
    bright = sum(1 for rgb in pixels if max(rgb) >= round(floor * 255))
    assert counts_of(np.array([pixels], np.uint8), thresholds).sum() == bright


STILL_LIFE = {"grey": GREY, "black": BLACK, "glare": GLARE, "metal": METAL, "wood": WOOD, "red wood": RED_WOOD}


@pytest.mark.parametrize("table", STILL_LIFE)
def test_a_picture_without_cubes_has_no_peak_and_no_detection(table: str) -> None:
    pictures = episode(STILL_LIFE[table], [])
    assert peaks_of(pictures)[0] == {}
    assert seen_in(pictures) == [set()] * len(pictures)


@pytest.mark.parametrize("table", STILL_LIFE)
@pytest.mark.parametrize("colours", [("red", "green", "blue"), ("red", "blue", "purple"), ("blue",), COLOURS])
def test_cubes_on_any_table_are_found_and_nothing_else_is(table: str, colours: tuple[str, ...]) -> None:
    pictures = episode(STILL_LIFE[table], [rgb_of(*CUBES[colour]) for colour in colours])
    assert set(peaks_of(pictures)[0]) == set(colours)
    assert seen_in(pictures) == [set(colours)] * len(pictures)


@pytest.mark.parametrize("table", [GREY, WOOD, RED_WOOD])
@pytest.mark.parametrize("bystander", ["grey", "black", "glare", "metal"])
def test_colourless_things_beside_real_cubes_are_none(bystander: str, table: Colour) -> None:
    pictures = []
    for seed in range(10):
        picture = painted(table, [rgb_of(*CUBES["red"]), rgb_of(*CUBES["blue"])], noise=0).astype(np.float64)
        picture[10:80, 10:150] = STILL_LIFE[bystander]
        pictures.append(with_noise(picture, seed))
    assert set(peaks_of(pictures)[0]) == {"red", "blue"}
    ballot = votes(*peaks_of(pictures), THRESHOLDS)
    for rgb in pictures:
        assert measure(rgb, ballot, THRESHOLDS)[:, 2].tolist() == [117, 0, 117, 0]


@pytest.mark.parametrize(("table", "hue_deg"), [(WOOD, 28.5), (RED_WOOD, 18.75), (METAL, 218.6), ((90, 150, 90), 120)])
def test_the_tables_hue_is_that_of_what_covers_the_picture(table: Colour, hue_deg: float) -> None:
    _, found = peaks_of(episode(table, [rgb_of(*CUBES["red"])]))
    assert found is not None
    assert abs(2 * found - hue_deg) <= 2


@pytest.mark.parametrize("table", [GREY, BLACK, GLARE])
def test_a_table_without_a_hue_has_none_however_many_cubes_lie_on_it(table: Colour) -> None:
    assert peaks_of(episode(table, [rgb_of(*CUBES[colour]) for colour in COLOURS]))[1] is None


def counted(hue_bin: int, pixels: int, level: int = 204) -> npt.NDArray[np.int64]:
    counts = np.zeros((180, 256), np.int64)
    counts[hue_bin, level] = pixels
    return counts


def test_a_table_covers_a_tenth_of_the_pictures() -> None:
    assert table_bin(counted(14, 999, level=120), 10_000) is None
    assert table_bin(counted(14, 1000, level=120), 10_000) == 14
    assert table_bin(counted(14, 10_000, level=50), 10_000) is None  # too pale to have a hue


@pytest.mark.parametrize("hue_bin", [66, 113, 140, 2])
def test_what_has_a_cubes_hue_is_a_table_from_two_fifths_of_the_pictures_on(hue_bin: int) -> None:
    assert table_bin(counted(hue_bin, 3999), 10_000) is None
    assert table_bin(counted(hue_bin, 4000), 10_000) == hue_bin
    assert table_bin(counted(hue_bin, 3999) + counted(14, 1000), 10_000) == 14


def test_a_table_may_lie_around_zero() -> None:
    assert table_bin(counted(179, 2400) + counted(1, 1600), 10_000) in (179, 0)


@given(hue_bin=st.integers(0, 179))
def test_a_hue_alone_is_the_peak_of_the_colour_in_whose_range_it_lies(hue_bin: int) -> None:
    """Ranges in degrees, the end not included; between them lie wood, yellow and cyan."""
    hue_deg = 2 * hue_bin
    expected = {}
    if hue_deg >= 330 or hue_deg < 18:
        expected = {"red": hue_deg}
    for colour, first, end in (("green", 75, 175), ("blue", 190, 250), ("purple", 250, 325)):
        if first // 2 <= hue_bin < end // 2:
            expected = {colour: hue_deg}
    found = find_peaks(counted(hue_bin, 1000), 10, PIXELS, THRESHOLDS)
    assert {colour: peak.hue_deg for colour, peak in found.items()} == expected


def test_a_peaks_saturation_is_the_median_of_its_pixels() -> None:
    counts = counted(0, 400, level=150) + counted(1, 300, level=200) + counted(178, 600, level=240)
    assert find_peaks(counts, 1, PIXELS, THRESHOLDS)["red"].saturation * 255 == 200


def test_a_colour_needs_as_many_pixels_as_a_cube_just_large_enough_for_evidence() -> None:
    """30 px in 2 % of 50 pictures are 30 pixels; pale ones do not count, and the area scales with the picture's."""
    assert find_peaks(counted(113, 29), 50, PIXELS, THRESHOLDS) == {}
    assert set(find_peaks(counted(113, 30), 50, PIXELS, THRESHOLDS)) == {"blue"}
    assert find_peaks(counted(113, 30), 100, PIXELS, THRESHOLDS) == {}
    assert find_peaks(counted(113, 119), 50, 4 * PIXELS, THRESHOLDS) == {}
    assert set(find_peaks(counted(113, 120), 50, 4 * PIXELS, THRESHOLDS)) == {"blue"}
    assert find_peaks(counted(113, 10_000, level=127), 50, PIXELS, THRESHOLDS) == {}


def test_stray_pixels_are_no_peak() -> None:
    pictures = episode(GREY, [rgb_of(*CUBES["blue"])], pictures=50)
    for rgb in pictures[::7]:
        rgb[5, 5:8] = rgb_of(*CUBES["green"])
    assert set(peaks_of(pictures)[0]) == {"blue"}


def test_a_shoulder_of_a_higher_peak_is_no_peak_of_its_own() -> None:
    """A peak rises to twice the valley beside it: what only leans against a neighbour is a part of it."""
    slope = sum(counted(hue_bin, 4 * (hue_bin - 110)) for hue_bin in range(111, 140))
    assert set(find_peaks(slope, 1, PIXELS, THRESHOLDS)) == {"purple"}
    ridge = counted(110, 1000) + counted(113, 700) + counted(118, 900)
    apart = counted(110, 1000) + counted(140, 900)
    assert set(find_peaks(ridge, 1, PIXELS, THRESHOLDS)) == {"blue"}
    assert set(find_peaks(apart, 1, PIXELS, THRESHOLDS)) == {"blue", "purple"}


@pytest.mark.parametrize("colour", COLOURS)
def test_the_tables_hue_is_no_cubes(colour: str) -> None:
    """A table within the range of a colour hides that colour rather than being it."""
    table = rgb_of(CUBES[colour][0], 0.7, 0.6)
    peaks, found = peaks_of(episode(table, []))
    assert found is not None
    assert peaks == {}


@pytest.mark.parametrize("others", [(), ("blue",), ("red",), ("red", "blue")])
def test_purple_between_blue_and_red_is_neither(others: tuple[str, ...]) -> None:
    pictures = episode(WOOD, [rgb_of(*CUBES[colour]) for colour in (*others, "purple")])
    assert set(peaks_of(pictures)[0]) == {*others, "purple"}
    assert seen_in(pictures) == [{*others, "purple"}] * len(pictures)


@pytest.mark.parametrize("table", [GREY, WOOD])
@pytest.mark.parametrize("colour", COLOURS)
def test_a_hue_drifting_by_twenty_degrees_leaves_one_peak(colour: str, table: Colour) -> None:
    hue, saturation, value = CUBES[colour]
    drift = np.linspace(-10, 10, 40)
    pictures = [painted(table, [rgb_of(hue + off, saturation, value)], seed) for seed, off in enumerate(drift)]
    peaks, _ = peaks_of(pictures)
    assert set(peaks) == {colour}
    assert seen_in(pictures) == [{colour}] * len(pictures)


@pytest.mark.parametrize("table", [GREY, WOOD, RED_WOOD])
@pytest.mark.parametrize("colours", [("red", "green", "blue"), ("red", "blue", "purple")])
def test_white_balance_that_swings_from_red_to_blue_and_back_loses_and_adds_no_colour(
    colours: tuple[str, ...], table: Colour
) -> None:
    pictures = []
    for seed, swing in enumerate(0.12 * np.sin(np.linspace(0, 2 * np.pi, 30))):
        picture = painted(table, [rgb_of(*CUBES[colour]) for colour in colours], noise=0)
        pictures.append(with_noise(picture * np.array([1 + swing, 1, 1 - swing]), seed))
    assert set(peaks_of(pictures)[0]) == set(colours)
    assert seen_in(pictures) == [set(colours)] * len(pictures)


@settings(max_examples=25)
@given(factor=st.floats(0.6, 1.2))
def test_exposure_does_not_move_a_peak_by_more_than_two_bins(factor: float) -> None:
    pictures = [painted(WOOD, [rgb_of(*cube) for cube in CUBES.values()], seed, noise=0) for seed in range(3)]
    exposed = [with_noise(rgb * factor, seed, noise=2) for seed, rgb in enumerate(pictures)]
    (before, table), (after, other) = peaks_of(pictures), peaks_of(exposed)
    assert set(before) == set(after) == set(COLOURS)
    assert table is not None
    assert other is not None
    for one, two in ((before[colour].hue_bin, after[colour].hue_bin) for colour in COLOURS):
        assert abs((two - one + 90) % 180 - 90) <= 2
    assert abs(other - table) <= 2
    assert seen_in(exposed) == [set(COLOURS)] * 3


def test_in_low_light_a_dark_blue_cube_is_found_and_black_is_not() -> None:
    pictures = episode(BLACK, [rgb_of(226, 0.8, 0.2)], noise=1.0)
    assert set(peaks_of(pictures)[0]) == {"blue"}
    assert seen_in(pictures) == [{"blue"}] * len(pictures)
    bluish_black = episode(BLACK, [rgb_of(226, 0.8, 0.1)], noise=1.0)
    assert peaks_of(bluish_black)[0] == {}
    assert seen_in(bluish_black) == [set()] * len(bluish_black)
