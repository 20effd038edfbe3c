from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from quickdraw.sim import cameras
from quickdraw.sim.clock import dt_s, tick_times_s
from quickdraw.sim.spec import DEFAULT_CAMERAS, CameraSpec, RunSpec


def test_quantised_stamps_are_multiples_of_the_quantum() -> None:
    stamps = cameras.stamps_s(RunSpec(stamp_quantum_s=0.004), 0)
    milliseconds = stamps * 1000.0
    np.testing.assert_allclose(milliseconds / 4.0, np.round(milliseconds / 4.0), atol=1e-6)
    assert np.array_equal(stamps, np.round(stamps, 6))


def test_a_coarse_clock_hides_the_rate_from_the_median_interval() -> None:
    stamps = cameras.stamps_s(RunSpec(seconds=60.0), 1)
    assert np.median(np.diff(stamps)) == pytest.approx(0.032)
    assert (len(stamps) - 1) / (stamps[-1] - stamps[0]) == pytest.approx(30.01, abs=0.02)


def test_a_dropped_picture_leaves_a_gap_and_no_stamp() -> None:
    camera = DEFAULT_CAMERAS[0]
    whole = cameras.stamps_s(RunSpec(cameras=(camera,)), 0)
    holed = cameras.stamps_s(RunSpec(cameras=(replace(camera, dropped=(40,)),)), 0)
    assert np.array_equal(holed, np.delete(whole, 40))
    assert np.diff(holed)[39] == pytest.approx(2 / camera.rate_hz, abs=0.006)


def test_a_late_picture_moves_its_own_stamp_only() -> None:
    camera = DEFAULT_CAMERAS[0]
    whole = cameras.stamps_s(RunSpec(cameras=(camera,)), 0)
    late = cameras.stamps_s(RunSpec(cameras=(replace(camera, late=((40, 0.02),)),)), 0)
    assert np.flatnonzero(late != whole).tolist() == [40]


def test_a_delay_beyond_the_next_picture_is_refused() -> None:
    camera = CameraSpec("scene_left", "/dev/video0", "1", rate_hz=30.0, late=((5, 0.2),))
    with pytest.raises(ValueError, match="stamps of scene_left do not increase"):
        cameras.stamps_s(RunSpec(cameras=(camera,)), 0)


def test_cameras_start_staggered_after_the_streams_and_end_with_them() -> None:
    spec = RunSpec(seconds=5.0, uptime_s=2304.5)
    ticks = tick_times_s(spec, end_s=cameras.run_end_s(spec))
    stamps = [cameras.stamps_s(spec, index) for index in range(4)]
    firsts = [float(times[0]) - 2304.5 for times in stamps]
    assert firsts == sorted(firsts)
    assert firsts[0] > 1.0
    assert firsts[-1] - firsts[0] > 0.7
    for times in stamps:
        assert abs(times[-1] - ticks[-1]) < 0.05


def test_the_loop_begins_with_the_gap_of_the_a_button_and_keeps_its_rate() -> None:
    spec = RunSpec(seconds=60.0, first_gap_s=0.32, loop_hiccups=2)
    ticks = tick_times_s(spec, end_s=cameras.run_end_s(spec))
    gaps = np.diff(ticks)
    assert ticks[0] == spec.uptime_s
    assert gaps[0] >= 0.32
    assert gaps.min() > 0
    assert np.median(gaps) == pytest.approx(0.01, abs=2e-4)
    assert 0.012 < np.percentile(gaps, 95) < 0.016
    assert 1 <= np.sum(gaps[1:] > 0.03) <= 4
    assert dt_s(ticks).max() == 0.05
