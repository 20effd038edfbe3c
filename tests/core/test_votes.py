"""How a pixel votes for a cube: the table of votes against the rules, written out pixel by pixel."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickdraw.core.hues import (
    COLOURS,
    CORE_SATURATION,
    EDGE_SATURATION,
    PLAIN_HUES,
    PLAIN_SATURATION,
    REACH_BINS,
    CubeThresholds,
    Peak,
    votes,
)

THRESHOLDS = CubeThresholds(
    min_value=0.12, min_saturation=0.35, peak_saturation=0.5, min_area_px=12, evidence_area_px=30, evidence_share=0.02
)


def said_of(pixels: list[tuple[int, int, int]], peaks: dict[str, Peak], table: int | None) -> list[list[set[str]]]:
    """Per HSV pixel, the colours it may belong to and those it may be the core of."""
    said = cv2.LUT(np.array([pixels], np.uint8), votes(peaks, table, THRESHOLDS))[0]
    agreed = (int(hue & saturation & value) for hue, saturation, value in said)
    return [[{c for bit, c in enumerate(COLOURS) if bits >> shift + bit & 1} for shift in (0, 4)] for bits in agreed]


def apart_deg(one: int, other: int) -> int:
    return min((one - other) % 360, (other - one) % 360)


def one_vote(hsv: tuple[int, int, int], peaks: dict[str, Peak], table: int | None) -> list[set[str]]:
    """The colours a pixel may belong to, and those it may be the core of; by the rules, pixel by pixel."""
    hue_deg, saturation, value = 2 * hsv[0], hsv[1] / 255, hsv[2] / 255
    known = {name: (PLAIN_HUES[name], PLAIN_SATURATION) for name in COLOURS}
    known |= {name: (2 * peak.hue_bin, peak.saturation) for name, peak in peaks.items()}
    nearest = min(known, key=lambda name: apart_deg(hue_deg, known[name][0]))
    hue, full = known[nearest]
    own = apart_deg(hue_deg, hue) // 2 <= REACH_BINS
    if table is not None:
        own = own and apart_deg(hue_deg, hue) < apart_deg(hue_deg, 2 * table)
    if not own or value < 0.12 or saturation < 0.35 or saturation < EDGE_SATURATION[nearest] * full:
        return [set(), set()]
    return [{nearest}, {nearest} if saturation >= CORE_SATURATION * full else set()]


PEAKS = st.fixed_dictionaries(
    {},
    optional={
        "red": st.builds(Peak, st.sampled_from([*range(165, 180), *range(9)]), st.floats(0.5, 1)),
        "green": st.builds(Peak, st.integers(37, 86), st.floats(0.5, 1)),
        "blue": st.builds(Peak, st.integers(95, 124), st.floats(0.5, 1)),
        "purple": st.builds(Peak, st.integers(125, 161), st.floats(0.5, 1)),
    },
)
HSV = st.tuples(st.integers(0, 179), st.integers(0, 255), st.integers(0, 255))


@given(pixels=st.lists(HSV, min_size=1, max_size=80), peaks=PEAKS, table=st.none() | st.integers(0, 179))
def test_votes_are_what_the_rules_say_of_each_pixel(
    pixels: list[tuple[int, int, int]], peaks: dict[str, Peak], table: int | None
) -> None:
    for hsv, found in zip(pixels, said_of(pixels, peaks, table), strict=True):
        assert found == one_vote(hsv, peaks, table), hsv


@pytest.mark.parametrize(("hue_bin", "colour"), [(0, "red"), (178, "red"), (113, "blue"), (140, "purple")])
def test_a_colour_without_a_peak_does_not_leave_its_pixels_to_its_neighbours(hue_bin: int, colour: str) -> None:
    """Too little purple for a peak of its own is still not blue, though blue is all there is to go by."""
    others = {name: Peak(at, 0.8) for name, at in (("red", 2), ("blue", 112), ("purple", 139)) if name != colour}
    assert said_of([(hue_bin, 200, 200)], others, None) == [[{colour}, {colour}]]


def test_black_grey_and_white_vote_for_nothing_whatever_their_hue() -> None:
    """Hue is noise where there is little light or little colour."""
    peaks = {"red": Peak(0, 0.8), "green": Peak(65, 0.75), "blue": Peak(113, 0.8), "purple": Peak(140, 0.75)}
    for saturation, value in ((255, 30), (255, 0), (89, 255), (0, 255), (20, 140)):
        assert said_of([(hue, saturation, value) for hue in range(180)], peaks, None) == [[set(), set()]] * 180


def test_a_hue_half_way_to_the_tables_is_the_tables() -> None:
    """It votes for red up to half the way to the wood's, on the wood's side alone."""
    said = said_of([(hue, 220, 200) for hue in (170, 0, 6, 7, 14)], {"red": Peak(0, 0.8)}, 14)
    assert [edge for edge, _ in said] == [{"red"}, {"red"}, {"red"}, set(), set()]
    assert said_of([(7, 220, 200)], {"red": Peak(0, 0.8)}, None) == [[{"red"}, {"red"}]]


def test_a_rim_of_half_the_saturation_belongs_to_a_cube_and_not_to_its_core() -> None:
    peaks = {"green": Peak(65, 0.8)}
    assert said_of([(65, round(255 * s), 200) for s in (0.3, 0.4, 0.55, 0.65)], peaks, None) == [
        [set(), set()], [{"green"}, set()], [{"green"}, set()], [{"green"}, {"green"}]
    ]  # fmt: skip
