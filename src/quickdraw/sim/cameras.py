"""When each camera took each picture: staggered start, warm-up, the device's own rate, the kernel's coarse stamps."""

from __future__ import annotations

from typing import Final

import numpy as np

from quickdraw.sim.arm import Floats
from quickdraw.sim.spec import CameraSpec, RunSpec

WARMUP_FRAMES: Final = 25
STAGGER_S: Final = 0.25
_OPENING_S: Final = 0.15
# Cameras outlive the streams by less than a picture: they are joined after B has ended the rows.
_LINGER_S: Final = 0.02


def first_capture_s(spec: RunSpec, index: int) -> float:
    """Session time [s] of the first picture that camera number `index` (in order of opening) keeps."""
    camera = spec.cameras[index]
    opened_s = spec.uptime_s + spec.first_gap_s + _OPENING_S + index * STAGGER_S
    return opened_s + WARMUP_FRAMES / camera.rate_hz + camera.phase_s


def run_end_s(spec: RunSpec) -> float:
    """Session time [s] of the B button: `spec.seconds` after the last camera's first picture."""
    starts = [first_capture_s(spec, index) for index in range(len(spec.cameras))]
    return max(starts, default=spec.uptime_s + spec.first_gap_s) + spec.seconds


def stamps_s(spec: RunSpec, index: int) -> Floats:
    """Stamps (K,) float64 [s on the session clock, 6 decimals] of the pictures camera `index` wrote.

    Stamp k is the moment picture k of the mp4 shows. Raises ValueError if the stamps would not increase.
    """
    camera = spec.cameras[index]
    start_s = first_capture_s(spec, index)
    count = int((run_end_s(spec) + _LINGER_S - start_s) * camera.rate_hz) + 1
    rng = np.random.default_rng([spec.seed, 2, index])
    times_s = start_s + np.arange(count) / camera.rate_hz + rng.normal(0.0, 2e-4, size=count)
    for capture, late_s in camera.late:
        times_s[capture] += late_s
    kept = np.delete(times_s, [capture for capture in camera.dropped if capture < count])
    if spec.stamp_quantum_s > 0:
        kept = np.round(kept / spec.stamp_quantum_s) * spec.stamp_quantum_s
    stamps = np.array([round(float(stamp), 6) for stamp in kept])
    if np.any(np.diff(stamps) <= 0):
        raise ValueError(f"stamps of {camera.label} do not increase; lower its delays or the quantum")
    return stamps


def captured(camera: CameraSpec, stamps: Floats) -> int:
    """Pictures the capture thread saw, the thrown-away ones of the warm-up and the preview included."""
    return len(stamps) + len(camera.dropped) + WARMUP_FRAMES + 15
