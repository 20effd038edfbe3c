"""The table's physics: cubes stand on each other, give way to each other, and are never in the same place."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from quickdraw.sim.cameras import run_end_s
from quickdraw.sim.rollout import roll_out
from quickdraw.sim.scenes import SCENES
from quickdraw.sim.spec import CubePlace, RunSpec
from quickdraw.sim.world import CUBE_MM, GRIPPER_OPEN, World, placed_cubes

FAR = (0.0, 0.0, 500.0)
FLOOR = -97.5
STEP_S = 0.01


def settle(world: World, ticks: int = 60, tip: tuple[float, float, float] = FAR, goal: float = GRIPPER_OPEN) -> World:
    for _ in range(ticks):
        world.step(tip_mm=tip, yaw_deg=0.0, goal_counts=goal, elapsed_s=STEP_S)
    return world


def world(*places: CubePlace) -> World:
    return World(placed_cubes(places))


def gripping(*places: CubePlace) -> World:
    """The first cube is in the gripper."""
    held = world(*places)
    first = held.cubes[0]
    return settle(held, 30, (first.x_mm, first.y_mm, first.z_mm), goal=0.0)


def test_stacked_and_touching_cubes_stay_as_they_were_put() -> None:
    places = (
        CubePlace(500.0, 50.0),
        CubePlace(545.0, 50.0),
        CubePlace(500.0, 50.0, 30.0, level=1),
        CubePlace(500.0, 50.0, level=2),
    )
    before = [(c.x_mm, c.y_mm, c.z_mm) for c in placed_cubes(places)]
    after = [(c.x_mm, c.y_mm, c.z_mm) for c in settle(world(*places)).cubes]
    np.testing.assert_allclose(after, before, atol=1e-9)


def test_a_cube_in_the_air_falls_onto_what_is_below() -> None:
    lower, upper = settle(world(CubePlace(500.0, 50.0), CubePlace(510.0, 50.0, level=3))).cubes
    assert (lower.z_mm, upper.z_mm) == (FLOOR, FLOOR + CUBE_MM)


def test_a_cube_that_falls_across_an_edge_slides_off_it() -> None:
    a, b = settle(world(CubePlace(500.0, 50.0), CubePlace(538.0, 50.0, level=2))).cubes
    assert (a.z_mm, b.z_mm) == (FLOOR, FLOOR)
    assert b.x_mm - a.x_mm == pytest.approx(CUBE_MM)


@pytest.mark.parametrize("turn_deg", [0.0, 45.0])
def test_overlapping_cubes_part_until_they_touch(turn_deg: float) -> None:
    a, b = settle(world(CubePlace(500.0, 50.0), CubePlace(530.0, 50.0, turn_deg))).cubes
    half_widths = CUBE_MM / 2 * (1.0 + (1.0 if turn_deg == 0.0 else np.sqrt(2.0)))
    assert b.x_mm - a.x_mm == pytest.approx(half_widths)
    assert (a.x_mm + b.x_mm) / 2 == pytest.approx(515.0)


def test_a_carried_cube_rests_on_the_one_it_is_lowered_onto() -> None:
    held = gripping(CubePlace(500.0, 50.0), CubePlace(560.0, 50.0))
    settle(held, 1, (500.0, 50.0, 0.0), goal=0.0)
    settle(held, 1, (560.0, 50.0, 0.0), goal=0.0)
    settle(held, 5, (560.0, 50.0, FLOOR), goal=0.0)
    assert held.grasp is not None
    assert held.cubes[0].z_mm == FLOOR + CUBE_MM
    assert held.cubes[1].z_mm == FLOOR


def test_a_carried_cube_pushes_others_out_of_its_way() -> None:
    held = gripping(CubePlace(500.0, 50.0), CubePlace(560.0, 50.0))
    for x in np.arange(500.0, 600.0, 2.0):
        settle(held, 1, (float(x), 50.0, FLOOR), goal=0.0)
    assert held.cubes[1].x_mm - held.cubes[0].x_mm == pytest.approx(CUBE_MM)


def test_a_cube_beyond_the_pen_is_not_thrown_into_it_by_a_push() -> None:
    pushed = world(CubePlace(720.0, 50.0))
    settle(pushed, 60, goal=0.0)
    settle(pushed, 5, (710.0, 50.0, FLOOR), goal=0.0)
    assert pushed.cubes[0].x_mm == 720.0


def test_a_taken_cube_leaves_the_table_at_its_time() -> None:
    taken = world(CubePlace(600.0, 150.0, taken_s=1.0), CubePlace(500.0, 50.0))
    assert settle(taken, 99).cubes[0].x_mm == 600.0
    assert settle(taken, 100).cubes[0].x_mm == pytest.approx(1000.0, abs=9.0)
    assert settle(taken, 500).cubes[0].x_mm == 2000.0
    assert taken.cubes[1].x_mm == 500.0


def overlap_mm(cubes: NDArray[np.float64]) -> float:
    """The deepest any two cubes (N, C, 4) are in each other [mm]."""
    deepest = 0.0
    for a, b in combinations(range(cubes.shape[1]), 2):
        apart = cubes[:, b] - cubes[:, a]
        turn = np.deg2rad(apart[:, 3])
        depth = CUBE_MM - np.abs(apart[:, 2])
        for side in (cubes[:, a, 3], cubes[:, a, 3] + 90.0, cubes[:, b, 3], cubes[:, b, 3] + 90.0):
            along = apart[:, 0] * np.cos(np.deg2rad(side)) + apart[:, 1] * np.sin(np.deg2rad(side))
            depth = np.minimum(depth, CUBE_MM / 2 * (1.0 + np.abs(np.cos(turn)) + np.abs(np.sin(turn))) - np.abs(along))
        deepest = max(deepest, float(depth.max()))
    return deepest


@pytest.mark.parametrize("scene", [None, *SCENES])
def test_the_operator_plays_every_scene_and_no_cube_enters_another(scene: str | None) -> None:
    spec = RunSpec(seconds=60.0, seed=3, cube_places=None if scene is None else SCENES[scene])
    rollout = roll_out(spec, end_s=run_end_s(spec))
    assert overlap_mm(rollout.cubes) < 6.0
    assert (rollout.action[:, :4] != 0.0).any(axis=1).mean() > 0.5
    assert np.ptp(rollout.gripper_counts) > 400.0
