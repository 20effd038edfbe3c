"""What the simulated camera adds to the scene: exact where it can be, measured where it is random."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from quickdraw.sim.barcode import read_frame_number
from quickdraw.sim.look import Sensor, averaged, sub_exposures_s
from quickdraw.sim.scene import Renderer, renderer
from quickdraw.sim.scenes import REAL_LOOK
from quickdraw.sim.spec import Look, RunSpec

PLAIN = RunSpec(seconds=6.0, seed=5)
GREY = np.full((48, 64, 3), 100, np.uint8)


@cache
def camera(label: str, look: Look, seed: int = 5) -> Renderer:
    return renderer(replace(PLAIN, look=look, seed=seed), label)


def test_without_a_look_a_picture_is_the_scene_itself() -> None:
    sensor = Sensor(PLAIN, 1)
    assert sensor.expose(GREY, 0, 3.0) is GREY
    assert averaged([GREY]) is GREY
    assert sub_exposures_s(Look()).tolist() == [0.0]


@pytest.mark.parametrize("label", ["scene_right", "gripper_right_top"])
def test_equal_specs_make_equal_pictures_and_another_seed_another_one(label: str) -> None:
    first, again = (renderer(replace(PLAIN, look=REAL_LOOK), label).picture(20) for _ in range(2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, camera(label, REAL_LOOK, seed=6).picture(20))


def test_exposure_swings_by_its_amplitude_around_one_once_a_period() -> None:
    sensor = Sensor(replace(PLAIN, look=Look(gain_swing=0.2, gain_period_s=10.0)), 1)
    gains = np.array([sensor.gains(s) for s in np.arange(0.0, 20.0, 0.01)])
    assert np.array_equal(gains[:, 0], gains[:, 1])
    assert gains.mean() == pytest.approx(1.0, abs=1e-3)
    assert (gains.min(), gains.max()) == pytest.approx((0.8, 1.2), abs=1e-4)
    np.testing.assert_allclose(gains[:1000], gains[1000:], atol=1e-9)


def test_white_balance_takes_from_blue_what_it_gives_to_red() -> None:
    sensor = Sensor(replace(PLAIN, look=Look(balance_swing=0.1, balance_period_s=8.0)), 1)
    gains = np.array([sensor.gains(s) for s in np.arange(0.0, 8.0, 0.01)])
    np.testing.assert_allclose(gains[:, 0] + gains[:, 2], 2.0)
    assert set(gains[:, 1]) == {1.0}
    assert gains[:, 0].max() == pytest.approx(1.1, abs=1e-4)


def test_a_picture_is_brighter_by_the_gain_of_its_moment() -> None:
    look = replace(REAL_LOOK, noise_levels=0.0, shutter_s=0.0)
    sensor = Sensor(replace(PLAIN, look=look), 1)
    bare, seen = camera("scene_right", Look()), camera("scene_right", look)
    for k in (0, 90, 170):
        expected = bare.picture(k) * sensor.gains(float(seen.stamps_s[k]))
        np.testing.assert_allclose(seen.picture(k), np.clip(expected, 0, 255), atol=0.51)


def test_every_camera_wanders_at_its_own_phase() -> None:
    spec = replace(PLAIN, look=REAL_LOOK)
    gains = np.array([Sensor(spec, index).gains(100.0) for index in range(4)])
    assert len({tuple(row) for row in gains.round(3).tolist()}) == 4


def test_noise_has_its_strength_no_bias_and_no_memory() -> None:
    sensor = Sensor(replace(PLAIN, look=Look(noise_levels=5.0)), 1)
    grey = np.full((480, 640, 3), 128, np.uint8)
    noise = np.stack([sensor.expose(grey, k, 3.0) for k in (0, 1)]).astype(float) - 128.0
    assert noise.std() == pytest.approx(5.0, rel=0.02)
    assert noise.mean() == pytest.approx(0.0, abs=0.02)
    series = [noise[0, :, :, 0].ravel(), noise[0, :, :, 1].ravel(), noise[1, :, :, 0].ravel()]
    assert np.abs(np.corrcoef(series) - np.eye(3)).max() < 0.01


def test_a_shutter_blurs_what_moves_and_nothing_else() -> None:
    sharp, blurred = (camera("scene_right", Look(shutter_s=shutter_s)) for shutter_s in (0.0, 0.03))
    changed = []
    for k in range(0, 180, 20):
        one, other = sharp.picture(k), blurred.picture(k)
        assert np.array_equal(one[440:], other[440:])  # bare table
        changed.append(np.mean(one != other))
    assert max(changed) > 0.005


def test_a_shutter_is_open_around_the_stamp_and_the_truth_is_of_the_stamp() -> None:
    open_s = sub_exposures_s(Look(shutter_s=0.02))
    assert open_s[len(open_s) // 2] == 0.0
    assert np.ptp(open_s) < 0.02
    np.testing.assert_allclose(open_s, -open_s[::-1])
    for k in (0, 80, 140):
        sharp, blurred = (camera("gripper_right_top", Look(shutter_s=s)).visible_cubes(k) for s in (0.0, 0.02))
        np.testing.assert_allclose([c.area for c in sharp], [c.area for c in blurred], atol=1e-9)


def test_a_painted_number_survives_the_look() -> None:
    shown = renderer(replace(PLAIN, look=REAL_LOOK, paint_numbers=True), "gripper_right_top")
    assert [read_frame_number(shown.picture(k)) for k in (0, 77)] == [0, 77]
