"""The collector's control maths: stick shaping, the integrated target, its workspace box, the re-anchor."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

DEADZONE: Final = 0.12
EXPO: Final = 2.0
TRIGGER_FLOOR: Final = 0.03
TRANSLATION_RATE_MM_S: Final = 120.0
YAW_RATE_DEG_S: Final = 60.0
SERVO_SPEED_MM_S: Final = 200.0
REANCHOR_MM: Final = 30.0
REANCHOR_AFTER_S: Final = 0.2
WORKSPACE_BOX_MM: Final = ((350.0, 700.0), (-250.0, 150.0), (0.0, 400.0))

type Xyz = tuple[float, float, float]


def shape_stick(raw: float) -> float:
    """The action in [-1, 1] of a stick value in [-1, 1]: exactly 0 within the dead zone, then a square."""
    size = abs(raw)
    if size <= DEADZONE:
        return 0.0
    return math.copysign(min(1.0, (size - DEADZONE) / (1.0 - DEADZONE)) ** EXPO, raw)


def stick_for(action: float) -> float:
    """The stick value a hand must give for `action`: the inverse of `shape_stick` outside the dead zone."""
    return math.copysign(DEADZONE + (1.0 - DEADZONE) * abs(action) ** (1.0 / EXPO), action)


def shape_trigger(raw: float) -> float:
    """The gripper action in [0, 1]: proportional, exactly 0 below three percent."""
    clamped = min(1.0, max(0.0, raw))
    return 0.0 if clamped < TRIGGER_FLOOR else clamped


def clamp_axis(new_mm: float, previous_mm: float, box_mm: tuple[float, float]) -> float:
    """Keep an axis in its box; a target already outside is never pushed further out and never jumps to the wall."""
    low, high = box_mm
    if new_mm < low:
        return min(max(new_mm, previous_mm), low)
    if new_mm > high:
        return max(min(new_mm, previous_mm), high)
    return new_mm


@dataclass(slots=True)
class ServoTarget:
    """The integrated target, and the controller's plan that follows it at the servo speed."""

    target_mm: Xyz
    plan_mm: Xyz = field(init=False)
    yaw_deg: float = 0.0
    servo_speed_mm_s: float = SERVO_SPEED_MM_S
    clamped: bool = False
    reanchored: bool = False
    _apart_since_s: float | None = None

    def __post_init__(self) -> None:
        """Seed the plan with the target, as the collector does at the start of a session."""
        self.plan_mm = self.target_mm

    def integrate(self, action: tuple[float, float, float, float], dt_s: float) -> Xyz:
        """Move the target by one tick of (move_x, move_y, height, yaw); return the commanded world xyz [mm]."""
        step_mm = TRANSLATION_RATE_MM_S * dt_s
        wanted = [now + stick * step_mm for now, stick in zip(self.target_mm, action[:3], strict=True)]
        kept = [
            clamp_axis(new, old, box) for new, old, box in zip(wanted, self.target_mm, WORKSPACE_BOX_MM, strict=True)
        ]
        self.clamped = kept != wanted
        self.target_mm = (kept[0], kept[1], kept[2])
        self.yaw_deg += action[3] * YAW_RATE_DEG_S * dt_s
        return self.target_mm

    def follow(self, elapsed_s: float) -> None:
        """Let the plan run towards the target for `elapsed_s`."""
        gap_mm = math.dist(self.target_mm, self.plan_mm)
        reach_mm = self.servo_speed_mm_s * elapsed_s
        if gap_mm <= reach_mm:
            self.plan_mm = self.target_mm
            return
        x, y, z = (a + (b - a) * reach_mm / gap_mm for a, b in zip(self.plan_mm, self.target_mm, strict=True))
        self.plan_mm = (x, y, z)

    def reanchor(self, now_s: float) -> None:
        """On a state tick: snap the target to the plan once both were more than 30 mm apart for over 0.2 s."""
        self.reanchored = False
        if math.dist(self.target_mm, self.plan_mm) <= REANCHOR_MM:
            self._apart_since_s = None
            return
        if self._apart_since_s is None:
            self._apart_since_s = now_s
        if now_s - self._apart_since_s > REANCHOR_AFTER_S:
            self.target_mm, self._apart_since_s, self.reanchored = self.plan_mm, None, True
