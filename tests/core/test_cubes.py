"""The 32 numbers of a row against a plain loop over rows, cubes and views, and what an episode is evidence for."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickdraw.core.cubes import CUBE, Track, colours_in, cube_rows
from quickdraw.core.hues import CubeThresholds, Peak

Float32 = npt.NDArray[np.float32]
Sighting = tuple[float, float, float]

COLOURS = ("red", "green", "blue", "purple")  # as the specification orders them
UNSEEN = (0.0, 0.0, 0.0)
PIXELS = 144 * 192
THRESHOLDS = CubeThresholds(
    min_value=0.12, min_saturation=0.35, peak_saturation=0.5, min_area_px=12, evidence_area_px=30, evidence_share=0.02
)


def track(sightings: Float32, peaks: tuple[str, ...] = COLOURS) -> Track:
    return Track(sightings, {colour: Peak(0, 0.8) for colour in peaks})


def following(colour: str, seen: list[Sighting]) -> Track:
    """A view of one cube alone."""
    sightings = np.zeros((len(seen), 4, 3), np.float32)
    sightings[:, COLOURS.index(colour)] = seen
    return track(sightings)


def blind(rows: int) -> Track:
    return track(np.zeros((rows, 4, 3), np.float32))


def column(name: str) -> int:
    return CUBE.names.index(name)


def of(rows: Float32, cube_and_view: str) -> list[list[float]]:
    """The four columns of one cube in one view."""
    return rows[:, [column(f"{cube_and_view}_{name}") for name in ("cx", "cy", "size", "vis")]].tolist()


def test_the_names_go_cube_by_cube_view_by_view() -> None:
    names = []
    for cube in ("red", "green", "blue", "purple"):
        for view in ("scene", "wrist"):
            for measure in ("cx", "cy", "size", "vis"):
                names.append(f"{cube}_{view}_{measure}")
    assert list(CUBE.names) == names
    assert (CUBE.name, CUBE.width, CUBE.dtype) == ("observation.objects.cube", 32, "float32")
    assert CUBE.unit == ("",) * 32
    assert CUBE.identity_dims == ()


def test_each_number_stands_where_its_name_says() -> None:
    """Every cube and view with a position and an area of its own."""
    scene, wrist = (np.zeros((1, 4, 3), np.float32) for _ in range(2))
    for cube in range(4):
        scene[0, cube] = (cube / 10, cube / 20, 30 * (cube + 1))
        wrist[0, cube] = (0.5 + cube / 10, 0.5 + cube / 20, 15 * (cube + 1))
    (row,) = cube_rows([track(scene), track(wrist)], COLOURS, PIXELS)
    expected = []
    for cube in range(4):
        for base, area in ((0.0, 30 * (cube + 1)), (0.5, 15 * (cube + 1))):
            expected += [base + cube / 10, base + cube / 20, math.sqrt(area / 120), min(area / 120, 1)]
    np.testing.assert_allclose(row, expected, rtol=1e-6)


HERE, THERE = (0.25, 0.75, 120.0), (0.5, 0.125, 30.0)
CASES = {
    "never seen": ([UNSEEN] * 3, [[0, 0, 0, 0]] * 3),
    "seen throughout": ([HERE, THERE], [[0.25, 0.75, 1, 1], [0.5, 0.125, 0.5, 0.25]]),
    "seen in the first row alone": ([HERE, UNSEEN, UNSEEN], [[0.25, 0.75, 1, 1], *[[0.25, 0.75, 0, 0]] * 2]),
    "seen in the last row alone": ([UNSEEN, UNSEEN, HERE], [*[[0, 0, 0, 0]] * 2, [0.25, 0.75, 1, 1]]),
    "lost and seen elsewhere": (
        [UNSEEN, HERE, UNSEEN, UNSEEN, THERE, UNSEEN],
        [[0, 0, 0, 0], [0.25, 0.75, 1, 1], *[[0.25, 0.75, 0, 0]] * 2, [0.5, 0.125, 0.5, 0.25], [0.5, 0.125, 0, 0]],
    ),
    "one row, seen": ([HERE], [[0.25, 0.75, 1, 1]]),
    "one row, unseen": ([UNSEEN], [[0, 0, 0, 0]]),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("colour", COLOURS)
def test_a_cube_out_of_sight_keeps_its_last_position_with_size_and_visibility_zero(case: str, colour: str) -> None:
    seen, expected = CASES[case]
    rows = cube_rows([following(colour, seen), blind(len(seen))], COLOURS, PIXELS)
    assert of(rows, f"{colour}_scene") == expected
    assert np.count_nonzero(rows) == np.count_nonzero(expected)


def test_the_two_views_hold_their_positions_each_by_itself() -> None:
    scene, wrist = following("blue", [HERE, UNSEEN, THERE]), following("blue", [UNSEEN, THERE, UNSEEN])
    rows = cube_rows([scene, wrist], COLOURS, PIXELS)
    assert of(rows, "blue_scene") == [[0.25, 0.75, 1, 1], [0.25, 0.75, 0, 0], [0.5, 0.125, 0.5, 0.25]]
    assert of(rows, "blue_wrist") == [[0, 0, 0, 0], [0.5, 0.125, 0.5, 0.25], [0.5, 0.125, 0, 0]]


def test_a_cube_seen_in_the_very_corner_is_seen() -> None:
    """Position zero is a place; what says that nothing is seen is the area."""
    rows = cube_rows([following("red", [(0.0, 0.0, 60.0), UNSEEN]), blind(2)], COLOURS, PIXELS)
    assert of(rows, "red_scene")[0][3] == 0.5
    assert of(rows, "red_scene")[1] == [0, 0, 0, 0]


SIGHTINGS = st.lists(
    st.lists(
        st.just(UNSEEN) | st.tuples(*[st.floats(0, 1, width=32)] * 2, st.floats(1, 4000, width=32)),
        min_size=4, max_size=4,
    ),
    min_size=1, max_size=30,
)  # fmt: skip


def by_the_rule(views: list[list[list[Sighting]]], palette: set[str], picture_px: int) -> list[list[float]]:
    """The rows, one after another, remembering where each cube was last."""
    typical = 120 * picture_px / (144 * 192)
    last: dict[tuple[int, int], tuple[float, float]] = {}
    rows = []
    for number in range(len(views[0])):
        row: list[float] = []
        for cube, colour in enumerate(COLOURS):
            for view in (0, 1):
                x, y, area = views[view][number][cube]
                if colour not in palette:
                    row += [0, 0, 0, 0]
                elif area > 0:
                    last[cube, view] = (x, y)
                    row += [x, y, math.sqrt(area / typical), min(area / typical, 1)]
                else:
                    row += [*last.get((cube, view), (0, 0)), 0, 0]
        rows.append(row)
    return rows


@given(
    scene=SIGHTINGS, wrist=SIGHTINGS, palette=st.sets(st.sampled_from(COLOURS)),
    picture_px=st.sampled_from([PIXELS, 4 * PIXELS, 96 * 128, 480 * 640]),
)  # fmt: skip
def test_rows_are_those_of_a_plain_loop_that_remembers(
    scene: list[list[Sighting]], wrist: list[list[Sighting]], palette: set[str], picture_px: int
) -> None:
    length = min(len(scene), len(wrist))
    views = [scene[:length], wrist[:length]]
    rows = cube_rows([track(np.array(view, np.float32)) for view in views], palette, picture_px)
    assert (rows.shape, rows.dtype) == ((length, 32), np.float32)
    np.testing.assert_allclose(rows, by_the_rule(views, palette, picture_px), rtol=1e-6, atol=0)


@given(scene=SIGHTINGS, at=st.integers(0, 30))
def test_a_row_does_not_depend_on_what_comes_after_it(scene: list[list[Sighting]], at: int) -> None:
    views = [track(np.array(scene, np.float32)), blind(len(scene))]
    begun = [track(view.sightings[: at + 1]) for view in views]
    np.testing.assert_array_equal(cube_rows(begun, COLOURS, PIXELS), cube_rows(views, COLOURS, PIXELS)[: at + 1])


@pytest.mark.parametrize(
    ("area_px", "size", "visibility"),
    [(120, 1, 1), (30, 0.5, 0.25), (12, math.sqrt(0.1), 0.1), (480, 2, 1), (1, math.sqrt(1 / 120), 1 / 120)],
)
@pytest.mark.parametrize("scale", [1, 4, 100 / 9])
def test_size_is_the_root_of_area_over_120_px_and_visibility_that_ratio_clipped(
    area_px: float, size: float, visibility: float, scale: float
) -> None:
    """120 px at 144 x 192; at other sizes so much more as the picture has pixels."""
    rows = cube_rows([following("red", [(0.5, 0.5, area_px * scale)]), blind(1)], COLOURS, round(PIXELS * scale))
    assert of(rows, "red_scene")[0] == pytest.approx([0.5, 0.5, size, visibility], rel=1e-6)


@pytest.mark.parametrize("palette", [(), ("red", "green", "blue"), ("red", "blue", "purple"), ("purple",), COLOURS])
def test_a_colour_outside_the_palette_is_zero_in_every_row_and_one_inside_is_untouched(palette: tuple[str]) -> None:
    random = np.random.default_rng(4)
    views = [track(random.uniform(0.1, 200, (20, 4, 3)).astype(np.float32)) for _ in range(2)]
    rows, every = cube_rows(views, palette, PIXELS), cube_rows(views, COLOURS, PIXELS)
    for name in CUBE.names:
        kept = name.partition("_")[0] in palette
        np.testing.assert_array_equal(rows[:, column(name)], every[:, column(name)] if kept else np.zeros(20))
    assert (every > 0).all()


def test_rows_cannot_be_written_into_and_tracks_are_left_alone() -> None:
    seen = following("red", [HERE, UNSEEN])
    rows = cube_rows([seen, blind(2)], (), PIXELS)
    with pytest.raises(ValueError, match="read-only"):
        rows[0, 0] = 1
    assert seen.sightings[0, 0].tolist() == list(HERE)


def lasting(rows: int, large: int, area_px: float = 30, peaks: tuple[str, ...] = ("green",)) -> Track:
    """An episode of `rows` rows in which a green cube of that area is seen in `large` of them."""
    sightings = np.zeros((rows, 4, 3), np.float32)
    sightings[:large, 1] = (0.5, 0.5, area_px)
    return track(sightings, peaks)


@pytest.mark.parametrize(
    ("rows", "large", "there"),
    [(10, 10, True), (10, 9, False), (500, 10, True), (500, 9, False), (501, 10, False), (501, 11, True),
     (5000, 99, False), (5000, 100, True), (9, 9, False)],
)  # fmt: skip
def test_a_colour_is_evident_in_two_per_cent_of_the_rows_and_at_least_ten(rows: int, large: int, there: bool) -> None:
    assert colours_in([lasting(rows, large), blind(rows)], PIXELS, THRESHOLDS) == {*(["green"] if there else [])}


@pytest.mark.parametrize(("area_px", "scale", "there"), [(30, 1, True), (29, 1, False), (119, 4, False),
                                                         (120, 4, True)])  # fmt: skip
def test_rows_count_where_the_cube_is_large_enough_for_the_pictures_size(
    area_px: float, scale: int, there: bool
) -> None:
    found = colours_in([lasting(100, 100, area_px)], scale * PIXELS, THRESHOLDS)
    assert found == ({"green"} if there else set())


def test_without_a_peak_of_its_own_a_colour_is_no_evidence() -> None:
    assert colours_in([lasting(100, 100, peaks=("red", "blue"))], PIXELS, THRESHOLDS) == set()


def test_either_view_suffices_and_half_the_evidence_in_both_does_not() -> None:
    enough, little = lasting(500, 10), lasting(500, 5)
    for tracks in ([enough, blind(500)], [blind(500), enough], [enough, little]):
        assert colours_in(tracks, PIXELS, THRESHOLDS) == {"green"}
    assert colours_in([little, little], PIXELS, THRESHOLDS) == set()
    assert colours_in([lasting(500, 10, peaks=()), lasting(500, 0)], PIXELS, THRESHOLDS) == set()


def test_visible_share_is_the_share_of_rows_in_which_each_colour_is_seen() -> None:
    sightings = np.zeros((8, 4, 3), np.float32)
    sightings[:2, 0] = HERE
    sightings[::2, 2] = (0.0, 0.0, 12.0)
    sightings[:, 3] = THERE
    assert track(sightings, ()).visible_share() == {"red": 0.25, "green": 0.0, "blue": 0.5, "purple": 1.0}
