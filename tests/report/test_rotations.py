"""6D rotations, found by what dimensions are called."""

from __future__ import annotations

from quickdraw.report.rotations import Rotation, rotations_of

SIX = tuple(f"rot6_{number}" for number in range(6))


def test_six_numbers_of_one_rotation_are_found_wherever_they_are() -> None:
    names = ("ee_x_mm", *(f"ee_{name}" for name in SIX), "right.x_m", *(f"right.{name}" for name in reversed(SIX)))
    [tool, right] = rotations_of("observation.state", names)
    assert tool == Rotation("observation.state", "ee_", (1, 2, 3, 4, 5, 6))
    assert (tool.name, tool.tool) == ("ee_rot6", True)
    assert right.dims == (13, 12, 11, 10, 9, 8)
    assert (right.name, right.tool) == ("right.rot6", False)
    [bare] = rotations_of("observation.pose", ("x_m", "y_m", "z_m", *SIX))
    assert (bare.prefix, bare.name, bare.dims) == ("", "rot6", (3, 4, 5, 6, 7, 8))


def test_five_of_six_and_quaternions_are_no_rotation_of_that_kind() -> None:
    assert not list(rotations_of("x", SIX[:5]))
    assert not list(rotations_of("x", (*SIX[:5], "other.rot6_5")))
    assert not list(rotations_of("x", tuple(f"s{s:02d}_q{axis}" for s in range(16) for axis in "xyzw")))
    assert not list(rotations_of("x", ()))
