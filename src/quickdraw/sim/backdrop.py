"""What never moves: the wooden table as a texture in millimetres, the floor around it, the wall and the chairs."""

from __future__ import annotations

from functools import cache
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from quickdraw.sim.arm import Floats
from quickdraw.sim.barcode import Rgb
from quickdraw.sim.projection import Pinhole
from quickdraw.sim.traps import with_stickers
from quickdraw.sim.world import TABLE_Z_MM

# The texture covers table and floor around it, one pixel a millimetre; row = x, column = y of the world.
ORIGIN_MM: Final = (-500.0, -1300.0)
_SIZE_MM: Final = (2400, 2600)
_TABLE_X_MM: Final = (130.0, 950.0)
_TABLE_Y_MM: Final = (-640.0, 620.0)
FLOOR_RGB: Final = (148, 148, 146)
_WOOD_RGB: Final = (158, 116, 78)
# Walls across x, one before and one behind the arm; chairs stand before both: y range, z range [mm].
_WALLS_X_MM: Final = (1500.0, -900.0)
_CHAIRS_MM: Final = ((-700.0, -330.0, -900.0, 60.0), (420.0, 800.0, -900.0, 30.0))
_SUPERSAMPLING: Final = 2


@cache
def table_texture(*, stickers: bool = False) -> Rgb:
    """Wood and floor seen from above (2400, 2600, 3) uint8, read-only: one pixel a millimetre from `ORIGIN_MM`."""
    picture = with_stickers(_table(), ORIGIN_MM) if stickers else _table()
    picture.setflags(write=False)
    return picture


@cache
def _table() -> Rgb:
    rng = np.random.default_rng(20260910)  # the table is the same one in every campaign
    picture = _floor()
    x0, x1 = (int(x - ORIGIN_MM[0]) for x in _TABLE_X_MM)
    y0, y1 = (int(y - ORIGIN_MM[1]) for y in _TABLE_Y_MM)
    picture[x0:x1, y0:y1] = _wood(rng, x1 - x0, y1 - y0)
    return picture


def _floor() -> Rgb:
    picture = np.empty((*_SIZE_MM, 3), np.uint8)
    picture[:] = FLOOR_RGB
    picture[::300] = picture[:, ::300] = (118, 118, 116)
    picture[1::300] = picture[:, 1::300] = (118, 118, 116)
    return np.asarray(cv2.GaussianBlur(picture, (0, 0), 2.0), dtype=np.uint8)


def _wood(rng: np.random.Generator, rows: int, columns: int) -> NDArray[np.uint8]:
    """Grain runs along y: noise stretched sixty to one, planks of 130 mm, a few knots."""
    fine = cv2.GaussianBlur(rng.standard_normal((rows, columns)).astype(np.float32), (0, 0), 40.0, sigmaY=1.2)
    coarse = cv2.GaussianBlur(rng.standard_normal((rows, columns)).astype(np.float32), (0, 0), 90.0, sigmaY=9.0)
    light = 3.5 * fine / fine.std() + 8.0 * coarse / coarse.std()
    for plank, row in enumerate(range(0, rows, 130)):
        light[row : row + 130] += float(rng.uniform(-9.0, 9.0))
        light[row : row + 3] -= 38.0
        seam = int(rng.integers(0, columns)) if plank % 2 else columns // 2
        light[row : row + 130, seam : seam + 3] -= 38.0
    for _ in range(26):
        centre = (int(rng.integers(columns)), int(rng.integers(rows)))
        axes = (int(rng.integers(8, 20)), int(rng.integers(4, 9)))
        cv2.ellipse(light, centre, axes, 0.0, 0.0, 360.0, (float(rng.uniform(-45.0, -25.0)),), -1, cv2.LINE_AA)
    soft = np.asarray(cv2.GaussianBlur(light, (0, 0), 1.0), dtype=np.float64)
    shades = np.array(_WOOD_RGB) + soft[:, :, None] * np.array([1.0, 0.8, 0.58])
    return np.asarray(np.clip(shades, 0, 255), dtype=np.uint8)


def fixed_background(camera: Pinhole, texture: Rgb) -> Rgb:
    """The empty scene from a fixed `camera` (H, W, 3) uint8: rays meet the table's plane or the wall, smoothly."""
    scale = _SUPERSAMPLING
    fine = Pinhole(
        camera.position_mm,
        camera.world_from_camera,
        camera.focal_px * scale,
        camera.width_px * scale,
        camera.height_px * scale,
    )
    rays = fine.rays()
    down = np.where(rays[..., 2] < -1e-6, rays[..., 2], -1e-6)
    to_plane = (TABLE_Z_MM - camera.position_mm[2]) / down
    ground = camera.position_mm[:2] + to_plane[..., None] * rays[..., :2] - np.array(ORIGIN_MM)
    map_x, map_y = ground[..., 1].astype(np.float32), ground[..., 0].astype(np.float32)
    picture = cv2.remap(texture, map_x, map_y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT, borderValue=FLOOR_RGB)
    for wall_x_mm in _WALLS_X_MM:
        _paint_wall(np.asarray(picture), camera, rays, wall_x_mm)
    size = (camera.width_px, camera.height_px)
    return np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def _paint_wall(picture: NDArray[np.uint8], camera: Pinhole, rays: Floats, wall_x_mm: float) -> None:
    """Paint what is seen of one wall, above the table's plane."""
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = (wall_x_mm - camera.position_mm[0]) / rays[..., 0]
        y = camera.position_mm[1] + reach * rays[..., 1]
        z = camera.position_mm[2] + reach * rays[..., 2]
    wall = (reach > 0) & (z > TABLE_Z_MM)
    shade = np.clip(172.0 + 0.02 * z[wall] - 0.006 * np.abs(y[wall]), 120.0, 200.0)
    picture[wall] = np.repeat(shade[:, None], 3, axis=1).astype(np.uint8)
    for y0, y1, z0, z1 in _CHAIRS_MM:
        picture[wall & (y > y0) & (y < y1) & (z > z0) & (z < z1)] = (70, 72, 78)


def moving_background(camera: Pinhole, texture: Rgb) -> Rgb:
    """The table from a camera whose horizon is outside its picture (H, W, 3) uint8: one warp of the texture."""
    table_from_texture = np.array([[0.0, 1.0, ORIGIN_MM[0]], [1.0, 0.0, ORIGIN_MM[1]], [0.0, 0.0, 1.0]])
    homography = camera.table_homography() @ table_from_texture
    size = (camera.width_px, camera.height_px)
    picture = cv2.warpPerspective(
        texture, homography, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT, borderValue=FLOOR_RGB
    )
    return np.asarray(picture, dtype=np.uint8)
