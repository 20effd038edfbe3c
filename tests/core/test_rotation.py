"""The 6D rotation against matrices written out by hand."""

from __future__ import annotations

from math import cos, radians, sin, sqrt

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from quickdraw.core.rotation import rot6_from_quaternion, rot6_from_rpy

Matrix = npt.NDArray[np.float64]
MOUNT: Matrix = np.array([[1, 0, 0], [0, sqrt(0.5), -sqrt(0.5)], [0, sqrt(0.5), sqrt(0.5)]])
DEGREES = st.floats(-180, 180)
RPY = st.tuples(DEGREES, DEGREES, DEGREES)


def by_hand(rpy_deg: tuple[float, float, float]) -> Matrix:
    """Rz(yaw) Ry(pitch) Rx(roll)."""
    r, p, y = (radians(angle) for angle in rpy_deg)
    rx = np.array([[1, 0, 0], [0, cos(r), -sin(r)], [0, sin(r), cos(r)]])
    ry = np.array([[cos(p), 0, sin(p)], [0, 1, 0], [-sin(p), 0, cos(p)]])
    rz = np.array([[cos(y), -sin(y), 0], [sin(y), cos(y), 0], [0, 0, 1]])
    return np.asarray(rz @ ry @ rx)


def six(rpy_deg: tuple[float, float, float], mount: Matrix = MOUNT) -> Matrix:
    return np.asarray(rot6_from_rpy(np.array([rpy_deg], np.float64), mount)[0])


@given(rpy_deg=RPY)
def test_the_six_numbers_are_the_first_two_columns_of_mount_times_rz_ry_rx(rpy_deg: tuple[float, float, float]) -> None:
    world = MOUNT @ by_hand(rpy_deg)
    np.testing.assert_allclose(six(rpy_deg), [*world[:, 0], *world[:, 1]], rtol=0, atol=1e-12)


@given(rpy_deg=RPY)
def test_the_columns_are_orthonormal_and_their_cross_product_is_the_third(rpy_deg: tuple[float, float, float]) -> None:
    c0, c1 = six(rpy_deg)[:3], six(rpy_deg)[3:]
    np.testing.assert_allclose([c0 @ c0, c1 @ c1, c0 @ c1], [1, 1, 0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.cross(c0, c1), (MOUNT @ by_hand(rpy_deg))[:, 2], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("rpy_deg", "expected"),
    [
        ((0, 0, 0), [1, 0, 0, 0, 1, 0]),
        ((90, 0, 0), [1, 0, 0, 0, 0, 1]),
        ((0, 90, 0), [0, 0, -1, 0, 1, 0]),
        ((0, 0, 90), [0, 1, 0, -1, 0, 0]),
        ((90, 0, 90), [0, 1, 0, 0, 0, 1]),  # roll first, about the fixed x: not [0, 0, 1, ...] of intrinsic order
        ((180, 0, -90), [0, -1, 0, -1, 0, 0]),
    ],
)
def test_quarter_turns_are_what_one_can_do_with_a_hand(
    rpy_deg: tuple[float, float, float], expected: list[float]
) -> None:
    np.testing.assert_allclose(six(rpy_deg, np.eye(3)), expected, rtol=0, atol=1e-15)


@given(rpy_deg=RPY, turns=st.tuples(*[st.sampled_from([-360.0, 0.0, 360.0])] * 3))
def test_whole_turns_change_nothing_so_a_wrap_at_180_is_no_step(
    rpy_deg: tuple[float, float, float], turns: tuple[float, float, float]
) -> None:
    turned = tuple(angle + turn for angle, turn in zip(rpy_deg, turns, strict=True))
    np.testing.assert_allclose(six((turned[0], turned[1], turned[2])), six(rpy_deg), rtol=0, atol=1e-12)


@given(rpy_deg=RPY, step_deg=st.floats(0, 30), axis=st.sampled_from([0, 2]))
def test_a_turn_by_theta_moves_the_six_numbers_by_at_most_two_root_two_sine_of_half_theta(
    rpy_deg: tuple[float, float, float], step_deg: float, axis: int
) -> None:
    """Roll is about the tool's own x and yaw about the base's z, so that either step is a turn by exactly itself."""
    moved = list(rpy_deg)
    moved[axis] += step_deg
    moved[axis] -= 360.0 * (moved[axis] > 180)  # as the arm reports it
    change = np.linalg.norm(six((moved[0], moved[1], moved[2])) - six(rpy_deg))
    assert change <= 2 * sqrt(2) * sin(radians(step_deg) / 2) + 1e-12


def test_rows_are_independent_and_an_empty_table_stays_empty() -> None:
    table = np.array([[10.0, 20.0, 30.0], [-170.0, 5.0, 179.0]])
    both = rot6_from_rpy(table, MOUNT)
    assert both.shape == (2, 6)
    for row, rpy_deg in zip(both, table, strict=True):
        np.testing.assert_array_equal(row, six((rpy_deg[0], rpy_deg[1], rpy_deg[2])))


@given(quaternion=st.tuples(*[st.floats(-10, 10)] * 4).filter(lambda q: max(map(abs, q)) > 1e-3))
def test_a_quaternion_of_any_length_turns_as_scipys_does(quaternion: tuple[float, float, float, float]) -> None:
    turned = np.asarray(Rotation.from_quat(quaternion).as_matrix())
    found = rot6_from_quaternion(np.array([quaternion, (0.0, 0.0, 2.0, 2.0)]))
    np.testing.assert_allclose(found[0], [*turned[:, 0], *turned[:, 1]], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found[1], [0, 1, 0, -1, 0, 0], rtol=0, atol=1e-15)  # XYZW: a quarter about z
