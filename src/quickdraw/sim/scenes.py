"""Hard scenes by name: where the three cubes of a run begin, and what camera and table do to their colours."""

from __future__ import annotations

from typing import Final

from quickdraw.sim.spec import CubePlace, Look, Traps

# For runs of three cubes. Where the colours matter they are those of `DEFAULT_COLOURS`: red, green, blue.
SCENES: Final[dict[str, tuple[CubePlace, CubePlace, CubePlace]]] = {
    "turned": (CubePlace(480.0, 20.0, 45.0), CubePlace(560.0, 90.0, 20.0), CubePlace(480.0, 150.0, -30.0)),
    # Red and blue face to face, green against half a face of each.
    "touching": (CubePlace(500.0, 60.0), CubePlace(545.0, 82.5), CubePlace(500.0, 105.0)),
    "stack of two": (CubePlace(500.0, 60.0, 10.0), CubePlace(560.0, 130.0), CubePlace(500.0, 60.0, 25.0, level=1)),
    "stack of three": (
        CubePlace(520.0, 60.0, 10.0),
        CubePlace(520.0, 60.0, 30.0, level=1),
        CubePlace(520.0, 60.0, -5.0, level=2),
    ),
    # As scene_right sees them: red is cut by the lower edge, green is below it, blue stands in the open.
    "edge": (CubePlace(833.0, 60.0), CubePlace(900.0, 0.0), CubePlace(520.0, 60.0)),
    # Red is out of scene_right's sight before the fifth second after A.
    "taken": (CubePlace(600.0, 150.0, taken_s=4.0), CubePlace(480.0, 20.0), CubePlace(500.0, 110.0)),
    # Red stands behind the arm and beside every camera.
    "never seen": (CubePlace(-400.0, -900.0), CubePlace(480.0, 20.0), CubePlace(540.0, 110.0)),
}

REAL_LOOK: Final = Look(gain_swing=0.15, balance_swing=0.06, shutter_s=0.008, noise_levels=4.0)
ALL_TRAPS: Final = Traps(metal=True, reflections=True, stickers=True)
