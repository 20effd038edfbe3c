"""Cubes drawn at known places: centre and area of what is measured against the pixels that were painted."""

from __future__ import annotations

import colorsys

import av
import cv2
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickdraw.core.blobs import measure
from quickdraw.core.hues import COLOURS, CubeThresholds, Peak, votes

Rgb = npt.NDArray[np.uint8]

THRESHOLDS = CubeThresholds(
    min_value=0.12, min_saturation=0.35, peak_saturation=0.5, min_area_px=12, evidence_area_px=30, evidence_share=0.02
)
HEIGHT, WIDTH = 144, 192
GREY, WOOD, DARK_WOOD, BLACK = (158, 158, 160), (158, 116, 78), (120, 86, 57), (8, 8, 8)
HSV = {"red": (0, 0.8, 0.78), "green": (130, 0.75, 0.6), "blue": (226, 0.8, 0.8), "purple": (280, 0.75, 0.65)}
CUBES = {
    colour: tuple(round(255 * part) for part in colorsys.hsv_to_rgb(hue / 360, saturation, value))
    for colour, (hue, saturation, value) in HSV.items()
}
PEAKS = {colour: Peak(hue // 2, saturation) for colour, (hue, saturation, _) in HSV.items()}
TABLE_BINS = {GREY: None, WOOD: 14, DARK_WOOD: 14}
CORNERS = 4  # what the filter against rims of one pixel takes from a rectangle


def blank(table: tuple[int, int, int] = GREY, height: int = HEIGHT, width: int = WIDTH) -> Rgb:
    picture = np.empty((height, width, 3), np.uint8)
    picture[:] = table
    return picture


def rectangle(picture: Rgb, colour: str, *, x: int, y: int, width: int, height: int) -> Rgb:
    """The picture with pixels [x, x + width) by [y, y + height) painted, as far as they lie in it."""
    picture[max(0, y) : max(0, y + height), max(0, x) : max(0, x + width)] = CUBES[colour]
    return picture


def found_in(picture: Rgb, thresholds: CubeThresholds = THRESHOLDS, table: int | None = None) -> dict[str, list[float]]:
    """Colour -> centre x, centre y [px] and area [px]; every one that is seen."""
    found = measure(picture, votes(PEAKS, table, thresholds), thresholds)
    assert (found.shape, found.dtype) == ((4, 3), np.float32)
    height, width = picture.shape[:2]
    scaled = (found.astype(np.float64) * (width, height, 1)).tolist()
    return {colour: values for colour, values in zip(COLOURS, scaled, strict=True) if any(values)}


def as_in_video(picture: Rgb) -> Rgb:
    """What is left of a picture whose colour is kept at half its size, by PyAV's own conversions."""
    frame = av.VideoFrame.from_ndarray(picture, format="rgb24").reformat(format="yuv420p")
    return np.asarray(frame.to_ndarray(format="rgb24"), np.uint8)


def test_a_picture_without_cubes_measures_zero_in_every_number() -> None:
    for table in (GREY, WOOD, BLACK):
        assert measure(blank(table), votes(PEAKS, 14, THRESHOLDS), THRESHOLDS).tolist() == [[0.0, 0.0, 0.0]] * 4


@pytest.mark.parametrize("colour", COLOURS)
def test_a_picture_full_of_a_colour_has_its_centre_in_the_middle(colour: str) -> None:
    """A pixel covers [i, i + 1): the middle of the picture is 0.5 at any size."""
    for height, width in ((HEIGHT, WIDTH), (96, 128), (48, 48)):
        full = rectangle(blank(GREY, height, width), colour, x=0, y=0, width=width, height=height)
        found = measure(full, votes(PEAKS, None, THRESHOLDS), THRESHOLDS)[COLOURS.index(colour)]
        assert found.tolist() == [0.5, 0.5, height * width]


@given(
    colour=st.sampled_from(COLOURS), x=st.integers(1, 100), y=st.integers(1, 80), width=st.integers(5, 90),
    height=st.integers(5, 60),
)  # fmt: skip
def test_a_rectangle_has_its_area_but_the_corners_and_its_exact_centre(
    colour: str, x: int, y: int, width: int, height: int
) -> None:
    found = found_in(rectangle(blank(), colour, x=x, y=y, width=width, height=height))
    assert found.keys() == {colour}
    assert found[colour] == pytest.approx([x + width / 2, y + height / 2, width * height - CORNERS], abs=1e-4)


@pytest.mark.parametrize("side", [10, 12, 25])
@pytest.mark.parametrize("degrees", [10, 20, 30, 45, 60, 75])
def test_a_rotated_square_is_measured_within_a_tenth_of_a_pixel_and_a_few_pixels_of_area(
    degrees: int, side: int
) -> None:
    picture = blank(WOOD)
    corners = cv2.boxPoints(((96.3, 71.8), (side, side), degrees))
    cv2.fillPoly(picture, [np.round(corners * 16).astype(np.int32)], CUBES["red"], shift=4)
    y, x = np.nonzero((picture == CUBES["red"]).all(axis=-1))
    found = found_in(picture, table=14)["red"]
    assert found[:2] == pytest.approx([x.mean() + 0.5, y.mean() + 0.5], abs=0.1)
    assert len(x) - 6 <= found[2] <= len(x)


@given(x=st.integers(-4, 185), y=st.integers(-4, 137))
def test_a_cube_cut_by_an_edge_of_the_picture_is_measured_as_far_as_it_is_seen(x: int, y: int) -> None:
    seen_x, seen_y = (max(0, x), min(WIDTH, x + 11)), (max(0, y), min(HEIGHT, y + 11))
    found = found_in(rectangle(blank(), "blue", x=x, y=y, width=11, height=11))["blue"]
    assert found[:2] == pytest.approx([sum(seen_x) / 2, sum(seen_y) / 2], abs=0.1)
    area = (seen_x[1] - seen_x[0]) * (seen_y[1] - seen_y[0])
    assert area - CORNERS <= found[2] <= area


@pytest.mark.parametrize(("x", "y"), [(-6, 50), (187, 50), (50, -6), (50, 139)])
def test_half_a_cube_at_each_edge_lies_within_the_picture(x: int, y: int) -> None:
    found = measure(rectangle(blank(), "red", x=x, y=y, width=11, height=11), votes(PEAKS, None, THRESHOLDS),
                    THRESHOLDS)[0]  # fmt: skip
    assert found[2] == 5 * 11 - 2
    assert (found[:2] > 0).all()
    assert (found[:2] < 1).all()


def test_a_mirrored_picture_has_mirrored_centres() -> None:
    picture = blank(WOOD)
    for number, colour in enumerate(COLOURS):
        rectangle(picture, colour, x=10 + 40 * number, y=20 + 25 * number, width=9 + number, height=12)
    ballot = votes(PEAKS, 14, THRESHOLDS)
    plain = measure(picture, ballot, THRESHOLDS)
    assert (plain[:, 2] > 0).all()
    for axis, column in ((0, 1), (1, 0)):
        mirrored = measure(np.ascontiguousarray(np.flip(picture, axis)), ballot, THRESHOLDS)
        np.testing.assert_allclose(mirrored[:, column], 1 - plain[:, column], atol=1e-6)
        np.testing.assert_array_equal(mirrored[:, [1 - column, 2]], plain[:, [1 - column, 2]])


def test_two_parts_cut_by_a_dark_bar_are_one_object_with_their_joint_centre() -> None:
    picture = rectangle(blank(WOOD), "red", x=50, y=30, width=16, height=16)
    picture[20:60, 56:59] = BLACK
    left, right = 6 * 16 - CORNERS, 7 * 16 - CORNERS
    expected = [(left * 53 + right * 62.5) / (left + right), 38.0, left + right]
    assert found_in(picture, table=14)["red"] == pytest.approx(expected, abs=1e-4)


def test_a_sliver_beside_a_larger_part_counts_and_one_far_away_does_not() -> None:
    """Less than a speck is a part of the cube where the gripper cut it off, and nothing by itself."""
    whole = rectangle(blank(), "green", x=50, y=30, width=10, height=10)
    sliver, area = 3 * 3 - CORNERS, 100 - CORNERS
    assert sliver < THRESHOLDS.min_area_px
    beside = found_in(rectangle(whole.copy(), "green", x=62, y=34, width=3, height=3))["green"]
    assert beside[2] == area + sliver
    assert beside[0] == pytest.approx((area * 55 + sliver * 63.5) / (area + sliver), abs=1e-4)
    assert found_in(rectangle(whole.copy(), "green", x=120, y=34, width=3, height=3)) == found_in(whole)
    assert found_in(rectangle(blank(), "green", x=62, y=34, width=3, height=3)) == {}


def test_specks_do_not_count() -> None:
    picture = blank(WOOD)
    for number in range(12):
        size = 1 + number % 3
        rectangle(picture, "blue", x=10 + 14 * number, y=20 + 9 * number, width=size, height=size)
    assert found_in(picture, table=14) == {}


@pytest.mark.parametrize("min_area_px", [20, 21, 22, 400])
def test_a_blob_counts_from_the_least_area_on(min_area_px: float) -> None:
    thresholds = CubeThresholds(min_area_px=min_area_px)
    picture = rectangle(blank(), "purple", x=50, y=50, width=5, height=5)
    assert (found_in(picture, thresholds) != {}) == (min_area_px <= 5 * 5 - CORNERS)


@pytest.mark.parametrize("thick", [1, 2])
def test_a_rim_around_another_cube_is_no_cube(thick: int) -> None:
    picture = rectangle(blank(), "purple", x=50 - thick, y=50 - thick, width=20 + 2 * thick, height=20 + 2 * thick)
    rectangle(picture, "blue", x=50, y=50, width=20, height=20)
    assert found_in(picture).keys() == {"blue"}


def test_a_hole_of_one_pixel_is_none() -> None:
    whole = rectangle(blank(), "red", x=50, y=50, width=12, height=12)
    pierced = whole.copy()
    pierced[55, 56] = GREY
    assert found_in(pierced) == found_in(whole)


def test_a_pale_patch_without_a_core_is_no_cube_and_the_pale_rim_of_one_is_part_of_it() -> None:
    """0.55 of a cube's saturation is enough for its rim, not for a cube."""
    pale = tuple(round(255 * part) for part in colorsys.hsv_to_rgb(130 / 360, 0.41, 0.6))
    picture = blank()
    picture[50:70, 50:70] = pale
    assert found_in(picture) == {}
    rectangle(picture, "green", x=53, y=53, width=14, height=14)
    assert found_in(picture)["green"] == pytest.approx([60, 60, 400 - CORNERS], abs=1e-4)


@pytest.mark.parametrize("scale", [2, 3])
def test_thresholds_and_areas_scale_with_the_pictures_area(scale: int) -> None:
    """The same scene at 288 x 384 measures the same in shares of the picture; so does what is too small."""
    scene = blank(WOOD)
    for number, (colour, side) in enumerate(zip(COLOURS, (9, 11, 14, 20), strict=True)):
        rectangle(scene, colour, x=12 + 42 * number, y=30 + 20 * number, width=side, height=side)
        rectangle(scene, colour, x=12 + 42 * number, y=5, width=3, height=3)
    large = scene.repeat(scale, axis=0).repeat(scale, axis=1)
    ballot = votes(PEAKS, 14, THRESHOLDS)
    small, same = measure(scene, ballot, THRESHOLDS), measure(large, ballot, THRESHOLDS)
    assert (small[:, 2] > 0).all()
    np.testing.assert_allclose(same[:, :2], small[:, :2], atol=1e-6)
    np.testing.assert_allclose(same[:, 2] / scale**2, small[:, 2], atol=CORNERS)


@pytest.mark.parametrize(("height", "width", "side", "seen"), [(288, 384, 7, False), (288, 384, 8, True),
                                                               (72, 96, 5, True), (144, 192, 5, True)])  # fmt: skip
def test_what_is_a_speck_depends_on_the_pictures_size(height: int, width: int, side: int, seen: bool) -> None:
    picture = rectangle(blank(GREY, height, width), "red", x=40, y=30, width=side, height=side)
    assert (found_in(picture) != {}) == seen


@pytest.mark.parametrize("pair", [("red", "green"), ("red", "blue"), ("red", "purple"), ("blue", "purple"),
                                  ("green", "blue")])  # fmt: skip
@pytest.mark.parametrize("stacked", [False, True])
def test_cubes_that_touch_keep_apart(pair: tuple[str, str], stacked: bool) -> None:
    picture = rectangle(blank(WOOD), pair[0], x=60, y=60, width=13, height=13)
    x, y = (60, 73) if stacked else (73, 60)
    rectangle(picture, pair[1], x=x, y=y, width=13, height=13)
    found = found_in(as_in_video(picture), table=14)
    assert found.keys() == set(pair)
    for colour, centre in zip(pair, ((66.5, 66.5), (x + 6.5, y + 6.5)), strict=True):
        assert found[colour][:2] == pytest.approx(centre, abs=0.8), colour
        assert found[colour][2] == pytest.approx(169, rel=0.15), colour


@pytest.mark.parametrize("table", TABLE_BINS)
@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize(("x", "y"), [(50, 30), (51, 30), (50, 31), (51, 31)])
def test_a_small_cube_keeps_its_area_where_video_halves_the_colours_resolution(
    colour: str, table: tuple[int, int, int], x: int, y: int
) -> None:
    found = found_in(
        as_in_video(rectangle(blank(table), colour, x=x, y=y, width=11, height=11)), table=TABLE_BINS[table]
    )
    assert found.keys() == {colour}
    assert found[colour][2] == pytest.approx(121, rel=0.15)
    assert found[colour][:2] == pytest.approx([x + 5.5, y + 5.5], abs=0.6)


@pytest.mark.parametrize("y", [30, 31])
def test_a_red_line_of_two_pixels_loses_its_hue_in_video_and_is_no_cube(y: int) -> None:
    line = rectangle(blank(), "red", x=50, y=y, width=100, height=2)
    assert found_in(line) == found_in(as_in_video(line)) == {}
    across = rectangle(blank(), "red", x=50 + y % 2, y=20, width=2, height=100)
    assert found_in(across) == found_in(as_in_video(across)) == {}
