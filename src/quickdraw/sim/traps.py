"""What lies about in the scene to mislead a search for colours: metal, reflections in the varnish, stickers."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np

from quickdraw.sim.arm import Floats
from quickdraw.sim.barcode import Rgb
from quickdraw.sim.projection import Pinhole
from quickdraw.sim.shapes import CUBE_RGB, NEAREST_MM, Box, hull_px
from quickdraw.sim.world import CUBE_MM, TABLE_Z_MM

_PLATE_RGB: Final = (112, 122, 140)
_RAIL_RGB: Final = (92, 104, 128)
# Beyond the cubes' part of the table, seen from the arm and from scene_right: nothing in the scene is behind them.
_METAL_MM: Final = (
    (_PLATE_RGB, (520.0, 345.0), (60.0, 35.0, 4.0), 12.0),
    (_RAIL_RGB, (560.0, 285.0), (130.0, 9.0, 9.0), -6.0),
)
# Middle and half size [mm] of every sticker, between the places where cubes usually stand: specks of a few pixels in a
# picture of 144 x 192, even from the gripper.
_STICKERS_MM: Final = (
    ("purple", 505.0, 205.0, 1.5),
    ("green", 575.0, 245.0, 1.5),
    ("purple", 610.0, 60.0, 1.5),
    ("green", 455.0, 118.0, 1.0),
    ("purple", 545.0, -30.0, 1.0),
)
_MIRRORED_PART: Final = 0.28
# Varnish mirrors what is near to it: a cube lifted by this much is mirrored by a third.
_FADES_MM: Final = 45.0
# The mirror's softness as a part of the cube's side.
_SOFTNESS: Final = 0.16


def metal_boxes() -> list[Box]:
    """The plate and the rail, in the order of drawing."""
    boxes = []
    for rgb, (x, y), half, turn_deg in _METAL_MM:
        cos, sin = np.cos(np.deg2rad(turn_deg)), np.sin(np.deg2rad(turn_deg))
        axes = np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]])
        boxes.append(Box(np.array([x, y, TABLE_Z_MM + half[2]]), axes, np.array(half), rgb))
    return boxes


def with_stickers(texture: Rgb, origin_mm: tuple[float, float]) -> Rgb:
    """A copy of the table's `texture` (x, y, 3) uint8, one pixel a millimetre from `origin_mm`, with stickers on it."""
    stuck = texture.copy()
    for colour, x, y, half in _STICKERS_MM:
        low = (round(y - half - origin_mm[1]), round(x - half - origin_mm[0]))
        high = (round(y + half - origin_mm[1]), round(x + half - origin_mm[0]))
        cv2.rectangle(stuck, low, high, CUBE_RGB[colour], -1)
    return stuck


def paint_reflection(rgb: Rgb, camera: Pinhole, cube: Box) -> None:
    """Tint the table (H, W, 3) uint8, in place, where its varnish mirrors `cube` towards the camera."""
    height_mm = float(cube.centre_mm[2]) - CUBE_MM / 2 - TABLE_Z_MM
    mirrored = Box(_mirrored(cube.centre_mm), cube.axes, cube.half_mm, cube.rgb)
    corners_mm = mirrored.corners_mm()
    depths_mm = camera.to_camera(corners_mm)[:, 2]
    part = _MIRRORED_PART * float(np.exp(-max(0.0, height_mm) / _FADES_MM))
    if depths_mm.min() < NEAREST_MM or part < 0.01:
        return
    side_px = CUBE_MM * camera.focal_px / float(depths_mm.mean())
    outline = hull_px(camera.project(corners_mm))
    rim = round(3.0 * _SOFTNESS * side_px)
    low = np.maximum(np.floor(outline.min(axis=0)).astype(int) - rim, 0)
    high = np.minimum(np.ceil(outline.max(axis=0)).astype(int) + rim + 1, [camera.width_px, camera.height_px])
    if np.any(high <= low):
        return
    weight = np.zeros((high - low)[::-1], np.float32)
    cv2.fillConvexPoly(weight, np.round(outline - low).astype(np.int32), (part,))
    weight = np.asarray(cv2.GaussianBlur(weight, (0, 0), _SOFTNESS * side_px), dtype=np.float32)
    table = rgb[low[1] : high[1], low[0] : high[0]]
    tint = (np.array(cube.rgb, np.float32) - table) * weight[:, :, None]
    table[:] = np.rint(table + tint).astype(np.uint8)


def _mirrored(point_mm: Floats) -> Floats:
    return np.array([point_mm[0], point_mm[1], 2.0 * TABLE_Z_MM - point_mm[2]])
