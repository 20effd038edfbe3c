"""What one camera has before it, moment by moment: where arm, gripper and cubes are, and which lies over which."""

from __future__ import annotations

from typing import Final

import numpy as np

from quickdraw.sim.arm import R_WORLD_FROM_BASE, Floats, joints_for, link_poses
from quickdraw.sim.projection import Pinhole, gripper_camera, rides_on_gripper, scene_camera, tool_axes
from quickdraw.sim.rollout import Rollout
from quickdraw.sim.shapes import Box, Mark, arm_strokes, cube_box, distance_mm, far_to_near, solids
from quickdraw.sim.spec import RunSpec
from quickdraw.sim.world import FINGERTIP_MM, GRIPPER_OPEN, GRIPPER_STROKE_MM

_GRIPPER_RGB: Final = (36, 36, 40)
_FINGER_RGB: Final = (58, 58, 62)


class View:
    """The camera `label` and what it sees at the session times `at_s` (M,), interpolated once for all.

    Raises ValueError for a label that has no viewpoint.
    """

    def __init__(self, spec: RunSpec, rollout: Rollout, label: str, at_s: Floats) -> None:
        self.rides = rides_on_gripper(label)
        self._label, self._colours = label, spec.cube_colours
        self._size_px = (spec.width_px, spec.height_px)
        path = rollout.real_path(at_s)
        links = link_poses(joints_for(path))[:, :, :3, 3] @ R_WORLD_FROM_BASE.T
        self._flange_mm = path.world_xyz_mm
        self._tools = tool_axes(path.world_from_flange())
        self._links_mm = np.concatenate([np.zeros((len(at_s), 1, 3)), links], axis=1)
        self._opening_mm = rollout.gripper_at(at_s) * GRIPPER_STROKE_MM / GRIPPER_OPEN
        self._cubes = rollout.cubes_at(at_s)

    def camera(self, m: int) -> Pinhole:
        """The camera as it stands at moment `m`."""
        if not self.rides:
            return scene_camera(self._label, self._size_px)
        return gripper_camera(self._label, self._flange_mm[m], self._tools[m], self._size_px)

    def cube_boxes(self, m: int) -> list[Box]:
        """The cubes at moment `m`, in the order of the run's colours."""
        states = zip(self._cubes[m], self._colours, strict=True)
        return [cube_box(state, colour, cube=cube) for cube, (state, colour) in enumerate(states)]

    def marks(self, m: int) -> list[Mark]:
        """Arm, gripper and cubes at moment `m`, in the order of drawing: what is nearer to the camera comes later."""
        camera = self.camera(m)
        gripper = self._fingers(m)
        if self.rides:
            return [*solids(camera, far_to_near(camera, [*self.cube_boxes(m), *gripper]))]
        gripper.append(self._palm(m))
        boxes = far_to_near(camera, [*self.cube_boxes(m), *gripper])
        # What is farther than all of the gripper and its flange is behind the arm; the gripper covers the arm's end.
        ends = [self._flange_mm[m], *(box.centre_mm for box in gripper)]
        reach_mm = max(distance_mm(camera, end) for end in ends)
        behind = sum(distance_mm(camera, box.centre_mm) > reach_mm for box in boxes)
        arm = arm_strokes(camera, self._links_mm[m])
        return [*solids(camera, boxes[:behind]), *arm, *solids(camera, boxes[behind:])]

    def _fingers(self, m: int) -> list[Box]:
        tool, flange = self._tools[m], self._flange_mm[m]
        lateral, approach = tool[:, 0], tool[:, 2]
        half = np.array([7.0, 11.0, 38.0])
        boxes = []
        for side in (-1.0, 1.0):
            aside = side * (self._opening_mm[m] / 2 + half[0])
            centre = flange + aside * lateral + (FINGERTIP_MM + 8.0 - half[2]) * approach
            boxes.append(Box(centre, tool, half, _FINGER_RGB))
        return boxes

    def _palm(self, m: int) -> Box:
        tool = self._tools[m]
        return Box(self._flange_mm[m] + 52.0 * tool[:, 2], tool, np.array([62.0, 34.0, 50.0]), _GRIPPER_RGB)
