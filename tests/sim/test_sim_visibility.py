"""The truth about what a picture shows of a cube: hand-computed, against samples of the marks, against pixels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from quickdraw.sim import cameras
from quickdraw.sim.arm import FlangePath
from quickdraw.sim.rollout import Rollout, roll_out
from quickdraw.sim.scene import Renderer, renderer
from quickdraw.sim.shapes import Mark, Solid, Stroke, paint
from quickdraw.sim.spec import RunSpec
from quickdraw.sim.visibility import VisibleCube, visible_cubes

COLOURS = ("red", "green", "blue", "purple")
SIZE = (640, 480)
ON_TABLE = -97.5
type Floats = NDArray[np.float64]


def solid(corners: Sequence[tuple[float, float]] | Floats, cube: int | None = None) -> Solid:
    return Solid(np.array(corners), np.empty((0, 4, 2)), (), cube)


def square(x: float, y: float, side: float, cube: int | None = None) -> Solid:
    return solid([(x, y), (x + side, y), (x + side, y + side), (x, y + side)], cube)


def seen(*marks: Mark, cubes: int = 1, hidden_top_px: int = 0) -> tuple[VisibleCube, ...]:
    return visible_cubes(marks, COLOURS[:cubes], size_px=SIZE, hidden_top_px=hidden_top_px)


def px(cube: VisibleCube) -> float:
    return cube.area * SIZE[0] * SIZE[1]


def centre_px(cube: VisibleCube) -> tuple[float, float]:
    """In pixels from the picture's left and upper edge."""
    return cube.centre[0] * SIZE[0], cube.centre[1] * SIZE[1]


@cache
def still() -> tuple[RunSpec, Rollout]:
    """A run whose arm stands low in the middle of scene_right."""
    spec = RunSpec(seconds=0.5)
    rollout = roll_out(spec, end_s=cameras.run_end_s(spec))
    ticks = len(rollout.t_s)
    return spec, replace(rollout, plan=FlangePath(np.tile([500.0, -120.0, 150.0], (ticks, 1)), np.zeros(ticks)))


def staged(label: str, *cubes: tuple[float, ...], painted: bool = False) -> Renderer:
    """A camera that sees cubes (x, y, z [mm], turn [deg]) wherever a test wants them, the arm not moving."""
    spec, rollout = still()
    spec = replace(spec, cube_colours=COLOURS[: len(cubes)], paint_numbers=painted)
    states = np.broadcast_to(np.array(cubes), (len(rollout.t_s), len(cubes), 4))
    return Renderer(spec, replace(rollout, cubes=states), label, rollout.t_s[:1])


def lens() -> Floats:
    return staged("scene_right", (0.0, 0.0, 0.0, 0.0)).camera(0).position_mm


def flange() -> tuple[Floats, Floats]:
    """Where the flange is in a staged picture [mm], and where it points."""
    _, rollout = still()
    path = rollout.real_path(rollout.t_s[:1])
    return path.world_xyz_mm[0], path.world_from_flange()[0, :, 2]


def polygon_area(corners: Floats) -> float:
    x, y = corners.T
    return float(abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2)


def hull(points: Floats) -> Floats:
    """The convex hull by Andrew's monotone chain: independent of OpenCV."""

    def chain(ordered: list[list[float]]) -> list[list[float]]:
        kept: list[list[float]] = []
        for x, y in ordered:
            while len(kept) > 1:
                (ax, ay), (bx, by) = kept[-2:]
                if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0:
                    break
                kept.pop()
            kept.append([x, y])
        return kept[:-1]

    ordered = sorted(points.tolist())
    return np.array(chain(ordered) + chain(ordered[::-1]))


def coverage(camera: Renderer, k: int, cube: int) -> Floats:
    """How much of every pixel (H, W) in [0, 1] a cube has after painting: it is white in a black world."""
    canvas = np.zeros((SIZE[1], SIZE[0], 3), np.uint8)
    for mark in camera.marks(k):
        if isinstance(mark, Stroke):
            paint(canvas, [replace(mark, rgb=(0, 0, 0))])
        else:
            level = 255 if mark.cube == cube else 0
            paint(canvas, [replace(mark, shades=((level,) * 3,) * len(mark.shades))])
    return canvas[:, :, 0] / 255.0


def centre_of(weights: Floats) -> tuple[float, float]:
    rows, columns = np.mgrid[: weights.shape[0], : weights.shape[1]] + 0.5
    return float((weights * columns).sum() / weights.sum()), float((weights * rows).sum() / weights.sum())


def test_a_square_in_the_open_has_its_area_and_its_middle() -> None:
    (cube,) = seen(square(9.5, 19.5, 40.0, cube=0))
    assert px(cube) == pytest.approx(1600.0)
    assert cube.whole_area == pytest.approx(cube.area)
    # The middle of pixel 0 is 0.0 in the marks, and the picture begins half a pixel before it.
    assert centre_px(cube) == pytest.approx((30.0, 40.0))


def test_a_cube_whose_left_half_is_covered_keeps_its_right_half() -> None:
    (cube,) = seen(square(9.5, 19.5, 40.0, cube=0), square(-10.5, 9.5, 40.0), square(-10.5, 49.5, 40.0))
    assert px(cube) == pytest.approx(800.0)
    assert centre_px(cube) == pytest.approx((40.0, 40.0))


def test_a_hole_in_the_middle_leaves_the_middle_where_it_was() -> None:
    (cube,) = seen(square(9.5, 19.5, 40.0, cube=0), square(19.5, 29.5, 20.0))
    assert px(cube) == pytest.approx(1200.0)
    assert centre_px(cube) == pytest.approx((30.0, 40.0))


def test_what_is_drawn_before_a_cube_hides_nothing_of_it() -> None:
    (cube,) = seen(square(0.0, 0.0, 100.0), square(9.5, 19.5, 40.0, cube=0))
    assert px(cube) == pytest.approx(1600.0)


def test_a_wholly_covered_cube_has_no_area_and_no_centre() -> None:
    (cube,) = seen(square(10.0, 10.0, 40.0, cube=0), square(10.0, 10.0, 40.0))
    assert cube.area == 0.0
    assert cube.whole_area > 0.0
    assert np.isnan(cube.centre).all()


def test_a_stroke_hides_a_half_disc_at_its_end() -> None:
    stroke = Stroke(np.array([[100.0, 100.0], [60.0, 100.0]]), 20, (0, 0, 0))
    (cube,) = seen(square(100.0, 50.0, 100.0, cube=0), stroke)
    assert px(cube) == pytest.approx(10000.0 - np.pi * 10.66**2 / 2, abs=2.0)


def test_the_edge_of_the_picture_and_the_painted_strip_cut_a_cube() -> None:
    (half,) = seen(square(-20.5, 99.5, 40.0, cube=0))
    assert px(half) == pytest.approx(800.0)
    assert half.whole_area == pytest.approx(2 * half.area)
    assert centre_px(half) == pytest.approx((10.0, 120.0))
    (strip,) = seen(square(99.5, 37.5, 20.0, cube=0), hidden_top_px=48)
    assert px(strip) == pytest.approx(200.0)
    (outside,) = seen(square(640.0, 99.5, 40.0, cube=0))
    assert outside.area == 0.0


def _mark(owner: int, x: float, y: float, size: float, angles: Sequence[float]) -> Mark:
    if owner == 4:
        end = (x + 2.0 * size * np.cos(angles[0]), y + 2.0 * size * np.sin(angles[0]))
        return Stroke(np.array([(x, y), end]), round(size), (0, 0, 0))
    corners = size * np.column_stack([np.cos(angles), np.sin(angles)])
    return solid(hull(np.array([x, y]) + corners), owner if owner < 3 else None)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.builds(
            _mark,
            st.integers(0, 4),
            st.floats(0.0, 200.0),
            st.floats(0.0, 200.0),
            st.floats(15.0, 90.0),
            st.tuples(st.floats(0.0, 1.4), st.floats(1.5, 2.8), st.floats(3.0, 4.4), st.floats(4.5, 6.0)),
        ),
        max_size=8,
        unique_by=lambda mark: object() if mark.cube is None else mark.cube,
    )
)
def test_cutting_agrees_with_sampling_whatever_lies_over_what(marks: list[Mark]) -> None:
    """Of every sampled point only the last mark that holds it is the owner: ids cannot overlap, nor may areas."""
    step = 0.8
    x, y = np.meshgrid(np.arange(-0.5, 400.0, step) + step / 2, np.arange(-0.5, 400.0, step) + step / 2)
    owners = np.full(x.shape, -1)
    for mark in marks:
        corners = hull(mark.outline_px)
        edges = zip(corners, np.roll(corners, -1, axis=0), strict=True)
        sides = [(b - a)[0] * (y - a[1]) - (b - a)[1] * (x - a[0]) for a, b in edges]
        owners[np.all(np.array(sides) >= 0, axis=0)] = -1 if mark.cube is None else mark.cube
    for index, cube in enumerate(seen(*marks, cubes=3)):
        samples = owners == index
        assert px(cube) == pytest.approx(samples.sum() * step**2, abs=60.0)
        if px(cube) > 1500.0:
            assert centre_px(cube) == pytest.approx((x[samples].mean() + 0.5, y[samples].mean() + 0.5), abs=1.2)


@pytest.mark.parametrize("turn_deg", [0.0, 20.0, 45.0])
@pytest.mark.parametrize(("label", "y"), [("scene_right", 150.0), ("gripper_right_top", 230.0)])
def test_a_lone_cube_shows_the_hull_of_its_corners(label: str, y: float, turn_deg: float) -> None:
    camera = staged(label, (520.0, y, ON_TABLE, turn_deg))
    (cube,) = camera.visible_cubes(0)
    corners = hull(camera.camera(0).project(camera.cube_boxes(0)[0].corners_mm()))
    assert px(cube) == pytest.approx(polygon_area(corners), rel=1e-5)
    assert cube.whole_area == pytest.approx(cube.area)
    painted = coverage(camera, 0, 0)
    assert painted.sum() == pytest.approx(px(cube), rel=0.02)
    assert centre_px(cube) == pytest.approx(centre_of(painted), abs=0.2)


def test_a_cube_behind_the_gripper_is_not_visible_and_one_before_it_is() -> None:
    place, ahead = flange()
    palm = place + 52.0 * ahead
    for part, visible in ((0.25, 0.0), (-0.25, 1.0)):
        (cube,) = staged("scene_right", (*(palm + part * (palm - lens())), 0.0)).visible_cubes(0)
        assert cube.area == pytest.approx(visible * cube.whole_area)
        assert cube.whole_area > 0.0


def test_a_cube_behind_the_arm_is_hidden_and_one_before_it_is_not() -> None:
    place, ahead = flange()
    wrist = place - 60.0 * ahead
    for part, visible in ((0.25, 0.0), (-0.25, 1.0)):
        (cube,) = staged("scene_right", (*(wrist + part * (wrist - lens())), 0.0)).visible_cubes(0)
        assert cube.area == pytest.approx(visible * cube.whole_area, abs=0.2 * cube.whole_area)


@pytest.mark.parametrize("label", ["scene_right", "scene_left"])
def test_the_upper_cube_of_a_stack_is_whole_and_the_lower_ones_are_not(label: str) -> None:
    stack = [(480.0, 180.0, ON_TABLE + 45.0 * level, 15.0) for level in (0, 2, 1)]
    lowest, top, middle = staged(label, *stack).visible_cubes(0)
    assert top.area == pytest.approx(top.whole_area)
    assert lowest.area < 0.75 * lowest.whole_area
    assert middle.area < 0.75 * middle.whole_area
    assert top.centre[1] < middle.centre[1] < lowest.centre[1]


def test_a_cube_on_the_edge_of_the_picture_shows_about_half() -> None:
    def share(x: float) -> float:
        (cube,) = staged("scene_right", (x, 60.0, ON_TABLE, 0.0)).visible_cubes(0)
        return cube.area / cube.whole_area

    camera = staged("scene_right", (700.0, 60.0, ON_TABLE, 0.0)).camera(0)
    # The x at which the middle of the cube is on the lower edge.
    xs = np.arange(650.0, 850.0, 0.5)
    rows = camera.project(np.column_stack([xs, np.full_like(xs, 60.0), np.full_like(xs, ON_TABLE)]))[:, 1]
    on_edge = float(np.interp(479.5, rows, xs))
    assert share(on_edge) == pytest.approx(0.5, abs=0.05)
    assert share(on_edge - 60.0) == pytest.approx(1.0)
    assert share(on_edge + 60.0) == 0.0


def test_a_cube_behind_the_lens_is_nowhere() -> None:
    (cube,) = staged("gripper_right_top", (500.0, -600.0, 600.0, 0.0)).visible_cubes(0)
    assert (cube.area, cube.whole_area) == (0.0, 0.0)


def test_the_strip_of_the_number_hides_what_it_is_painted_over() -> None:
    place = (430.0, 330.0, ON_TABLE + 190.0, 0.0)
    (bare,) = staged("scene_right", place).visible_cubes(0)
    (painted,) = staged("scene_right", place, painted=True).visible_cubes(0)
    assert bare.centre[1] < 0.12
    assert 0.0 < painted.area < bare.area
    assert painted.centre[1] > 0.1


def test_truth_holds_at_every_resolution() -> None:
    spec, rollout = still()
    small = replace(spec, width_px=192, height_px=144)
    truths = [Renderer(s, rollout, "scene_right", rollout.t_s[:1]).visible_cubes(0) for s in (spec, small)]
    for large, little in zip(*truths, strict=True):
        assert little.area == pytest.approx(large.area, rel=0.02)  # strokes are whole pixels wide
        assert little.centre == pytest.approx(large.centre, abs=1e-3)


@pytest.mark.parametrize("label", ["scene_right", "gripper_right_top"])
def test_the_truth_of_a_run_is_what_its_pictures_show(label: str) -> None:
    camera = renderer(RunSpec(seconds=40.0, seed=1, cube_colours=COLOURS), label)
    ratios = []
    for k in range(10, len(camera.stamps_s), 60):
        rgb = camera.picture(k)
        cubes = camera.visible_cubes(k)
        assert sum(cube.area for cube in cubes) <= 1.0
        for index, cube in enumerate(cubes):
            painted = coverage(camera, k, index)
            assert painted.sum() == pytest.approx(px(cube), rel=0.02, abs=70.0)
            if px(cube) > 800.0:
                ratios.append(painted.sum() / px(cube))
                near_px = 0.2 if cube.area == cube.whole_area else 0.6
                assert centre_px(cube) == pytest.approx(centre_of(painted), abs=near_px)
                (mark,) = (mark for mark in camera.marks(k) if mark.cube == index)
                shades = np.array(mark.shades)
                assert (rgb[painted == 1.0][:, None] == shades).all(axis=2).any(axis=1).mean() > 0.9
    assert len(ratios) > 10
    assert np.median(ratios) == pytest.approx(1.0, abs=0.005)


def test_a_camera_the_run_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match="scene_up"):
        renderer(RunSpec(seconds=0.5), "scene_up")
