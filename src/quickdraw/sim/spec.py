"""What one simulated run is to be: every choice in one frozen value, so that equal values write equal bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

DEFAULT_COLOURS: Final = ("red", "green", "blue")
PURPLE_COLOURS: Final = ("red", "blue", "purple")


@dataclass(frozen=True, slots=True)
class CameraSpec:
    """One camera as the collector opens it; the order in `RunSpec.cameras` is the order of opening.

    `rate_hz` is the true rate of the device (the mp4 says 30 whatever it is); `phase_s` delays its first capture.
    `dropped` are captures (from 0) that never arrive: a gap in the stamps and no picture. `late` are pairs
    (capture, seconds) of pictures taken late; a delay must stay below the capture interval.
    """

    label: str
    device: str
    usb_port: str
    rate_hz: float
    phase_s: float = 0.0
    flipped_vertical: bool = False
    dropped: tuple[int, ...] = ()
    late: tuple[tuple[int, float], ...] = ()


DEFAULT_CAMERAS: Final = (
    CameraSpec("scene_left", "/dev/video0", "4-4.4.1", rate_hz=30.68, phase_s=0.004),
    CameraSpec("scene_right", "/dev/video2", "4-4.3", rate_hz=30.01, phase_s=0.017),
    CameraSpec("gripper_right_bottom", "/dev/video4", "4-4.4.4.2", rate_hz=29.41, phase_s=0.009, flipped_vertical=True),
    CameraSpec("gripper_right_top", "/dev/video6", "4-4.4.4.1", rate_hz=28.33, phase_s=0.026),
)


@dataclass(frozen=True, slots=True)
class CubePlace:
    """Where a cube stands when the run begins: its middle [mm, world], its turn about the vertical [deg].

    `level` is the number of cubes below it. `taken_s` after A somebody slides it off the table, away from the arm.
    """

    x_mm: float
    y_mm: float
    turn_deg: float = 0.0
    level: int = 0
    taken_s: float | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """What a camera makes of the scene: automatic exposure and white balance that wander, shutter, sensor.

    The picture's brightness swings by `gain_swing` (0.1: between 0.9 and 1.1 times), red by `balance_swing` against
    blue, each over its period [s], and every camera at another phase. Everything moves for `shutter_s` around a stamp.
    `noise_levels` is the standard deviation of every channel of every pixel [levels of 255].
    """

    gain_swing: float = 0.0
    gain_period_s: float = 17.0
    balance_swing: float = 0.0
    balance_period_s: float = 29.0
    shutter_s: float = 0.0
    noise_levels: float = 0.0


@dataclass(frozen=True, slots=True)
class Traps:
    """What lies about to mislead a search for colours; the truth about cubes knows nothing of it.

    `metal` is a blue-grey plate and rail beyond the cubes, `reflections` are the cubes' own, faint in the table's
    varnish, `stickers` are small, purple and green.
    """

    metal: bool = False
    reflections: bool = False
    stickers: bool = False


@dataclass(frozen=True, slots=True)
class RunSpec:
    """One run, from the A button to the B button.

    `seconds` counts from the last camera's first picture to B, so it is what a reader can use; the streams begin about
    two seconds earlier. `uptime_s` is the age of the collector's session at A, which is where `t` begins.
    `stamp_quantum_s` is the grain of the kernel's picture stamps, 0 for none. `loop_hiccups` is the number of stalls of
    the control loop. With `loop_seconds` a camera's film is that many seconds long and repeats: a ten-minute run in
    seconds, whose pictures are true to the scene in the first round only. `cube_places`, one for each of
    `cube_colours`, is where the cubes begin; without it they are scattered within the arm's reach. `simulated_devices`
    makes each camera say that its device is simulated, all else as a rig writes it; `simulated_marks` makes the run say
    only what the collector's own simulation says of itself, which a strict reader must refuse whatever it allows.
    """

    seconds: float = 20.0
    seed: int = 0
    uptime_s: float = 137.0
    started_unix: float = 1789018322.0
    t0_monotonic_s: float = 61615.42
    cameras: tuple[CameraSpec, ...] = DEFAULT_CAMERAS
    stamp_quantum_s: float = 0.004
    first_gap_s: float = 0.32
    loop_hiccups: int = 1
    servo_lag_s: float = 0.1
    cube_colours: tuple[str, ...] = DEFAULT_COLOURS
    cube_places: tuple[CubePlace, ...] | None = None
    look: Look = Look()
    traps: Traps = Traps()
    width_px: int = 640
    height_px: int = 480
    paint_numbers: bool = False
    loop_seconds: float | None = None
    simulated_devices: bool = False
    simulated_marks: bool = False

    def __post_init__(self) -> None:
        """Raise ValueError for a run that cannot be told truthfully."""
        if self.seconds <= 0:
            raise ValueError(f"seconds must be positive, got {self.seconds}")
        if self.stamp_quantum_s < 0:
            raise ValueError(f"stamp_quantum_s must not be negative, got {self.stamp_quantum_s}")
        if self.paint_numbers and self.loop_seconds is not None:
            raise ValueError("paint_numbers and loop_seconds exclude each other: a repeated film repeats its numbers")
        if self.width_px % 2 or self.height_px % 2:
            raise ValueError(f"yuv420p wants even picture sizes, got {self.width_px}x{self.height_px}")
        if self.cube_places is not None and len(self.cube_places) != len(self.cube_colours):
            raise ValueError(f"{len(self.cube_places)} cube_places for {len(self.cube_colours)} cube_colours")
