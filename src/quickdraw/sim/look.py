"""What a real camera adds to the scene: light and colour that wander, an open shutter, the noise of the sensor."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np

from quickdraw.sim.arm import Floats
from quickdraw.sim.barcode import Rgb
from quickdraw.sim.spec import Look, RunSpec

# An odd number, so that the middle one is the moment of the stamp.
_SUB_EXPOSURES: Final = 5


def sub_exposures_s(look: Look) -> Floats:
    """When the shutter is open (S,) [s from the stamp]: the moments to average, the stamp's own in the middle."""
    if look.shutter_s == 0.0:
        return np.zeros(1)
    return look.shutter_s * ((np.arange(_SUB_EXPOSURES) + 0.5) / _SUB_EXPOSURES - 0.5)


def averaged(exposures: list[Rgb]) -> Rgb:
    """One picture (H, W, 3) uint8 of the light of several."""
    if len(exposures) == 1:
        return exposures[0]
    total = np.sum(exposures, axis=0, dtype=np.uint16)
    return np.asarray((total + len(exposures) // 2) // len(exposures), dtype=np.uint8)


class Sensor:
    """The automatics and the noise of camera number `camera` of a run; equal specs give equal pictures."""

    def __init__(self, spec: RunSpec, camera: int) -> None:
        self._look, self._seed = spec.look, (spec.seed, 8, camera)
        self._gain_turn, self._balance_turn = np.random.default_rng([*self._seed, 0]).uniform(0.0, 1.0, size=2)

    def gains(self, stamp_s: float) -> Floats:
        """Factors (3,) of red, green and blue at session time `stamp_s`."""
        look = self._look
        gain = 1.0 + look.gain_swing * np.sin(2.0 * np.pi * (stamp_s / look.gain_period_s + self._gain_turn))
        balance = look.balance_swing * np.sin(2.0 * np.pi * (stamp_s / look.balance_period_s + self._balance_turn))
        return np.asarray(gain * np.array([1.0 + balance, 1.0, 1.0 - balance]), dtype=np.float64)

    def expose(self, rgb: Rgb, k: int, stamp_s: float) -> Rgb:
        """What the sensor makes of `rgb` (H, W, 3) uint8 as picture `k`, taken at `stamp_s`."""
        look = self._look
        if look.gain_swing or look.balance_swing:
            levels = np.rint(np.arange(256)[None, :, None] * self.gains(stamp_s)).clip(0, 255).astype(np.uint8)
            rgb = np.asarray(cv2.LUT(rgb, levels), dtype=np.uint8)
        if look.noise_levels:
            rng = np.random.default_rng([*self._seed, 1, k])
            noise = rng.standard_normal(rgb.shape, dtype=np.float32) * np.float32(look.noise_levels)
            rgb = np.rint(rgb + noise).clip(0, 255).astype(np.uint8)
        return rgb
