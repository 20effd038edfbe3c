"""What was measured, in closed form: functions of the seed, N and the row or the instant, and of nothing else.

A test that knows these needs no file of ours to say what must be in one.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from quickdraw.sim.barcode import Rgb, paint_frame_number
from quickdraw.sim.pooled.spec import HEIGHT_PX, WIDTH_PX

type Floats = NDArray[np.float32]
type Millimetres = NDArray[np.uint16]

QUIET_ROWS: Final = 5  # nothing is touched yet: rows of zeros, which count in the statistics like any other
_GLOVE_UNITS: Final = 900.0
_PAD: Final = 250
_BLOB_RADIUS: Final = 40.0
_PICTURE_NUMBERS: Final = 1024


def phase(seed: int, number: int) -> float:
    """The turn [rad] by which episode N of a seed differs from any other."""
    return 2.0 * np.pi * ((seed * 7919 + number * 613) % 1000) / 1000.0


def glove(seed: int, number: int, row: int, sensor: str) -> Floats:
    """Pressure of one glove in one row, (256,) float32: a bump that wanders over the 16 x 16 points."""
    if row < QUIET_ROWS:
        return np.zeros(256, np.float32)
    turn = phase(seed, number) + 0.05 * row + len(sensor)
    y, x = np.mgrid[:16, :16]
    distance = np.hypot(x - 7.5 - 5.0 * np.cos(turn), y - 7.5 - 5.0 * np.sin(turn))
    pressure: Floats = np.floor(_GLOVE_UNITS * np.clip(1.0 - distance / 5.0, 0.0, 1.0)).astype(np.float32)
    return pressure.ravel()


def glove_quaternions(seed: int, number: int, row: int) -> Floats:
    """Sixteen unit quaternions xyzw of a glove's small IMUs, (64,) float32."""
    half = 0.5 * (phase(seed, number) + 0.02 * row + 0.1 * np.arange(16))
    zero = np.zeros(16)
    return np.stack([zero, zero, np.sin(half), np.cos(half)], axis=1).astype(np.float32).ravel()


def glove_valid(number: int, row: int) -> Floats:
    """Which of the sixteen answered, (16,) float32 of 0 and 1: one of them, another each row, does not."""
    return np.array([float(place != (number + row) % 16) for place in range(16)], np.float32)


def imu(seed: int, number: int, stamps_ns: NDArray[np.int64]) -> Floats:
    """Samples gx gy gz [rad/s] ax ay az [m/s2] at the stamps, (n, 6) float32."""
    t_s = (stamps_ns % 10**12) * 1e-9
    turn = 2.0 * np.pi * t_s[:, None] + phase(seed, number) + np.arange(6)
    return np.concatenate([0.4 * np.sin(turn[:, :3]), 0.6 * np.sin(turn[:, 3:]) + [0.0, 0.0, 9.81]], axis=1).astype(
        np.float32
    )


def matrix(seed: int, number: int, row: int, side: str) -> Floats:
    """The force on a pad's points, (250, 250, 3) float32 [mN]: one round contact, pressed in, sheared and dragged."""
    turn = phase(seed, number) + 0.07 * row + (0.0 if side == "left" else np.pi)
    strength = 12.0 + 6.0 * np.sin(turn)
    y, x = np.mgrid[:_PAD, :_PAD].astype(np.float64)
    dx, dy = x - 125.0 - 50.0 * np.cos(turn), y - 125.0 - 50.0 * np.sin(turn)
    pressed = np.clip(1.0 - (dx**2 + dy**2) / _BLOB_RADIUS**2, 0.0, None) ** 2
    load = strength * pressed
    sheared = (load * (0.3 * dx / _BLOB_RADIUS + 0.2 * np.cos(turn)), load * (0.3 * dy / _BLOB_RADIUS - 0.1))
    return np.stack([*sheared, load], axis=2).astype(np.float32)


def force(seed: int, number: int, row: int, side: str) -> Floats:
    """A pad's force fx fy fz, (3,) float32 [mN]: the sum over its points in the same row."""
    return np.asarray(matrix(seed, number, row, side).sum(axis=(0, 1), dtype=np.float64), np.float32)


def gripper_state(seed: int, number: int, row: int) -> Floats:
    """Opening [%], whether something is held, fz [mN]: (3,) float32."""
    opening = 50.0 + 50.0 * np.cos(0.03 * row)
    return np.array([opening, float(opening < 20.0), force(seed, number, row, "left")[2]], np.float32)


def trajectory(seed: int, number: int, stamps_ns: NDArray[np.int64]) -> NDArray[np.float64]:
    """Poses t x y z qx qy qz qw at the stamps, (n, 8) float64 [s, m]: a slow circle, on the tracker's own clock."""
    t_s = (stamps_ns % 10**12) * 1e-9
    turn = 0.5 * t_s + phase(seed, number)
    zero = np.zeros_like(t_s)
    position = (0.3 * np.cos(turn), 0.3 * np.sin(turn), 0.5 + 0.0 * t_s)
    return np.stack([t_s + 3.25, *position, zero, zero, np.sin(0.5 * turn), np.cos(0.5 * turn)], axis=1)


def picture_number(number: int, frame: int) -> int:
    """What is painted into a picture, so that one picture tells its episode and its place: below 65,536."""
    return number % 64 * _PICTURE_NUMBERS + frame % _PICTURE_NUMBERS


def picture(number: int, frame: int, slot: str) -> Rgb:
    """A picture (120, 160, 3) uint8: two ramps, the slot's blue, and `picture_number` as a strip of blocks."""
    rgb = np.empty((HEIGHT_PX, WIDTH_PX, 3), np.uint8)
    rgb[..., 0] = np.arange(WIDTH_PX)
    rgb[..., 1] = np.arange(HEIGHT_PX)[:, None]
    rgb[..., 2] = sum(slot.encode()) % 200 + 20
    paint_frame_number(rgb, picture_number(number, frame))
    return rgb


def depth_mm(number: int, frame: int) -> Millimetres:
    """A depth picture (120, 160) uint16 [mm], 0 invalid: a plane that recedes 2 mm a frame, and a hole that wanders."""
    y, x = np.mgrid[:HEIGHT_PX, :WIDTH_PX]
    mm: Millimetres = (400 + 50 * (number % 8) + 5 * x + 3 * y + 2 * frame).astype(np.uint16)
    left = 16 + frame % 96
    mm[40:64, left : left + 24] = 0
    return mm
