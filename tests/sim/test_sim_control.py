from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickdraw.sim.control import ServoTarget, clamp_axis, shape_stick, shape_trigger, stick_for


@given(st.floats(-0.12, 0.12))
def test_the_dead_zone_is_exactly_zero(raw: float) -> None:
    assert shape_stick(raw) == 0.0


@given(st.floats(0.001, 1.0), st.sampled_from([-1.0, 1.0]))
def test_shaping_undoes_the_stick_that_was_chosen_for_an_action(size: float, sign: float) -> None:
    assert shape_stick(stick_for(sign * size)) == pytest.approx(sign * size, abs=1e-12)


def test_a_light_touch_of_the_trigger_counts_for_nothing() -> None:
    assert [shape_trigger(raw) for raw in (-0.1, 0.029, 0.03, 0.5, 1.2)] == [0.0, 0.0, 0.03, 0.5, 1.0]


def test_a_target_outside_its_box_never_jumps_to_the_wall() -> None:
    box = (350.0, 700.0)
    assert clamp_axis(340.0, 360.0, box) == 350.0
    assert clamp_axis(320.0, 330.0, box) == 330.0
    assert clamp_axis(335.0, 330.0, box) == 335.0
    assert clamp_axis(760.0, 750.0, box) == 750.0
    assert clamp_axis(740.0, 750.0, box) == 740.0


def test_a_target_that_the_servo_cannot_follow_is_anchored_anew_after_a_fifth_of_a_second() -> None:
    servo = ServoTarget((500.0, 0.0, 200.0), servo_speed_mm_s=20.0)
    reanchored = []
    for tick in range(100):
        servo.integrate((1.0, 0.0, 0.0, 0.0), 0.01)
        servo.follow(0.01)
        servo.reanchor(tick * 0.01)
        reanchored.append(servo.reanchored)
        if servo.reanchored:
            assert servo.target_mm == servo.plan_mm
    # 100 mm/s apart: 30 mm after 0.3 s, and 0.2 s of patience.
    assert reanchored.index(True) == pytest.approx(51, abs=2)
