"""Camera films of real size: a few seconds are drawn and encoded once, repeated by stream copy, and cut to any length.

All runs of a benchmark show the same seconds: the simulator draws 25 pictures a second, and what a picture costs to
decode does not depend on which run it is in. The streams and stamps around the films are each run's own.
"""

from __future__ import annotations

import math
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import imageio_ffmpeg

from quickdraw.sim import cameras
from quickdraw.sim.film import count_pictures, write_repeated_film
from quickdraw.sim.rollout import roll_out
from quickdraw.sim.scene import Renderer
from quickdraw.sim.spec import Look, RunSpec

LOOP_S = 10.0
# Sensor noise [levels of 255], and what the collector's encoder (crf 10) makes of it at 640x480: bytes a picture,
# Mbit/s, and CPU of bare ffmpeg a picture from decoding to encoding (two cameras, on a machine with other work).
#   sample campaigns, a rig's   3.0 kB    0.7 Mbit/s   1.5 ms
#   0                           5.8 kB    1.4 Mbit/s   1.6 ms
#   0.5                          11 kB    2.5 Mbit/s   2.1 ms   <- a little noise, as any sensor has
#   1                            22 kB    5.2 Mbit/s   3.6 ms
#   2                            54 kB   12.9 Mbit/s   5.9 ms   a quotient by bare ffmpeg would flatter us
NOISE_LEVELS = 0.5
SPARE_S = 2.0  # so that the film is long enough whatever a run's phases


@dataclass(frozen=True, slots=True)
class Footage:
    """Films of every camera in `folder`, long enough for runs of `longest_s`."""

    folder: Path
    longest_s: float
    noise_levels: float = NOISE_LEVELS

    @property
    def spec(self) -> RunSpec:
        """What is drawn and repeated: the arm, its two cameras and the cubes move, the light drifts."""
        look = Look(gain_swing=0.05, balance_swing=0.02, noise_levels=self.noise_levels)
        return RunSpec(seconds=min(LOOP_S, self.longest_s / 2), seed=1, look=look, simulated_devices=True)

    def draw(self) -> None:
        """Draw the films, where that has not been done."""
        done, spec = self.folder / "drawn", self.spec
        if done.exists():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        rollout = roll_out(spec, end_s=cameras.run_end_s(spec))
        for index, camera in enumerate(spec.cameras):
            stamps = cameras.stamps_s(spec, index)
            drawn = Renderer(spec, rollout, camera.label, stamps).pictures(len(stamps))
            count = math.ceil((self.longest_s + SPARE_S) * camera.rate_hz)
            write_repeated_film(self._film(camera.label), drawn, (spec.width_px, spec.height_px), count=count)
        done.touch()

    def put(self, camera: str, pictures: int, target: Path) -> None:
        """The first so many pictures of a camera's film, as `target`. Films of one length are one file on disk.

        Raises ValueError where the film is too short.
        """
        cut = self.folder / f"{camera}_{pictures}.mp4"
        if not cut.exists():
            command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-nostdin", "-i", str(self._film(camera))]
            part = cut.with_suffix(".part.mp4")
            subprocess.run([*command, "-c", "copy", "-frames:v", str(pictures), "-y", str(part)], check=True)
            if (held := count_pictures(part)) != pictures:
                raise ValueError(f"{part}: {held} pictures, not {pictures}")
            part.rename(cut)
        os.link(cut, target)

    def _film(self, camera: str) -> Path:
        return self.folder / f"{camera}.mp4"
