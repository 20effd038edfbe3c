"""Pictures of the run and the truth about them: arm, gripper and cubes in closed form over the backdrop."""

from __future__ import annotations

from collections.abc import Iterator

from quickdraw.sim import backdrop, barcode, cameras, traps
from quickdraw.sim.arm import Floats
from quickdraw.sim.barcode import Rgb
from quickdraw.sim.look import Sensor, averaged, sub_exposures_s
from quickdraw.sim.projection import Pinhole
from quickdraw.sim.rollout import Rollout, roll_out
from quickdraw.sim.shapes import Box, Mark, paint, paint_shadow, solids
from quickdraw.sim.spec import RunSpec
from quickdraw.sim.view import View
from quickdraw.sim.visibility import VisibleCube, visible_cubes


class Renderer:
    """The pictures of one camera of one run, one for each of `stamps_s` (K,) [s on the session clock].

    Raises ValueError for a label that is not among the run's cameras.
    """

    def __init__(self, spec: RunSpec, rollout: Rollout, label: str, stamps: Floats) -> None:
        self.stamps_s = stamps
        self._spec = spec
        self._sensor = Sensor(spec, [camera.label for camera in spec.cameras].index(label))
        open_s = sub_exposures_s(spec.look)
        self._exposures = len(open_s)
        self._view = View(spec, rollout, label, (stamps[:, None] + open_s).ravel())
        self._texture = backdrop.table_texture(stickers=spec.traps.stickers)
        if not self._view.rides:
            self._background = backdrop.fixed_background(self.camera(0), self._texture)

    def _stamped(self, k: int) -> int:
        """The moment of the view at which picture `k` is stamped: in the middle of its exposures."""
        return k * self._exposures + self._exposures // 2

    def camera(self, k: int) -> Pinhole:
        """The camera as it stands at picture `k`."""
        return self._view.camera(self._stamped(k))

    def cube_boxes(self, k: int) -> list[Box]:
        """The cubes at picture `k`, in the order of the run's colours."""
        return self._view.cube_boxes(self._stamped(k))

    def marks(self, k: int) -> list[Mark]:
        """Arm, gripper and cubes at picture `k`, in the order of drawing."""
        return self._view.marks(self._stamped(k))

    def picture(self, k: int) -> Rgb:
        """Picture `k` (H, W, 3) uint8 RGB: the scene at stamp `k`, as the camera takes it."""
        moments = range(k * self._exposures, (k + 1) * self._exposures)
        light = averaged([self._exposure(m) for m in moments])
        rgb = self._sensor.expose(light, k, float(self.stamps_s[k]))
        if self._spec.paint_numbers:
            barcode.paint_frame_number(rgb, k)
        return rgb

    def pictures(self, count: int) -> Iterator[Rgb]:
        """The first `count` pictures."""
        return (self.picture(k) for k in range(count))

    def visible_cubes(self, k: int) -> tuple[VisibleCube, ...]:
        """What picture `k` shows of every cube, in the order of the run's colours: the truth, not a measurement."""
        hidden_top_px = barcode.strip_px(self._spec.height_px) if self._spec.paint_numbers else 0
        size_px = (self._spec.width_px, self._spec.height_px)
        return visible_cubes(self.marks(k), self._spec.cube_colours, size_px=size_px, hidden_top_px=hidden_top_px)

    def _exposure(self, m: int) -> Rgb:
        """The scene at moment `m` of the view (H, W, 3) uint8, without the camera's doing."""
        camera, cubes = self._view.camera(m), self._view.cube_boxes(m)
        rgb = backdrop.moving_background(camera, self._texture) if self._view.rides else self._background.copy()
        if self._spec.traps.metal:
            paint(rgb, solids(camera, traps.metal_boxes()))
        for box in cubes:
            paint_shadow(rgb, camera, box)
        if self._spec.traps.reflections:
            for box in cubes:
                traps.paint_reflection(rgb, camera, box)
        paint(rgb, self._view.marks(m))
        return rgb


def renderer(spec: RunSpec, label: str) -> Renderer:
    """The camera `label` of a run that is played, not written: its pictures and the truth about them.

    Raises ValueError for a label that is not among the run's cameras.
    """
    labels = [camera.label for camera in spec.cameras]
    stamps = cameras.stamps_s(spec, labels.index(label))
    return Renderer(spec, roll_out(spec, end_s=cameras.run_end_s(spec)), label, stamps)
