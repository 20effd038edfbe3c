"""Hard scenes are what their names say, by the truth of the cameras that measure cubes; traps are in the pictures."""

from __future__ import annotations

from functools import cache

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from quickdraw.sim.scene import Renderer, renderer
from quickdraw.sim.scenes import ALL_TRAPS, SCENES
from quickdraw.sim.spec import CubePlace, RunSpec, Traps

MEASURED = ("scene_right", "gripper_right_top")
NO_CUBE = (CubePlace(-400.0, -900.0),) * 3


@cache
def camera(label: str, scene: str, seconds: float = 1.0, traps: Traps | None = None) -> Renderer:
    spec = RunSpec(seconds=seconds, seed=3, cube_places=SCENES[scene], traps=traps or Traps())
    return renderer(spec, label)


def shares(label: str, scene: str, k: int = 0) -> list[float]:
    """The visible part of red, green and blue."""
    return [cube.area / cube.whole_area for cube in camera(label, scene).visible_cubes(k)]


def test_cubes_begin_where_the_spec_puts_them() -> None:
    for scene, places in SCENES.items():
        boxes = camera("scene_right", scene).cube_boxes(0)
        put = [(p.x_mm, p.y_mm, -97.5 + 45.0 * p.level) for p in places]
        np.testing.assert_allclose([box.centre_mm for box in boxes], put, atol=1e-9)
        turns = [np.rad2deg(np.arctan2(box.axes[1, 0], box.axes[0, 0])) for box in boxes]
        np.testing.assert_allclose(turns, [p.turn_deg for p in places], atol=1e-9)


def test_every_cube_needs_its_place() -> None:
    with pytest.raises(ValueError, match="3 cube_places for 2 cube_colours"):
        RunSpec(cube_colours=("red", "blue"), cube_places=SCENES["edge"])


def test_in_touching_red_covers_a_part_of_blue_and_green_of_red() -> None:
    red, green, blue = shares("scene_right", "touching")
    assert green == pytest.approx(1.0)
    assert red > 0.6
    assert 0.3 < blue < 0.95


@pytest.mark.parametrize("scene", ["stack of two", "stack of three"])
def test_in_a_stack_the_top_is_whole_and_the_lowest_shows_its_sides(scene: str) -> None:
    red, _, blue = shares("scene_right", scene)
    assert blue > 0.9
    assert 0.3 < red < 0.75


def test_at_the_edge_red_is_cut_green_is_out_and_blue_is_whole() -> None:
    red, green, blue = shares("scene_right", "edge")
    assert 0.4 < red < 0.75
    assert (green, blue) == (0.0, pytest.approx(1.0))


def test_a_taken_cube_leaves_the_view_during_the_run() -> None:
    shown = camera("scene_right", "taken", 6.0)
    visible = np.array([shown.visible_cubes(k)[0].area > 0 for k in range(len(shown.stamps_s))])
    after_a_s = shown.stamps_s - RunSpec().uptime_s
    assert visible[after_a_s < 3.0].all()
    assert not visible[after_a_s > 5.0].any()


@pytest.mark.parametrize("label", MEASURED)
def test_the_cube_that_is_never_seen_is_in_no_picture(label: str) -> None:
    shown = camera(label, "never seen", 20.0)
    assert not any(shown.visible_cubes(k)[0].area for k in range(0, len(shown.stamps_s), 5))


def _bare(label: str, traps: Traps) -> Renderer:
    return renderer(RunSpec(seconds=6.0, seed=1, cube_places=NO_CUBE, traps=traps), label)


def _changed(label: str, traps: Traps, k: int) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """Picture `k` with `traps`, at the size of a built frame, and where it differs from the one without."""
    plain, trapped = (
        np.asarray(cv2.resize(_bare(label, which).picture(k), (192, 144), interpolation=cv2.INTER_AREA), np.uint8)
        for which in (Traps(), traps)
    )
    return trapped, np.abs(trapped.astype(int) - plain).max(axis=2) > 20


@pytest.mark.parametrize(("label", "k"), [("scene_right", 0), ("gripper_right_top", 100)])
def test_metal_is_blue_grey_in_both_cameras(label: str, k: int) -> None:
    picture, where = _changed(label, Traps(metal=True), k)
    assert where.sum() > 60
    red, green, blue = np.median(picture[where], axis=0)
    assert red < green < blue < 160


@pytest.mark.parametrize(("label", "largest"), [("scene_right", 4), ("gripper_right_top", 9)])
def test_stickers_are_specks_and_saturated(label: str, largest: int) -> None:
    picture, where = _changed(label, Traps(stickers=True), 0)
    count, _, stats, _ = cv2.connectedComponentsWithStats(where.astype(np.uint8))
    assert count - 1 >= 3
    assert stats[1:, cv2.CC_STAT_AREA].max() <= largest
    assert np.ptp(picture[where], axis=1).max() > 50


def test_a_reflection_tints_the_table_before_a_cube_by_less_than_a_third() -> None:
    plain, shiny = (camera("scene_right", "turned", traps=which) for which in (None, Traps(reflections=True)))
    before, after = plain.picture(0).astype(float), shiny.picture(0).astype(float)
    reddened = (before[:, :, 1] - after[:, :, 1] > 6) & (after[:, :, 0] > before[:, :, 0])
    assert reddened.sum() > 300
    rows, columns = np.nonzero(reddened)
    red = shiny.visible_cubes(0)[0]
    assert rows.mean() > red.centre[1] * 480 + 10
    assert columns.mean() == pytest.approx(red.centre[0] * 640, abs=15.0)
    wood = reddened & (before[:, :, 1] > 90)  # not the cube's shadow
    part = (before[wood][:, 1] - after[wood][:, 1]) / (before[wood][:, 1] - 32.0)
    assert 0.1 < part.max() < 0.3


def test_traps_change_nothing_of_the_truth_and_hide_no_cube() -> None:
    plain, trapped = (camera("scene_right", "turned", traps=which) for which in (None, ALL_TRAPS))
    assert plain.visible_cubes(0) == trapped.visible_cubes(0)
    for cube in plain.visible_cubes(0):
        x, y = round(cube.centre[0] * 640), round(cube.centre[1] * 480)
        assert np.array_equal(plain.picture(0)[y, x], trapped.picture(0)[y, x])
